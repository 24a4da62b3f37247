//! fork, vfork, clone and clone3: what the program asks for.

use super::{Arguments, arguments, fork, in_place, spawn};
use crate::{engine::Engine, exit::Exit, memory, thread::Thread};

const FLAGS: usize = 0;
const STACK: usize = 5;
const STACK_BYTES: usize = 6;

/// `struct clone_args` (Linux, include/uapi/linux/sched.h), as of version 2.
const CLONE_ARGS: usize = 11;

/// Its first version.
const CLONE_ARGS_0: usize = 8;

/// A system call that makes a thread or a process.
pub fn call(engine: &mut Engine, thread: &mut Thread, exit: Exit, number: i64) {
    let given = arguments(thread);
    match number {
        libc::SYS_fork => fork::call(engine, thread, exit, number, given, 0),
        libc::SYS_vfork => spawn::call(engine, thread, exit),
        libc::SYS_clone => {
            let [flags, stack, rest @ ..] = given;
            if shares(flags) {
                return spawn::call(engine, thread, exit);
            }
            let [ptid, ctid, tls, unused] = rest;
            fork::call(engine, thread, exit, number, [flags, 0, ptid, ctid, tls, unused], stack);
        }
        _ => clone3(engine, thread, exit, given),
    }
}

/// Whether the child is to use its parent's memory, or its parent waits for it: it runs natively then.
fn shares(flags: u64) -> bool {
    flags & (libc::CLONE_VM | libc::CLONE_VFORK) as u64 != 0
}

fn clone3(engine: &mut Engine, thread: &mut Thread, exit: Exit, given: Arguments) {
    let [place, bytes, ..] = given;
    let words = (bytes as usize / 8).min(CLONE_ARGS);
    // Where it cannot be read, or is too short, the kernel says so.
    let Some(mut asked) = (words >= CLONE_ARGS_0).then(|| read_words(place, words)).flatten() else {
        return in_place(thread, exit);
    };
    if shares(asked[FLAGS]) {
        return spawn::call(engine, thread, exit);
    }
    let stack = asked[STACK].wrapping_add(asked[STACK_BYTES]);
    asked[STACK] = 0;
    asked[STACK_BYTES] = 0;
    let arguments = [asked.as_ptr() as u64, 8 * words as u64, 0, 0, 0, 0];
    fork::call(engine, thread, exit, libc::SYS_clone3, arguments, stack);
}

/// The program's words at `place`, where it has memory there. At most a page.
fn read_words(place: u64, words: usize) -> Option<[u64; CLONE_ARGS]> {
    let last = place.checked_add(8 * words.checked_sub(1)? as u64)?;
    if !is_readable(place) || !is_readable(last) {
        return None;
    }
    let mut read = [0; CLONE_ARGS];
    let from = std::ptr::with_exposed_provenance::<u8>(place as usize);
    // SAFETY: no longer than a page, and readable at both ends.
    unsafe { std::ptr::copy_nonoverlapping(from, read.as_mut_ptr().cast(), 8 * words.min(CLONE_ARGS)) };
    Some(read)
}

/// Whether the word at `place` can be read: the kernel reads a new signal mask before it looks at what to do with it.
fn is_readable(place: u64) -> bool {
    /// None that the kernel knows.
    const HOW: u64 = u32::MAX as u64;
    // SAFETY: changes nothing.
    let answer = unsafe { memory::call(libc::SYS_rt_sigprocmask, [HOW, place, 0, 8, 0, 0]) };
    answer == Err(libc::EINVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_readable_words_are_read() {
        let words: Vec<u64> = (1..=11).collect();
        assert_eq!(read_words(words.as_ptr() as u64, 11).unwrap()[..], words);
        assert_eq!(read_words(words.as_ptr() as u64, 8).unwrap(), [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0]);
        for nowhere in [0, 8, u64::MAX - 7, 1 << 47] {
            assert_eq!(read_words(nowhere, 8), None, "{nowhere:x}");
        }
    }
}
