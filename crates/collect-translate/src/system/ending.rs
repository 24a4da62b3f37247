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

/// Where a thread stands that has no lane any more. One for all.
#[repr(C, align(64))]
struct Grave([u8; GRAVE_BYTES]);

const GRAVE_BYTES: usize = 64 << 10;

static GRAVE: Lock<Grave> = Lock::new(Rank::Grave, Grave([0; GRAVE_BYTES]));

/// Where a thread goes on that is to end: no address that a program could go to.
pub const END: u64 = (1 << 63) + 1;

/// The calling thread is to [`end`].
pub fn exit(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    let totals = thread.totals(engine.cache.arenas.all());
    engine.observer.thread_ending(thread.name, &totals);
    // Its dispatcher has it still.
    if engine.take(thread.books) {
        thread.slots().next = END;
    } else {
        in_place(thread, exit);
    }
}

/// Ends the calling thread, which is not attached any more, without the engine's lock.
pub fn end(thread: *mut Thread) -> ! {
    let mut grave = GRAVE.lock();
    let top = grave.0.as_mut_ptr_range().end;
    // It is given back when the thread uses nothing any more.
    std::mem::forget(grave);
    // SAFETY: this stack is left for good; the grave is ours as long as we hold its lock.
    unsafe {
        asm!("mov rsp, {}", "call {}", "ud2", in(reg) top, sym bury, in("rdi") thread, options(noreturn))
    };
}

/// Gives back what the calling thread has, and ends it.
unsafe extern "C" fn bury(thread: *mut Thread) -> ! {
    // SAFETY: it was a box, and whoever had it before does not come back.
    let mut thread = unsafe { Box::from_raw(thread) };
    let [status, ..] = arguments(&mut thread);
    let lane = thread.lane;
    // Nobody knows the thread any more who could want it.
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
