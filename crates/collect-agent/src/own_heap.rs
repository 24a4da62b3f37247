//! The heap that the agent allocates from, and its lock.

use std::{
    alloc::Layout,
    ptr,
    sync::atomic::{AtomicBool, Ordering::*},
};

use carom_base_sys::signal::Quiet;
use dlmalloc::Dlmalloc;

use crate::{
    lock::{Lock, Rank},
    own_pages::OwnPages,
};

/// dlmalloc under a lock.
pub struct OwnHeap {
    heap: Lock<Dlmalloc<OwnPages>>,
    /// In a forked child: another thread of the parent was changing the heap at the fork. There is a new heap, and
    /// blocks are not freed any more, because it is not known which heap they belong to.
    restarted: AtomicBool,
}

/// The only one.
pub static HEAP: OwnHeap =
    OwnHeap { heap: Lock::new(Rank::Heap, new_heap()), restarted: AtomicBool::new(false) };

const fn new_heap() -> Dlmalloc<OwnPages> {
    Dlmalloc::new_with_allocator(OwnPages)
}

impl OwnHeap {
    fn with<R>(&self, work: impl FnOnce(&mut Dlmalloc<OwnPages>) -> R) -> R {
        // The translator's stack is used with all signals blocked, and it allocates a lot.
        let _quiet = (!carom_collect_translate::is_on_engine_stack()).then(Quiet::begin);
        work(&mut self.heap.lock())
    }

    /// # Safety
    /// As `GlobalAlloc::alloc`.
    pub unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract.
        self.with(|heap| unsafe { heap.malloc(layout.size(), layout.align()) })
    }

    /// # Safety
    /// As `GlobalAlloc::alloc_zeroed`.
    pub unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract.
        self.with(|heap| unsafe { heap.calloc(layout.size(), layout.align()) })
    }

    /// # Safety
    /// As `GlobalAlloc::dealloc`.
    pub unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        if !self.restarted.load(Relaxed) {
            // SAFETY: the caller's contract.
            self.with(|heap| unsafe { heap.free(ptr, layout.size(), layout.align()) });
        }
    }

    /// # Safety
    /// As `GlobalAlloc::realloc`.
    pub unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if !self.restarted.load(Relaxed) {
            // SAFETY: the caller's contract.
            return self.with(|heap| unsafe { heap.realloc(ptr, layout.size(), layout.align(), new_size) });
        }
        // SAFETY: the alignment is one that a layout had; the size does not overflow by the contract.
        let wanted = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        // SAFETY: the new size is not zero by the contract.
        let moved = unsafe { self.alloc(wanted) };
        if !moved.is_null() {
            // SAFETY: two blocks of at least this size.
            unsafe { ptr::copy_nonoverlapping(ptr, moved, layout.size().min(new_size)) };
        }
        moved
    }

    /// Takes the lock for the length of a fork, so that the child finds the heap whole. Signals are blocked.
    pub fn before_fork(&self) {
        std::mem::forget(self.heap.lock());
    }

    /// Gives it back, on both sides.
    pub fn after_fork(&self) {
        self.heap.open();
    }

    /// In the child of a fork by the C library. The lock is not taken for that fork: handlers of the program's own
    /// (pthread_atfork) run in between, and may wait for threads that allocate.
    pub fn begin_in_child(&self) {
        if !self.heap.is_held() {
            return;
        }
        self.restarted.store(true, Relaxed);
        self.heap.open();
        if let Some(mut heap) = self.heap.try_lock() {
            // A half changed heap cannot be dropped.
            *heap = new_heap();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heap_that_was_being_changed_starts_over_in_a_child() {
        let heap = OwnHeap { heap: Lock::new(Rank::Heap, new_heap()), restarted: AtomicBool::new(false) };
        let layout = Layout::from_size_align(64, 8).unwrap();
        // SAFETY: a layout that is not empty.
        let before = unsafe { heap.alloc(layout) };
        // SAFETY: a block of this size.
        unsafe { before.write_bytes(7, 64) };
        heap.begin_in_child();
        assert!(!heap.restarted.load(Relaxed), "nobody was changing it");
        // Another thread.
        std::mem::forget(heap.heap.try_lock());
        heap.begin_in_child();
        // SAFETY: a block of the heap, of this layout.
        let moved = unsafe { heap.realloc(before, layout, 128) };
        assert_ne!(moved, before);
        // SAFETY: 64 of 128 bytes, which were copied.
        assert_eq!(unsafe { std::slice::from_raw_parts(moved, 64) }, [7; 64]);
        // SAFETY: as above.
        unsafe { heap.dealloc(before, layout) };
    }
}
