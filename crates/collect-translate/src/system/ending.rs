//! The end of a thread by the program's own system call.

use std::{arch::asm, cell::UnsafeCell};

use super::{arguments, in_place};
use crate::{
    engine::{self, Engine},
    exit::Exit,
    thread::Thread,
};

/// Where a thread stands that has no lane any more. One for all: it is used under the engine's lock.
#[repr(C, align(64))]
struct Grave(UnsafeCell<[u8; GRAVE_BYTES]>);

const GRAVE_BYTES: usize = 64 << 10;

// SAFETY: used under the engine's lock only.
unsafe impl Sync for Grave {}

static GRAVE: Grave = Grave(UnsafeCell::new([0; GRAVE_BYTES]));

/// Ends the calling thread. The engine's lock, which is held, is released when the thread uses nothing of the engine's
/// any more.
pub fn exit(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    let totals = thread.totals(&engine.cache.codes);
    engine.observer.thread_ending(thread.name, &totals);
    if !engine.end(thread) {
        return in_place(thread, exit);
    }
    let engine = std::ptr::from_mut(engine);
    // SAFETY: the end of the grave.
    let top = unsafe { GRAVE.0.get().cast::<u8>().add(GRAVE_BYTES) };
    // SAFETY: this stack is left for good; the grave is ours as long as we hold the lock.
    unsafe {
        asm!("mov rsp, {}", "call {}", "ud2", in(reg) top, sym bury, in("rdi") engine, options(noreturn))
    };
}

/// Gives the lane of the thread back that ended last, which is the calling one, and ends it.
unsafe extern "C" fn bury(engine: *mut Engine) -> ! {
    // SAFETY: whoever had it before does not come back, and the lock is held.
    let engine = unsafe { &mut *engine };
    let mut status = 0;
    if let Some(thread) = &mut engine.ended {
        [status, ..] = arguments(thread);
        let lane = thread.lane;
        engine::set_gs_base(0);
        // What cannot be given back stays taken.
        let _ = engine.cache.lanes.release(lane);
    }
    let lock = engine::lock_byte();
    // SAFETY: from the first instruction on another thread may use the grave; the others need no memory.
    unsafe {
        asm!("mov byte ptr [{}], 0", "syscall", "ud2", in(reg) lock, in("rax") libc::SYS_exit, in("rdi") status,
            options(noreturn));
    }
}
