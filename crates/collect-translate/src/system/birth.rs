//! fork, vfork, clone and clone3: what kind of child the program asks for.

use carom_base_sys::user_memory::Reader;

use super::{
    fork::{self, Child},
    spawn,
};
use crate::{
    engine::Engine,
    lane::exit::Exit,
    memory::{PAGE_BYTES, USER_END},
    threads::{
        calls::{Arguments, arguments},
        thread::Thread,
    },
};

/// A system call that makes a thread or a process.
pub fn call(engine: &mut Engine, thread: &mut Thread, exit: Exit, number: i64) {
    let given = arguments(thread);
    match number {
        libc::SYS_vfork => spawn::call(engine, thread, exit),
        libc::SYS_clone => {
            let [flags, stack, rest @ ..] = given;
            if goes_native(flags) {
                return spawn::call(engine, thread, exit);
            }
            let [ptid, ctid, tls, unused] = rest;
            let is_library_fork = flags == LIBRARY_FORK && stack == 0;
            let child = Child { stack, is_followed: is_library_fork || is_followed(engine, flags) };
            fork::call(engine, thread, exit, number, [flags, 0, ptid, ctid, tls, unused], child);
        }
        libc::SYS_clone3 => clone3(engine, thread, exit, given),
        _ => {
            let child = Child { stack: 0, is_followed: is_followed(engine, 0) };
            fork::call(engine, thread, exit, number, given, child);
        }
    }
}

/// The flags by which the C library's `fork` makes a child (glibc, sysdeps/unix/sysv/linux/arch-fork.h).
const LIBRARY_FORK: u64 = (libc::CLONE_CHILD_SETTID | libc::CLONE_CHILD_CLEARTID | libc::SIGCHLD) as u64;

/// Whether the child runs natively from its first instruction on: it shares its parent's memory, its parent waits for it, or its
/// thread-local storage will be elsewhere, without anything of the engine.
const fn goes_native(flags: u64) -> bool {
    flags & (libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_SETTLS) as u64 != 0
}

/// Whether a child that the C library's `fork` does not make is followed. One that shares its parent's descriptors is not: a descriptor is
/// how it would get its copy of the code, and stands for another child's as soon as the parent has closed it and made the next copy.
fn is_followed(engine: &Engine, flags: u64) -> bool {
    engine.observer.follows_clone() && flags & libc::CLONE_FILES as u64 == 0
}

/// The kernel checks the program's own arguments. The exception is a child with a stack of its own: it begins on its
/// parent's, as the engine does, and gets its own later.
fn clone3(engine: &mut Engine, thread: &mut Thread, exit: Exit, given: Arguments) {
    let [place, bytes, ..] = given;
    let mut asked = Asked::default();
    let is_read = asked.read(place, bytes).is_some();
    if is_read && goes_native(asked.word(FLAGS)) {
        return spawn::call(engine, thread, exit);
    }
    let is_followed = is_followed(engine, asked.word(FLAGS));
    let Some(stack) = asked.take_stack().filter(|_| is_read) else {
        return fork::call(engine, thread, exit, libc::SYS_clone3, given, Child { stack: 0, is_followed });
    };
    let arguments = [asked.0.as_ptr() as u64, bytes, 0, 0, 0, 0];
    fork::call(engine, thread, exit, libc::SYS_clone3, arguments, Child { stack, is_followed });
}

/// A copy of `struct clone_args` (Linux, include/uapi/linux/sched.h). The kernel accepts at most a page, in which
/// everything that it does not know must be zero.
struct Asked([u8; PAGE_BYTES as usize]);

/// Words of the structure.
const FLAGS: usize = 0;
const STACK: usize = 5;
const STACK_BYTES: usize = 6;

impl Default for Asked {
    fn default() -> Self {
        Self([0; PAGE_BYTES as usize])
    }
}

impl Asked {
    /// `None` where it cannot be read, or is too large.
    fn read(&mut self, place: u64, bytes: u64) -> Option<()> {
        let into = self.0.get_mut(..usize::try_from(bytes).ok()?)?;
        Reader::default().bytes(place, into)
    }

    fn word(&self, index: usize) -> u64 {
        let word = self.0.as_chunks().0.get(index);
        word.map_or(0, |&word| u64::from_ne_bytes(word))
    }

    fn clear(&mut self, index: usize) {
        if let Some(word) = self.0.as_chunks_mut::<{ size_of::<u64>() }>().0.get_mut(index) {
            word.fill(0);
        }
    }

    /// Removes the end of the child's stack, if there is one that the kernel accepts.
    fn take_stack(&mut self) -> Option<u64> {
        let (stack, bytes) = (self.word(STACK), self.word(STACK_BYTES));
        let end = stack.checked_add(bytes).filter(|&end| stack != 0 && bytes != 0 && end <= USER_END)?;
        self.clear(STACK);
        self.clear(STACK_BYTES);
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(stack: u64, bytes: u64) -> Asked {
        let mut words = [7u64; 11];
        (words[STACK], words[STACK_BYTES]) = (stack, bytes);
        let mut asked = Asked::default();
        assert_eq!(asked.read(words.as_ptr() as u64, size_of_val(&words) as u64), Some(()));
        asked
    }

    #[test]
    fn only_a_stack_that_the_kernel_accepts_is_taken_out() {
        let mut good = asked(0x10_000, 0x2000);
        assert_eq!(good.take_stack(), Some(0x12_000));
        let words: Vec<u64> = (0..12).map(|index| good.word(index)).collect();
        assert_eq!(words, [7, 7, 7, 7, 7, 0, 0, 7, 7, 7, 7, 0]);
        for (stack, bytes) in [(0, 0), (0, 8), (8, 0), (USER_END, 8), (u64::MAX, 8)] {
            let mut bad = asked(stack, bytes);
            assert_eq!(bad.take_stack(), None, "{stack:x} {bytes:x}");
            assert_eq!((bad.word(STACK), bad.word(STACK_BYTES)), (stack, bytes));
        }
    }

    #[test]
    fn what_cannot_be_read_or_is_too_long_is_left_to_the_kernel() {
        let mut asked = Asked::default();
        for (place, bytes) in [(8, 88), (0, 88), (u64::MAX, 88), ((&raw const asked) as u64, PAGE_BYTES + 1)]
        {
            assert_eq!(asked.read(place, bytes), None);
        }
    }
}
