//! Gives back memory that only rare work needs.

use std::ops::Range;

use carom_base_sys::map;

/// Drops the pages of this library's code and constants, after work that is done once or seldom: starting, a library
/// that was loaded, a new segment. Pages that handlers and hooks need come back from the page cache at their first
/// touch; pages that only that work needed (formatting, paths, building tables) do not. That is half of it, and the
/// kernel brings 64 KiB in at every touch.
pub fn drop_own_code() {
    // Linked in, it is the program's code.
    if cfg!(feature = "static-link") {
        return;
    }
    // Pages that were ever written, as by relocation, would be lost: a position-independent library has none of these
    // in a segment that is not writable.
    for segment in read_only_segments() {
        let low = segment.start - segment.start % PAGE;
        // SAFETY: mapped pages of a file that nobody wrote to: what is read there next is what was there before.
        unsafe { map::drop_pages(low..segment.end) };
    }
}

/// The read-only segments of this library, from its own headers: the loader's list of libraries is under a lock, which
/// a thread that a forked child lacks may hold.
fn read_only_segments() -> impl Iterator<Item = Range<u64>> {
    // The linker defines it.
    unsafe extern "C" {
        static __ehdr_start: u8;
    }
    let start = &raw const __ehdr_start;
    let bias = start.addr() as u64;
    // SAFETY: the library's own header, at the beginning of its first segment.
    let header = unsafe { &*start.cast::<libc::Elf64_Ehdr>() };
    let first = (bias + header.e_phoff) as *const libc::Elf64_Phdr;
    // SAFETY: the headers lie in the same segment, and this one says where and how many.
    let headers = unsafe { std::slice::from_raw_parts(first, usize::from(header.e_phnum)) };
    let read_only = |h: &&libc::Elf64_Phdr| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_W == 0;
    headers.iter().filter(read_only).map(move |h| bias + h.p_vaddr..bias + h.p_vaddr + h.p_memsz)
}

/// Bytes of a page.
const PAGE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_code_is_among_what_is_not_written_to_and_comes_back() {
        let here = (drop_own_code as *const ()).addr() as u64;
        assert!(read_only_segments().any(|segment| segment.contains(&here)));
        let writable = (&raw const crate::own_heap::HEAP).addr() as u64;
        assert!(read_only_segments().all(|segment| !segment.contains(&writable)));
        drop_own_code();
    }
}
