//! Where the agent's heap gets its pages from.

use carom_base_sys::own_room;

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
        // To move would be to a place of the kernel's choice.
        // SAFETY: pages of the caller's, which grow or shrink where they are.
        let same = unsafe { libc::mremap(place.cast(), old, new, 0) };
        if same == libc::MAP_FAILED { std::ptr::null_mut() } else { same.cast() }
    }

    fn free_part(&self, place: *mut u8, old: usize, new: usize) -> bool {
        // SAFETY: pages of the caller's; the last are given back.
        let same = unsafe { libc::mremap(place.cast(), old, new, 0) };
        same != libc::MAP_FAILED
    }

    fn free(&self, place: *mut u8, size: usize) -> bool {
        // SAFETY: pages of the caller's, which are used no more.
        unsafe { libc::munmap(place.cast(), size) == 0 }
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
