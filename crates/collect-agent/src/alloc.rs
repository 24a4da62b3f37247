//! The agent's own heap, apart from the program's: a hook never re-enters the program's allocator, and the
//! program's heap statistics stay its own.

use std::alloc::{GlobalAlloc, Layout};

use dlmalloc::GlobalDlmalloc;

use crate::registry;

/// dlmalloc over anonymous mappings.
pub struct AgentAllocator;

/// A handler that allocates can deadlock: in debug builds, which the tests run, it fails loudly.
fn forbid_in_handlers() {
    debug_assert!(
        !registry::current().is_some_and(crate::thread::Thread::in_handler),
        "allocation in a signal handler"
    );
}

// SAFETY: forwards to an allocator that keeps the contract.
unsafe impl GlobalAlloc for AgentAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        forbid_in_handlers();
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { GlobalDlmalloc.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { GlobalDlmalloc.dealloc(ptr, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        forbid_in_handlers();
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { GlobalDlmalloc.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        forbid_in_handlers();
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { GlobalDlmalloc.realloc(ptr, layout, new_size) }
    }
}
