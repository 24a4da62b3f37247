//! The agent's own heap, apart from the program's: a hook never re-enters the program's allocator, and the
//! program's heap statistics stay its own.

use std::{
    alloc::{GlobalAlloc, Layout},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use dlmalloc::GlobalDlmalloc;

use crate::registry;

/// Allocations asked for while a handler of ours was running on the asking thread. Must stay 0.
pub static IN_HANDLER: AtomicU64 = AtomicU64::new(0);

/// dlmalloc over anonymous mappings.
pub struct AgentAllocator;

fn note_handler() {
    if registry::current().is_some_and(|thread| thread.in_handler()) {
        IN_HANDLER.fetch_add(1, Relaxed);
        // A handler that allocates can deadlock: make it fail loudly where tests can see it.
        debug_assert!(false, "allocation in a signal handler");
    }
}

// SAFETY: forwards to an allocator that keeps the contract.
unsafe impl GlobalAlloc for AgentAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note_handler();
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { GlobalDlmalloc.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { GlobalDlmalloc.dealloc(ptr, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note_handler();
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { GlobalDlmalloc.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note_handler();
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { GlobalDlmalloc.realloc(ptr, layout, new_size) }
    }
}
