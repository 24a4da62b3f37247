//! arch_prctl: what the program does with the register that the thread's state is found with.

use std::arch::naked_asm;

use super::{arguments, finish, in_place};
use crate::{
    coverage::Leave,
    dispatch::leave,
    engine::Engine,
    exit::Exit,
    memory::{self, USER_END},
    state::number::{R11, RCX},
    thread::Thread,
};

// Linux, arch/x86/include/uapi/asm/prctl.h.
const ARCH_SET_GS: u64 = 0x1001;
const ARCH_GET_GS: u64 = 0x1004;
const ARCH_SHSTK_ENABLE: u64 = 0x5001;

/// A thread that sets GS leaves for good.
pub fn call(_engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    let given = arguments(thread);
    let [code, value, ..] = given;
    match code {
        ARCH_SET_GS if value >= USER_END => finish(thread, exit, Err(libc::EPERM)),
        ARCH_SET_GS => {
            finish(thread, exit, Ok(0));
            thread.give_back();
            let slots = thread.slots();
            slots.regs[RCX] = value;
            slots.regs[R11] = slots.pc;
            let pc = slots.pc;
            leave(thread, pc, Leave::ProgramGs);
            thread.slots().next = set_gs_and_leave as *const () as u64;
        }
        ARCH_GET_GS => {
            // SAFETY: writes what the program asked for, where it asked for it.
            let result = unsafe { memory::call(libc::SYS_arch_prctl, given) };
            if result.is_ok() {
                let place = std::ptr::with_exposed_provenance_mut::<u64>(value as usize);
                // The program has not set it.
                // SAFETY: the kernel has just written there.
                unsafe { place.write_unaligned(0) };
            }
            finish(thread, exit, result);
        }
        // As a kernel without them says.
        ARCH_SHSTK_ENABLE => finish(thread, exit, Err(libc::EOPNOTSUPP)),
        _ => in_place(thread, exit),
    }
}

/// GS into RCX, on at R11: registers that are free behind a system call.
#[unsafe(naked)]
unsafe extern "C" fn set_gs_and_leave() {
    naked_asm!("wrgsbase rcx", "jmp r11")
}
