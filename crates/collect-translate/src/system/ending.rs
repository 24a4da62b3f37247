//! The end of a thread by the program's own system call.

use std::arch::asm;

use carom_base_sys::lock::{Lock, Rank};

use crate::{
    engine::{Engine, calling},
    lane::exit::Exit,
    threads::{
        calls::{arguments, in_place},
        thread::Thread,
    },
};

/// The stack of a thread that no longer has a lane. One for all threads.
#[repr(C, align(64))]
struct Grave([u8; GRAVE_BYTES]);

const GRAVE_BYTES: usize = 64 << 10;

static GRAVE: Lock<Grave> = Lock::new(Rank::Grave, Grave([0; GRAVE_BYTES]));

/// Where a thread continues that is about to end: no address that a program could jump to.
pub const END: u64 = (1 << 63) + 1;

/// The calling thread is going to [`end`].
pub fn exit(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    let totals = thread.totals(engine.cache.arenas.all());
    engine.observer.thread_ending(thread.name, &totals);
    // Its dispatcher still uses it.
    if engine.take(thread.books) {
        thread.slots().next = END;
    } else {
        in_place(thread, exit);
    }
}

/// Ends the calling thread, which is no longer attached, without the engine's lock.
pub fn end(thread: *mut Thread) -> ! {
    let mut grave = GRAVE.lock();
    let top = grave.0.as_mut_ptr_range().end;
    // The lock is released when the thread uses nothing any more.
    std::mem::forget(grave);
    // SAFETY: this stack is left for good; the grave is ours as long as we hold its lock.
    unsafe {
        asm!("mov rsp, {}", "call {}", "ud2", in(reg) top, sym bury, in("rdi") thread, options(noreturn))
    };
}

/// Releases everything of the calling thread, and ends it.
unsafe extern "C" fn bury(thread: *mut Thread) -> ! {
    // SAFETY: it was a box, and its earlier owner does not come back.
    let mut thread = unsafe { Box::from_raw(thread) };
    let [status, ..] = arguments(&mut thread);
    let lane = thread.lane;
    // No other thread knows this one any more.
    thread.turn.give();
    drop(thread);
    calling::set_gs_base(0);
    calling::give_lane_back(lane);
    let word = GRAVE.leave();
    // SAFETY: from the exchange on another thread may use the grave; the rest needs no memory.
    unsafe {
        asm!("xor eax, eax", "xchg dword ptr [rdi], eax", "test eax, eax", "jns 2f",
            "mov eax, {futex}", "mov esi, {wake}", "mov edx, 1", "syscall",
            "2:", "mov eax, {exit}", "mov rdi, r12", "syscall", "ud2",
            futex = const libc::SYS_futex, wake = const libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            exit = const libc::SYS_exit, in("rdi") word, in("r12") status, options(noreturn));
    }
}
