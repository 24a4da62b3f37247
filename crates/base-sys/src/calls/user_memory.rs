//! Reads memory that the program names, and that may not be mapped. It is read as the kernel reads it: a fault is an
//! error, and not a signal.
//!
//! All signal-safe, without the C library's `errno`. The one system call used is among those that every filter of system
//! calls (seccomp) allows.

use std::ffi::{CStr, c_char};

use super::{process::process_id, raw::call};

const PAGE_BYTES: u64 = 4096;

/// Reads through the program's pointers. It asks the kernel once for each page.
///
/// Memory that another thread unmaps between the question and the read still faults.
#[derive(Debug, Default)]
pub struct Reader {
    /// The page that was read last; none of ours is at 0.
    page: u64,
}

impl Reader {
    /// The word at `place`.
    pub fn word(&mut self, place: *const usize) -> Option<usize> {
        let mut word = [0; size_of::<usize>()];
        self.bytes(place.addr() as u64, &mut word)?;
        Some(usize::from_ne_bytes(word))
    }

    /// Fills `into` with the bytes at `place`: with all of them, or with none.
    pub fn bytes(&mut self, place: u64, into: &mut [u8]) -> Option<()> {
        let Some(last) = (into.len() as u64).checked_sub(1) else { return Some(()) };
        let last = place.checked_add(last)?;
        let mut page = first_of_page(place);
        while page <= last {
            self.may_read(page).then_some(())?;
            page += PAGE_BYTES;
        }
        let from = std::ptr::with_exposed_provenance::<u8>(place as usize);
        // SAFETY: all of its pages were readable a moment ago, and `into` is none of the program's.
        unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        Some(())
    }

    /// The string at `place`. `None` where it cannot be read, or has no end in its first `most` bytes.
    ///
    /// # Safety
    /// The string is not changed while the answer is in use.
    pub unsafe fn string<'a>(&mut self, place: *const c_char, most: usize) -> Option<&'a CStr> {
        let start = place.addr() as u64;
        let end = start.checked_add(most as u64)?;
        let mut from = start;
        while from < end {
            let page = first_of_page(from);
            if !self.may_read(page) {
                return None;
            }
            let behind = (page + PAGE_BYTES).min(end);
            let bytes = std::ptr::with_exposed_provenance::<u8>(from as usize);
            // SAFETY: the part of a readable page that is from here to its end.
            let bytes = unsafe { std::slice::from_raw_parts(bytes, (behind - from) as usize) };
            if bytes.contains(&0) {
                // SAFETY: readable from its start to the null that was found.
                return Some(unsafe { CStr::from_ptr(place) });
            }
            from = behind;
        }
        None
    }

    fn may_read(&mut self, page: u64) -> bool {
        if page != self.page && is_readable(page) {
            self.page = page;
        }
        page != 0 && page == self.page
    }
}

/// Copies memory that may not be there, and returns how many bytes were readable: up to the first page that is not.
pub fn copy(address: u64, buffer: &mut [u8]) -> usize {
    let in_page = (PAGE_BYTES - address % PAGE_BYTES).min(buffer.len() as u64) as usize;
    let (first, rest) = buffer.split_at_mut(in_page);
    let local = [(first.as_mut_ptr(), first.len()), (rest.as_mut_ptr(), rest.len())]
        .map(|(base, length)| libc::iovec { iov_base: base.cast(), iov_len: length });
    let next = address.wrapping_add(in_page as u64);
    let remote = [(address, in_page), (next, rest.len())]
        .map(|(base, length)| libc::iovec { iov_base: base as *mut libc::c_void, iov_len: length });
    let count = if rest.is_empty() { 1 } else { 2 };
    let (local, remote) = (local.as_ptr() as u64, remote.as_ptr() as u64);
    let arguments = [u64::from(process_id()), local, count, remote, count, 0];
    // SAFETY: the local vectors are `buffer`; the kernel checks the remote ones.
    unsafe { call(libc::SYS_process_vm_readv, arguments) }.map_or(0, |read| read as usize)
}

fn first_of_page(address: u64) -> u64 {
    address & !(PAGE_BYTES - 1)
}

/// Whether the word at `place` can be read: the kernel reads a new signal mask before it looks at what to do with it.
fn is_readable(place: u64) -> bool {
    /// No way to change a mask, so that nothing changes.
    const HOW: u64 = u32::MAX as u64;
    const MASK_BYTES: u64 = 8;
    // SAFETY: it changes nothing.
    let answer = unsafe { call(libc::SYS_rt_sigprocmask, [HOW, place, 0, MASK_BYTES, 0, 0]) };
    answer == Err(libc::EINVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pages of the letter a, of which the second cannot be read.
    fn half_readable() -> *mut u8 {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let bytes = 2 * PAGE_BYTES as usize;
        // SAFETY: a fresh mapping.
        let place = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        assert_ne!(place, libc::MAP_FAILED);
        // SAFETY: all of it is writable.
        unsafe { place.cast::<u8>().write_bytes(b'a', bytes) };
        // SAFETY: the second page.
        let second = unsafe { place.add(PAGE_BYTES as usize) };
        // SAFETY: nobody uses it.
        assert_eq!(unsafe { libc::mprotect(second, PAGE_BYTES as usize, libc::PROT_NONE) }, 0);
        place.cast()
    }

    #[test]
    fn a_fault_is_an_answer() {
        let place = half_readable();
        let end = place.addr() as u64 + PAGE_BYTES;
        let mut reader = Reader::default();
        let mut words = [0; 16];
        assert_eq!(reader.bytes(end - 16, &mut words), Some(()));
        assert_eq!(words, [b'a'; 16]);
        for nowhere in [end - 15, end, 0, 8, u64::MAX - 15, u64::MAX, 1 << 47] {
            assert_eq!(reader.bytes(nowhere, &mut words), None, "{nowhere:x}");
        }
        assert_eq!(reader.bytes(0, &mut []), Some(()));
        assert_eq!(reader.word(std::ptr::null()), None);
        let word = 5usize;
        assert_eq!(reader.word(&raw const word), Some(5));
    }

    #[test]
    fn a_string_ends_where_it_can_be_read_or_is_none() {
        let place = half_readable();
        let mut reader = Reader::default();
        // SAFETY: nobody changes it.
        let mut string = |at: *const u8, most| unsafe { reader.string(at.cast(), most) };
        assert_eq!(string(place, 2 * PAGE_BYTES as usize), None);
        assert_eq!(string(std::ptr::null(), 10), None);
        // SAFETY: the last byte of the first page.
        let last = unsafe { place.add(PAGE_BYTES as usize - 1) };
        // SAFETY: as above.
        unsafe { last.write(0) };
        // SAFETY: as above.
        let text = unsafe { last.sub(3) };
        assert_eq!(string(text, 10), Some(c"aaa"));
        assert_eq!(string(text, 4), Some(c"aaa"));
        assert_eq!(string(text, 3), None);
        assert_eq!(string(last, 10), Some(c""));
    }
}
