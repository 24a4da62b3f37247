//! The heap that the agent allocates from, and its lock, which a fork must find open.

use std::{
    alloc::Layout,
    cell::UnsafeCell,
    sync::atomic::{AtomicU64, Ordering::*},
};

use dlmalloc::Dlmalloc;

use crate::{own_pages::OwnPages, registry::thread_pointer, reuse::exact};

/// dlmalloc under a lock.
///
/// The thread that forks holds the lock across the fork, so that the child finds the heap whole; meanwhile it may go on
/// allocating itself, on either side.
pub struct OwnHeap {
    /// The holder's thread pointer, perhaps with [`FORKING`]; 0 where it is open.
    holder: AtomicU64,
    heap: UnsafeCell<Dlmalloc<OwnPages>>,
}

// SAFETY: the heap is used by the holder of the lock alone.
unsafe impl Sync for OwnHeap {}

/// Set in the holder's thread pointer, which is aligned, while it forks.
const FORKING: u64 = 1;

/// The only one.
pub static HEAP: OwnHeap =
    OwnHeap { holder: AtomicU64::new(0), heap: UnsafeCell::new(Dlmalloc::new_with_allocator(OwnPages)) };

impl OwnHeap {
    fn with<R>(&self, work: impl FnOnce(&mut Dlmalloc<OwnPages>) -> R) -> R {
        let this = thread_pointer();
        // Between `before_fork` and `after_fork` the heap is whole.
        let held = self.holder.load(Relaxed) == this | FORKING;
        if !held {
            self.lock(this);
        }
        // SAFETY: this thread holds the lock, and is not in here already: nothing in dlmalloc comes back to us.
        let result = work(unsafe { &mut *self.heap.get() });
        if !held {
            // ATOMICS: pairs with the acquire in `lock`.
            self.holder.store(0, Release);
        }
        result
    }

    fn lock(&self, holder: u64) {
        while self.holder.compare_exchange_weak(0, holder, Acquire, Relaxed).is_err() {
            // SAFETY: no arguments.
            unsafe { libc::sched_yield() };
        }
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
        // SAFETY: the caller's contract.
        self.with(|heap| unsafe { heap.free(ptr, layout.size(), layout.align()) });
    }

    /// # Safety
    /// As `GlobalAlloc::realloc`.
    pub unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller's contract.
        self.with(|heap| unsafe { heap.realloc(ptr, layout.size(), layout.align(), new_size) })
    }

    /// Whether the calling thread holds the lock.
    pub fn is_held_here(&self) -> bool {
        self.holder.load(Relaxed) & !FORKING == thread_pointer()
    }

    /// Has the heap whole and its lock open in every child that `fork` makes.
    pub fn register_fork_handlers() {
        // SAFETY: functions of the right type that live as long as the process.
        unsafe {
            libc::pthread_atfork(
                Some(before_library_fork),
                Some(after_library_fork),
                Some(after_library_fork),
            )
        };
    }
}

/// Before a fork by the C library. In the cache it is the translator that forks, and takes its own lock first: taking
/// this one here would be the wrong order.
unsafe extern "C" fn before_library_fork() {
    if !carom_collect_translate::runs_in_cache() {
        before_fork();
    }
}

/// After it, on both sides.
unsafe extern "C" fn after_library_fork() {
    after_fork();
}

/// Takes the lock for the length of a fork, and first that of the analysis that allocates under its own.
pub fn before_fork() {
    exact::before_fork();
    HEAP.lock(thread_pointer() | FORKING);
}

/// Gives it back, on both sides, where it was taken for that.
pub fn after_fork() {
    if HEAP.holder.load(Relaxed) == thread_pointer() | FORKING {
        HEAP.holder.store(0, Release);
        exact::after_fork();
    }
}
