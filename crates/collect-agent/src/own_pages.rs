//! Pages for the agent's heap.

use carom_base_sys::{own_room, raw};

/// Address space of our own ([`own_room`]), for dlmalloc.
pub struct OwnPages;

// SAFETY: pages that nobody else has, zeroed by the kernel.
unsafe impl dlmalloc::Allocator for OwnPages {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        match own_room::map(size as u64, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1) {
            Ok(place) => (std::ptr::with_exposed_provenance_mut(place as usize), size, 0),
            Err(_) => (std::ptr::null_mut(), 0, 0),
        }
    }

    fn remap(&self, place: *mut u8, old: usize, new: usize, _can_move: bool) -> *mut u8 {
        // Moving would put them at an address of the kernel's choice. SAFETY: pages of the caller's, which grow or
        // shrink where they are.
        let done = unsafe { raw::mremap_in_place(place.addr() as u64, old as u64, new as u64) };
        if done.is_ok() { place } else { std::ptr::null_mut() }
    }

    fn free_part(&self, place: *mut u8, old: usize, new: usize) -> bool {
        // SAFETY: pages of the caller's; the last are given back.
        unsafe { raw::mremap_in_place(place.addr() as u64, old as u64, new as u64) }.is_ok()
    }

    fn free(&self, place: *mut u8, size: usize) -> bool {
        // SAFETY: pages of the caller's, which are used no more.
        unsafe { raw::munmap(place.addr() as u64, size as u64) }.is_ok()
    }

    fn can_release_part(&self, _flags: u32) -> bool {
        true
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        4096
    }
}
