//! The program's own use of GS, by which the engine finds the thread's state: a thread that uses GS itself leaves for
//! good, with the base that it would have natively.

use std::arch::naked_asm;

use iced_x86::{Decoder, DecoderOptions};

use crate::{
    blocks::code::Code,
    emit::relocate,
    encode::{
        Emitter,
        marks::{Marks, Undo},
    },
    engine::Engine,
    lane::{
        exit::Exit,
        registers::{
            Gpr,
            number::{R11, RAX, RCX},
        },
        slots::Scratch,
    },
    memory::{self, USER_END},
    probes::coverage::Leave,
    threads::{
        calls::{arguments, finish, in_place},
        next::leave,
        thread::Thread,
    },
};

// Linux, arch/x86/include/uapi/asm/prctl.h.
const ARCH_SET_GS: u64 = 0x1001;
const ARCH_GET_GS: u64 = 0x1004;
const ARCH_SHSTK_ENABLE: u64 = 0x5001;

/// The instruction at `exit.pc` must run in its own place.
pub fn leave_for_instruction(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    let uses_gs = engine.cache.source.code_after(exit.pc).is_some_and(|code| {
        let instruction = Decoder::with_ip(64, code, exit.pc, DecoderOptions::NONE).decode();
        relocate::uses_gs(&instruction)
    });
    if uses_gs {
        leave_for_good(engine, thread, exit.detail, exit.pc, Leave::ProgramGs);
    } else {
        leave(thread, exit.pc, Leave::Instruction);
    }
}

/// The thread continues natively at `pc`, with GS as it would be natively, and does not come back. `from`: where in
/// the cache it was.
pub fn leave_for_good(engine: &mut Engine, thread: &mut Thread, from: u64, pc: u64, why: Leave) {
    thread.give_back();
    leave(thread, pc, why);
    let rax = thread.slots().regs[RAX];
    let arena = engine.cache.arenas.at_mut(from);
    // Without room the program finds the engine's base, until it sets its own.
    if let Some(entry) = arena.and_then(|arena| emit_way_out(arena, pc, rax)) {
        thread.slots().next = entry;
    }
}

/// Code for one exit: it clears GS and continues at `pc`, with the program's values in all registers. Once GS is
/// clear, the thread is no longer attached, so nothing can be kept behind GS.
fn emit_way_out(arena: &mut Code, pc: u64, rax: u64) -> Option<u64> {
    const MOV_EAX_0: [u8; 5] = [0xb8, 0, 0, 0, 0];
    const WRGSBASE_RAX: [u8; 5] = [0xf3, 0x48, 0x0f, 0xae, 0xd8];
    const MOV_RAX_RIP: [u8; 3] = [0x48, 0x8b, 0x05];
    const JMP_RIP: [u8; 2] = [0xff, 0x25];
    let (rax, target) = (arena.literal(rax), arena.literal(pc));
    let mut code = Emitter::at(arena.next_cold());
    let mut marks = Marks::new(code.start(), pc);
    code.spill(Gpr::RAX, Scratch::C);
    marks.push(code.here(), pc, Undo::Rax);
    code.raw(&MOV_EAX_0);
    code.raw(&WRGSBASE_RAX);
    for (instruction, literal) in [(&MOV_RAX_RIP[..], rax), (&JMP_RIP, target)] {
        code.raw(instruction);
        let end = code.here() + 4;
        code.raw(&(literal.wrapping_sub(end) as u32).to_le_bytes());
    }
    arena.add_piece(&code, marks)
}

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
        // As a kernel without shadow stacks answers.
        ARCH_SHSTK_ENABLE => finish(thread, exit, Err(libc::EOPNOTSUPP)),
        _ => in_place(thread, exit),
    }
}

/// Sets GS from RCX and continues at R11: registers that are free after a system call.
#[unsafe(naked)]
unsafe extern "C" fn set_gs_and_leave() {
    naked_asm!("wrgsbase rcx", "jmp r11")
}
