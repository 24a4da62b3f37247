//! Access to the program's memory that cannot fault. The kernel is asked first, by a system call about signals,
//! because a program that forbids itself most system calls (seccomp) allows those.

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use super::{PAGE_BYTES, call};

/// The size of the kernel's signal set, which is what one call tests.
const WORD: u64 = 8;

/// Whether 8 bytes at `place` can be read: the kernel reads a new mask before it looks at what to do with it.
fn is_readable(place: u64) -> bool {
    /// No way to change a mask, so that nothing changes.
    const HOW: u64 = u32::MAX as u64;
    // SAFETY: the kernel checks the pointer.
    let answer = unsafe { call(libc::SYS_rt_sigprocmask, [HOW, place, 0, WORD, 0, 0]) };
    answer == Err(libc::EINVAL)
}

/// Whether 8 bytes at `place` can be written; if so, they are overwritten.
fn is_writable(place: u64) -> bool {
    // SAFETY: the kernel checks the pointer; the caller overwrites what it writes.
    unsafe { call(libc::SYS_rt_sigprocmask, [libc::SIG_BLOCK as u64, 0, place, WORD, 0, 0]) }.is_ok()
}

/// The last of the 8-byte words in a `T` at `place`. A `T` is smaller than a page, so if the first word and this one
/// are accessible, all of it is.
fn last_word<T>(place: u64) -> u64 {
    place.wrapping_add((size_of::<T>() as u64).saturating_sub(8))
}

/// Reads the program's value at `place`; `None` where it cannot be read.
pub fn read<T: Plain>(place: u64) -> Option<T> {
    let last = last_word::<T>(place);
    // One answer holds for a whole page, but not for a word that reaches into the next one.
    let ends_here = last.wrapping_add(WORD - 1) / PAGE_BYTES == place / PAGE_BYTES;
    let readable = place != 0 && is_readable(place) && (ends_here || last == place || is_readable(last));
    // SAFETY: readable a moment ago, and any bytes are a `T`.
    readable.then(|| unsafe { std::ptr::with_exposed_provenance::<T>(place as usize).read_unaligned() })
}

/// Writes a value to the program's memory. False where it cannot be written.
pub fn write<T: Plain>(place: u64, value: T) -> bool {
    let last = last_word::<T>(place);
    let writable = place != 0 && is_writable(place) && (last == place || is_writable(last));
    if writable {
        // SAFETY: writable a moment ago; the program asked for it.
        unsafe { std::ptr::with_exposed_provenance_mut::<T>(place as usize).write_unaligned(value) };
    }
    writable
}

/// Writes at least 8 bytes to the program's memory, as the kernel would: a stack grows. False where not all can be
/// written.
pub fn write_bytes(place: u64, bytes: &[u8]) -> bool {
    let Some(end) = place.checked_add(bytes.len() as u64) else { return false };
    if !pages(place..end).all(is_writable) {
        return false;
    }
    copy(place, bytes)
}

/// Set where the program has restricted its system calls: [`copy`] then makes none.
static RESTRICTED: AtomicBool = AtomicBool::new(false);

/// System calls other than those about signals may be forbidden from now on: frames are written without them.
pub fn restrict_calls() {
    RESTRICTED.store(true, Relaxed);
}

/// Whether other system calls may be forbidden.
pub fn calls_are_restricted() -> bool {
    RESTRICTED.load(Relaxed)
}

/// Writes where the program had memory a moment ago. False where another thread has unmapped it since.
fn copy(place: u64, bytes: &[u8]) -> bool {
    if !calls_are_restricted() {
        let from = [bytes.as_ptr().addr() as u64, bytes.len() as u64];
        let to = [place, bytes.len() as u64];
        // SAFETY: no arguments.
        let process = unsafe { call(libc::SYS_getpid, [0; 6]) }.unwrap_or_default();
        let arguments = [process, from.as_ptr().addr() as u64, 1, to.as_ptr().addr() as u64, 1, 0];
        // SAFETY: from memory of ours to where the program wants it; the kernel checks that place.
        match unsafe { call(libc::SYS_process_vm_writev, arguments) } {
            Err(libc::EPERM | libc::ENOSYS) => {}
            written => return written == Ok(bytes.len() as u64),
        }
    }
    let to = std::ptr::with_exposed_provenance_mut::<u8>(place as usize);
    // SAFETY: writable a moment ago in each of its pages, and of no use to the program now.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    true
}

/// Places of 8 bytes in this range, from the highest to the lowest: at least one in each page.
fn pages(range: Range<u64>) -> impl Iterator<Item = u64> {
    let last = range.end.saturating_sub(WORD);
    let first_page = range.start & !(PAGE_BYTES - 1);
    let pages = (range.end - first_page).div_ceil(PAGE_BYTES);
    let page = move |index: u64| (first_page + index * PAGE_BYTES).clamp(range.start, last.max(range.start));
    std::iter::once(last.max(range.start)).chain((0..pages).rev().map(page))
}

/// Types made of 8-byte words for which every value is valid.
pub trait Plain: Copy {}
impl Plain for u64 {}
impl<const N: usize> Plain for [u64; N] {}

#[cfg(test)]
mod tests {
    use carom_base_sys::signal::Quiet;

    use super::*;

    #[test]
    fn each_page_is_tried_within_the_range() {
        let tried = |range| pages(range).collect::<Vec<_>>();
        assert_eq!(tried(0x1100..0x1200), [0x11f8, 0x1100]);
        assert_eq!(tried(0x1100..0x2004), [0x1ffc, 0x1ffc, 0x1100]);
        assert_eq!(tried(0x1100..0x3100), [0x30f8, 0x3000, 0x2000, 0x1100]);
    }

    #[test]
    fn what_cannot_be_written_is_told() {
        // SAFETY: fresh memory.
        let place = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                8192,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        let at = place.expose_provenance() as u64;
        let _quiet = Quiet::begin();
        assert!(!write_bytes(at, &[1; 100]));
        // SAFETY: mapped above.
        unsafe { libc::mprotect(place, 4096, libc::PROT_READ | libc::PROT_WRITE) };
        assert!(write_bytes(at + 3996, &[1; 100]));
        // SAFETY: as above.
        let last = unsafe { place.cast::<[u8; 4]>().add(1023) };
        // SAFETY: as above.
        assert_eq!(unsafe { last.read() }, [1; 4]);
        assert!(!write_bytes(at + 3997, &[1; 100]));
        // SAFETY: as above.
        unsafe { libc::munmap(place, 8192) };
    }
}
