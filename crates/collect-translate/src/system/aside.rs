//! Stepping aside: the program is about to do something that cannot be followed, so the whole process continues
//! natively, for good and without further system calls of the engine.
//!
//! The calling thread leaves in front of its system call. The others leave at their next exit: all code is forgotten,
//! so that every block ends at an exit, and exits lead to [`leave_quietly`] instead of the dispatcher.

use std::{arch::naked_asm, mem::offset_of};

use carom_base_sys::lock;

use super::segment;
use crate::{
    blocks::gate,
    engine::{self, Engine, calling, observer, process},
    lane::{
        exit::{Exit, Reason},
        registers::number::RCX,
        slots::Slots,
    },
    probes::{coverage::Leave, mode::Mode},
    signal::actions,
    threads::{
        books::Books,
        calls::{Arguments, arguments, in_place, number},
        thread::Thread,
    },
};

/// Whether a system call may be the last before the process steps aside.
pub fn may_end_here(number: i64, [first, ..]: Arguments) -> bool {
    const OPTIONS: [i32; 3] = [libc::PR_SET_SECCOMP, libc::PR_SET_TSC, PR_SET_SYSCALL_USER_DISPATCH];
    match number {
        libc::SYS_seccomp => true,
        // An option has 32 bits.
        libc::SYS_prctl => OPTIONS.contains(&(first as i32)),
        libc::SYS_ptrace => first == u64::from(libc::PTRACE_TRACEME),
        _ => false,
    }
}

/// Linux, include/uapi/linux/prctl.h.
const PR_SET_SYSCALL_USER_DISPATCH: i32 = 59;

/// A system call has left the cache; the engine's lock is not held.
pub fn prepare(thread: &mut Thread) {
    let (number, given) = (number(thread), arguments(thread));
    let is_general = matches!(number, libc::SYS_prctl | libc::SYS_ptrace);
    let concerns = gate::RESTRICTING.contains(&number) && (!is_general || may_end_here(number, given));
    thread.obstacle = concerns.then(|| observer::obstacle(number, given)).flatten();
}

/// Lets the call happen, in the cache or behind it.
pub fn call(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    let Some(obstacle) = thread.obstacle else { return in_place(thread, exit) };
    engine.ending();
    thread.slots().mask |= engine.observer.stepping_aside(obstacle);
    engine.cache.set_mode(Mode::Off);
    engine.lead_out(leave_quietly as *const () as u64);
    process::stop();
    segment::leave_for_good(engine, thread, exit.back, exit.pc, Leave::SteppedAside);
}

/// The process has stepped aside: the kernel gets the program's handlers back. Called without the engine's lock, with
/// signals blocked.
pub fn go_on_natively() {
    // Their signals may be deferred, by the engine's handlers.
    let_others_out();
    actions::give_back();
}

/// Waits for other threads to leave the dispatcher, because their system calls may be forbidden from the calling thread's
/// next one on.
fn let_others_out() {
    /// In total a second: a thread may have to wait for a processor, or make a call that waits.
    const AT_MOST: usize = 20_000;
    for _ in 0..AT_MOST {
        let mut inside = false;
        engine::with(|engine| inside = engine.others().any(Books::is_inside));
        if !inside {
            return;
        }
        lock::sleep();
    }
}

/// Steps aside in a thread that runs natively, whose totals have been reported. Signals must be blocked.
pub fn step_aside() {
    if !process::is_started() {
        return actions::give_back();
    }
    let thread = calling::current();
    engine::with(|engine| {
        engine.cache.set_mode(Mode::Off);
        engine.lead_out(leave_quietly as *const () as u64);
        process::stop();
    });
    go_on_natively();
    if thread.is_some() {
        calling::set_gs_base(0);
    }
}

/// The target of exits once the process has stepped aside, in place of `arrive::dispatch`: continues in native code.
/// GS keeps its value.
///
/// Flags and all registers keep the program's values, and its stack is not used: a signal may arrive at any time.
#[unsafe(naked)]
#[unsafe(link_section = "carom_passages")]
unsafe extern "C" fn leave_quietly() {
    naked_asm!(
        "mov gs:[{rcx}], rcx",
        "mov rcx, [rax + {pc}]",
        "jrcxz 3f",
        "2:",
        "mov gs:[{next}], rcx",
        "mov rcx, gs:[{rcx}]",
        "mov rax, gs:[{scratch}]",
        "jmp qword ptr gs:[{next}]",
        // If the exit does not determine it, the thread's slots do.
        "3:",
        "mov rcx, [rax + {reason}]",
        "lea rcx, [rcx - {back}]",
        "jrcxz 4f",
        "mov rcx, gs:[{target}]",
        "jmp 2b",
        "4:",
        "mov rcx, gs:[{called_from}]",
        "jmp 2b",
        rcx = const offset_of!(Slots, regs) + 8 * RCX,
        pc = const offset_of!(Exit, pc),
        reason = const offset_of!(Exit, reason),
        back = const Reason::Back as u64,
        next = const offset_of!(Slots, next),
        scratch = const offset_of!(Slots, scratch),
        target = const offset_of!(Slots, target),
        called_from = const offset_of!(Slots, called_from),
    )
}
