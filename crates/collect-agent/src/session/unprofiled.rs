//! Counts threads, processes and CPU time that run unprofiled, in memory shared with the host: nothing else can be
//! written there.

use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};

use carom_base_sys::{clock, process};
use carom_base_wire::{Control, SegmentHeader};

use super::Session;

/// The control page of the session that the parent of this process is recorded in, where this process could not be.
static UNPROFILED: AtomicPtr<Control> = AtomicPtr::new(std::ptr::null_mut());

/// That process.
static UNPROFILED_PID: AtomicU32 = AtomicU32::new(0);

/// The calling process, a child of a fork, cannot be recorded.
pub fn child_is_unprofiled(parent: &Session, errno: i32) {
    parent.unprofiled_child(errno);
    UNPROFILED.store(std::ptr::from_ref(parent.control).cast_mut(), Relaxed);
    // A `vfork` child of it shares its memory.
    UNPROFILED_PID.store(process::process_id(), Relaxed);
}

/// The process ends in an orderly way: adds its CPU time if it was not recorded.
pub fn unprofiled_child_ends() {
    if UNPROFILED.load(Relaxed).is_null() || UNPROFILED_PID.load(Relaxed) != process::process_id() {
        return;
    }
    let control = UNPROFILED.swap(std::ptr::null_mut(), Relaxed);
    // SAFETY: control pages stay mapped; all fields are atomics.
    if let Some(control) = unsafe { control.as_ref() } {
        control.unprofiled_ns.fetch_add(clock::process_cpu(), Relaxed);
    }
}

impl Session {
    /// Counts a thread that runs unprofiled.
    pub fn unprofiled_thread(&self, errno: i32) {
        self.control.unprofiled_threads.fetch_add(1, Relaxed);
        self.control.unprofiled_errno.store(errno as u64, Relaxed);
    }

    /// Counts a child process that runs unprofiled.
    pub fn unprofiled_child(&self, errno: i32) {
        self.control.unprofiled_children.fetch_add(1, Relaxed);
        self.control.unprofiled_errno.store(errno as u64, Relaxed);
    }

    /// The head of the first segment, once there is one.
    pub(super) fn head(&self) -> Option<&SegmentHeader> {
        // SAFETY: null, or mapped for good; all fields are atomics.
        unsafe { self.head.load(Acquire).as_ref() }
    }

    /// A program that will run unprofiled, because of this error number, is about to replace this one. Signal-safe.
    pub fn gives_way(&self, errno: i32) {
        if let Some(head) = self.head() {
            head.left_errno.store(errno as u32, Relaxed);
            head.left_ns.store(clock::process_cpu(), Relaxed);
            // ATOMICS: the host looks at this first.
            head.left_at.store(clock::now().0, Release);
        }
    }

    /// It has not replaced it: the call failed.
    pub fn stays(&self) {
        if let Some(head) = self.head() {
            head.left_at.store(0, Relaxed);
        }
    }

    /// Counts the CPU time of the calling thread, which ran unprofiled.
    pub fn unprofiled_thread_ends(&self) {
        self.control.unprofiled_ns.fetch_add(clock::thread_cpu(), Relaxed);
    }
}
