//! Blocks that are never freed, packed side by side.
//!
//! iced's tables are 7,500 blocks of 45 bytes on average that are never freed. dlmalloc, which could free them, takes
//! 16 bytes more for each; in a small program that is a visible part of its memory.

use std::{
    alloc::Layout,
    ptr::NonNull,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use carom_base_sys::map;

use crate::registry;

/// The overhead of larger blocks is small, and they are freed again while the tables are built.
const MOST_BYTES: usize = 96;

/// Reserved address space; only used pages become memory.
const ROOM_BYTES: usize = 1 << 20;

/// The thread that packs, by its thread pointer; 0 where none does. Everything below is its alone.
static PACKER: AtomicU64 = AtomicU64::new(0);
static START: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Runs `build`, whose small blocks are packed. Once in a process: later calls only run it.
pub fn packed<R>(build: impl FnOnce() -> R) -> R {
    let free = START.load(Relaxed) == 0;
    if free && let Ok(room) = map::private(ROOM_BYTES) {
        START.store(room.as_ptr().addr(), Relaxed);
        NEXT.store(room.as_ptr().addr(), Relaxed);
        PACKER.store(registry::thread_pointer(), Relaxed);
    }
    let built = build();
    PACKER.store(0, Relaxed);
    built
}

/// Room for a block, where the calling thread is in [`packed`] and the block is small.
pub fn alloc(layout: Layout) -> Option<NonNull<u8>> {
    let packer = PACKER.load(Relaxed);
    if packer == 0 || layout.size() > MOST_BYTES || packer != registry::thread_pointer() {
        return None;
    }
    let place = NEXT.load(Relaxed).checked_next_multiple_of(layout.align())?;
    let end = place.checked_add(layout.size())?;
    if end > START.load(Relaxed) + ROOM_BYTES {
        return None;
    }
    NEXT.store(end, Relaxed);
    NonNull::new(std::ptr::with_exposed_provenance_mut(place))
}

/// Is this one of the packed blocks, which cannot be freed?
pub fn holds(block: *mut u8) -> bool {
    block.addr().wrapping_sub(START.load(Relaxed)) < ROOM_BYTES && START.load(Relaxed) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the thread is the test's own")]
    fn small_blocks_of_the_packing_thread_lie_side_by_side() {
        let layout = Layout::from_size_align(24, 8).unwrap();
        let large = Layout::from_size_align(MOST_BYTES + 1, 8).unwrap();
        assert_eq!(alloc(layout), None);
        let (first, second) = packed(|| {
            assert_eq!(alloc(large), None);
            assert!(std::thread::spawn(move || alloc(layout).is_none()).join().unwrap());
            (alloc(layout).unwrap(), alloc(layout).unwrap())
        });
        assert_eq!(second.addr().get() - first.addr().get(), 24);
        assert!(holds(first.as_ptr()) && holds(second.as_ptr()));
        assert!(!holds((&raw const layout).cast_mut().cast()));
        assert_eq!(packed(|| alloc(layout)), None);
    }
}
