//! System calls that change what is mapped: code disappears, or changes.
//!
//! They may take as long as another thread of the program wants that provides the memory (userfaultfd, a file system
//! in user space), so they are made without the engine's lock. Code that they may remove is forgotten before, and no
//! thread translates anything there until the new mappings have been read.

use std::ops::Range;

use crate::{
    engine::{Engine, enter::enter},
    lane::exit::Exit,
    memory::{self, Errno, PAGE_BYTES, Regions},
    threads::{
        calls::{Arguments, arguments, finish, number},
        thread::Thread,
    },
};

/// Where a thread continues that is going to [`make`] its call: no address that a program could jump to.
pub const UNLOCKED: u64 = (1 << 63) + 2;

/// The thread is about to make such a call.
pub fn prepare(engine: &mut Engine, thread: &mut Thread) {
    for range in replaced(number(thread), arguments(thread)).into_iter().flatten() {
        engine.observer.mapping_changes(&range);
        if engine.cache.source.begin_change(&range) {
            engine.cache.forget(std::slice::from_ref(&range));
        }
    }
    thread.slots().next = UNLOCKED;
}

/// Makes the call, without the engine's lock.
pub fn make(thread: &mut Thread) -> Result<u64, Errno> {
    // SAFETY: the program asked for it, and no thread reads code that it removes.
    unsafe { memory::call(number(thread), arguments(thread)) }
}

/// The call has been made.
pub fn made(engine: &mut Engine, thread: &mut Thread, exit: Exit, result: Result<u64, Errno>) {
    let (number, given) = (number(thread), arguments(thread));
    finish(thread, exit, result);
    let cache = &mut engine.cache;
    if makes_code(cache.source.regions(), number, given) {
        cache.source.expect_code();
    }
    let mut had_code = false;
    for range in replaced(number, given).into_iter().flatten() {
        had_code |= cache.source.end_change(&range);
    }
    if had_code || number == libc::SYS_shmat && replaces(given) {
        // Only the kernel knows the length of a segment. Where the look fails, there is no code until a later one
        // succeeds.
        let _ = cache.look();
    }
    let shared = maps_shared(number, given);
    if shared && result.is_ok() {
        engine.observer.mapping_changed(None, shared);
    }
    let cache = &mut engine.cache;
    for range in changed(number, given, result).into_iter().flatten() {
        if replaces_memory(number) {
            engine.observer.mapping_changed(Some(&range), false);
        }
        if cache.source.regions().overlap(&range) {
            cache.code_changed(&range);
        }
        if range.contains(&thread.restarts) {
            // It unmaps its own variables, as a thread does that is about to end.
            thread.restarts = 0;
        }
    }
    // The program may have changed the code that it was running.
    if !cache.is_current(exit.back) {
        let next = thread.slots().pc;
        enter(engine, thread, next);
    }
}

/// The addresses at which a call may remove something.
fn replaced(number: i64, given: Arguments) -> [Option<Range<u64>>; 2] {
    let [at, bytes, third, flags, new, ..] = given;
    let old = Some(pages(at, bytes));
    match number {
        libc::SYS_mmap => [old.filter(|_| flags & libc::MAP_FIXED as u64 != 0), None],
        libc::SYS_mremap => [old, Some(pages(new, third)).filter(|_| flags & libc::MREMAP_FIXED as u64 != 0)],
        // A segment has no code that can be translated.
        libc::SYS_shmat | libc::SYS_shmdt => [None, None],
        _ => [old, None],
    }
}

/// Whether there may be new code to translate afterwards, at once or with other rights. Excludes that of compilers at
/// run time, which change the rights of their memory often.
fn makes_code(regions: &Regions, number: i64, given: Arguments) -> bool {
    const NO_FILE_OF_ITS_OWN: u64 = (libc::MAP_ANONYMOUS | libc::MAP_SHARED) as u64;
    let [at, bytes, protection, flags, ..] = given;
    match number {
        libc::SYS_mmap => flags & NO_FILE_OF_ITS_OWN == 0,
        libc::SYS_mprotect | libc::SYS_pkey_mprotect => {
            protection & libc::PROT_EXEC as u64 != 0 && regions.may_be_code(&pages(at, bytes))
        }
        libc::SYS_mremap => regions.may_be_code(&pages(at, bytes)),
        _ => false,
    }
}

/// Whether something else is mapped afterwards, and not the same with other rights.
fn replaces_memory(number: i64) -> bool {
    !matches!(number, libc::SYS_mprotect | libc::SYS_pkey_mprotect)
}

/// Whether other processes may see what is mapped.
fn maps_shared(number: i64, given: Arguments) -> bool {
    let [.., flags, _, _] = given;
    match number {
        libc::SYS_mmap => flags & libc::MAP_TYPE as u64 != libc::MAP_PRIVATE as u64,
        // Moved memory may be shared.
        libc::SYS_shmat | libc::SYS_mremap => true,
        _ => false,
    }
}

/// The addresses at which something else may be mapped now. A call that failed may have done some of its work.
fn changed(number: i64, given: Arguments, result: Result<u64, Errno>) -> [Option<Range<u64>>; 2] {
    let [at, bytes, third, ..] = given;
    match number {
        libc::SYS_mmap => [result.ok().map(|new| pages(new, bytes)), None],
        libc::SYS_mremap => [Some(pages(at, bytes)), result.ok().map(|new| pages(new, third))],
        libc::SYS_shmat => [None, None],
        // Only the kernel knows the length of the segment: whatever knows its start forgets all of it.
        libc::SYS_shmdt => [Some(pages(at, 1)), None],
        _ => [Some(pages(at, bytes)), None],
    }
}

/// Whether a segment is attached over existing mappings.
fn replaces(given: Arguments) -> bool {
    let [_, _, flags, ..] = given;
    flags & libc::SHM_REMAP as u64 != 0
}

fn pages(at: u64, bytes: u64) -> Range<u64> {
    let start = at & !(PAGE_BYTES - 1);
    start..at.saturating_add(bytes).checked_next_multiple_of(PAGE_BYTES).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_whole_pages() {
        assert_eq!(pages(0x1000, 1), 0x1000..0x2000);
        assert_eq!(pages(0x1fff, 2), 0x1000..0x3000);
        assert_eq!(pages(u64::MAX - 1, 0x10000), u64::MAX - 0xfff..u64::MAX);
    }

    #[test]
    fn what_a_call_may_take_away() {
        let fixed = [0x5000, 0x2000, 0, libc::MAP_FIXED as u64, 0, 0];
        assert_eq!(replaced(libc::SYS_mmap, fixed), [Some(0x5000..0x7000), None]);
        assert_eq!(replaced(libc::SYS_mmap, [0x5000, 0x2000, 0, 0, 0, 0]), [None, None]);
        let there = [0x5000, 0x1000, 0x2000, libc::MREMAP_FIXED as u64, 0x9000, 0];
        assert_eq!(replaced(libc::SYS_mremap, there), [Some(0x5000..0x6000), Some(0x9000..0xb000)]);
        assert_eq!(replaced(libc::SYS_mprotect, [0x5000, 1, 0, 0, 0, 0]), [Some(0x5000..0x6000), None]);
    }

    #[test]
    fn what_a_call_changes() {
        let munmap = [0x5000, 0x1000, 0, 0, 0, 0];
        assert_eq!(changed(libc::SYS_munmap, munmap, Ok(0)), [Some(0x5000..0x6000), None]);
        let mmap = [0, 0x2000, 0, 0, 0, 0];
        assert_eq!(changed(libc::SYS_mmap, mmap, Ok(0x9000)), [Some(0x9000..0xb000), None]);
        assert_eq!(changed(libc::SYS_mmap, mmap, Err(libc::ENOMEM)), [None, None]);
        // Two pages become three somewhere else.
        let mremap = [0x5000, 0x2000, 0x3000, 1, 0, 0];
        let both = [Some(0x5000..0x7000), Some(0x9000..0xc000)];
        assert_eq!(changed(libc::SYS_mremap, mremap, Ok(0x9000)), both);
        let shmdt = [0x5000, 0xdead_beef, 0, 0, 0, 0];
        assert_eq!(changed(libc::SYS_shmdt, shmdt, Ok(0)), [Some(0x5000..0x6000), None]);
    }

    #[test]
    fn what_others_may_see() {
        let mmap = |flags: i32| maps_shared(libc::SYS_mmap, [0, 0, 0, flags as u64, 0, 0]);
        assert!(mmap(libc::MAP_SHARED | libc::MAP_ANONYMOUS) && mmap(libc::MAP_SHARED_VALIDATE));
        assert!(!mmap(libc::MAP_PRIVATE | libc::MAP_FIXED));
        assert!(maps_shared(libc::SYS_shmat, [0; 6]) && !maps_shared(libc::SYS_munmap, [0; 6]));
        assert!(replaces_memory(libc::SYS_munmap) && !replaces_memory(libc::SYS_mprotect));
    }
}
