//! Gives memory back that only rare work needed.

use std::ffi::{c_int, c_void};

/// Drops the pages of this library's code and constants, after work that is done once or seldom: starting, a library
/// that was loaded, a new segment. What handlers and hooks need comes back from the page cache at their first touch;
/// what only that work needed (formatting, paths, building tables) does not. That is half of it, and the kernel brings
/// 64 KiB in at every touch.
pub fn drop_own_code() {
    // Linked in, it is the program's code.
    if cfg!(feature = "static-link") {
        return;
    }
    // SAFETY: `visit` takes no data.
    unsafe { libc::dl_iterate_phdr(Some(visit), std::ptr::null_mut()) };
}

/// # Safety
/// Called by `dl_iterate_phdr` with a valid `info`.
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, _data: *mut c_void) -> c_int {
    // SAFETY: valid by the contract.
    let info = unsafe { &*info };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader states how many headers there are.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let span = |h: &libc::Elf64_Phdr| {
        let low = info.dlpi_addr.wrapping_add(h.p_vaddr);
        low..low.wrapping_add(h.p_memsz)
    };
    let loads = || headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
    if !loads().any(|h| span(h).contains(&((drop_own_code as *const ()).addr() as u64))) {
        return 0;
    }
    // Pages that were ever written, as by relocation, would be lost: a position-independent library has none of these
    // in a segment that is not writable.
    for segment in loads().filter(|h| h.p_flags & libc::PF_W == 0).map(span) {
        let low = segment.start - segment.start % PAGE;
        // SAFETY: mapped pages of a file that nobody wrote to: what is read there next is what was there before.
        unsafe { libc::madvise(low as *mut c_void, (segment.end - low) as usize, libc::MADV_DONTNEED) };
    }
    1
}

/// Bytes of a page.
const PAGE: u64 = 4096;
