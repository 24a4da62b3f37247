//! The agent's own heap, apart from the program's: a hook never re-enters the program's allocator, and the
//! program's heap statistics stay its own.

use std::alloc::{GlobalAlloc, Layout};

use crate::{own_heap::HEAP, pack, registry};

/// dlmalloc over anonymous mappings, and [`pack`].
struct AgentAllocator;

#[global_allocator]
static ALLOCATOR: AgentAllocator = AgentAllocator;

/// Aborts where a handler allocates or frees, in debug builds, which the tests run: both wait for the heap's lock, and a
/// handler waits for none. [`crate::handler`] lists the paths of handlers, and the test of each.
fn forbid_in_handlers() {
    debug_assert!(
        !registry::current().is_some_and(crate::thread::Thread::must_not_allocate),
        "the heap is used in a signal handler"
    );
}

// SAFETY: forwards to allocators that keep the contract. What is packed stays.
unsafe impl GlobalAlloc for AgentAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        forbid_in_handlers();
        if let Some(block) = pack::alloc(layout) {
            return block.as_ptr();
        }
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { HEAP.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        forbid_in_handlers();
        if !pack::holds(ptr) {
            // SAFETY: the caller keeps the contract of `GlobalAlloc`.
            unsafe { HEAP.dealloc(ptr, layout) }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        forbid_in_handlers();
        // Fresh memory from the kernel, used once.
        if let Some(block) = pack::alloc(layout) {
            return block.as_ptr();
        }
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { HEAP.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        forbid_in_handlers();
        if !pack::holds(ptr) {
            // SAFETY: the caller keeps the contract of `GlobalAlloc`.
            return unsafe { HEAP.realloc(ptr, layout, new_size) };
        }
        // SAFETY: the alignment is one that a layout had; the size does not overflow by the contract.
        let wanted = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        // SAFETY: the new size is not zero by the contract.
        let moved = unsafe { HEAP.alloc(wanted) };
        if !moved.is_null() {
            // SAFETY: two blocks of at least this size.
            unsafe { std::ptr::copy_nonoverlapping(ptr, moved, layout.size().min(new_size)) };
        }
        moved
    }
}
