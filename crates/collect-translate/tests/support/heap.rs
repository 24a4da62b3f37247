//! A heap that is not the program's, whose lock the engine's observer can take around a fork.

use std::{
    alloc::{GlobalAlloc, Layout},
    cell::UnsafeCell,
    sync::atomic::{AtomicBool, Ordering::*},
};

/// The engine allocates in the middle of the program's functions, its `malloc` among them.
pub struct Heap {
    held: AtomicBool,
    heap: UnsafeCell<dlmalloc::Dlmalloc>,
}

// SAFETY: used under its lock.
unsafe impl Sync for Heap {}

#[global_allocator]
pub static HEAP: Heap =
    Heap { held: AtomicBool::new(false), heap: UnsafeCell::new(dlmalloc::Dlmalloc::new()) };

impl Heap {
    pub fn lock(&self) {
        while self.held.swap(true, Acquire) {
            // SAFETY: no arguments.
            unsafe { libc::sched_yield() };
        }
    }

    pub fn unlock(&self) {
        self.held.store(false, Release);
    }

    fn with<R>(&self, work: impl FnOnce(&mut dlmalloc::Dlmalloc) -> R) -> R {
        self.lock();
        // SAFETY: the lock is held.
        let result = work(unsafe { &mut *self.heap.get() });
        self.unlock();
        result
    }
}

// SAFETY: the heap's own functions keep the contract.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        self.with(|heap| unsafe { heap.malloc(layout.size(), layout.align()) })
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        self.with(|heap| unsafe { heap.free(place, layout.size(), layout.align()) });
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        self.with(|heap| unsafe { heap.calloc(layout.size(), layout.align()) })
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        self.with(|heap| unsafe { heap.realloc(place, layout.size(), layout.align(), bytes) })
    }
}
