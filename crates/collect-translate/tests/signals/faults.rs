//! Faults of the program's own instructions.

use std::{
    arch::naked_asm,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use libc::{REG_RAX, REG_RCX, REG_RIP, SIGSEGV, siginfo_t, ucontext_t};

use super::basics::{Handler, install, turn};
use crate::support::counted;

static RIP: AtomicU64 = AtomicU64::new(0);

/// Skips the instruction, which has 4 bytes, and puts 1000 into RAX.
extern "C" fn skips(_: libc::c_int, info: *mut siginfo_t, context: *mut ucontext_t) {
    // SAFETY: the kernel's argument.
    let info = unsafe { &*info };
    // SAFETY: a fault has an address.
    assert_eq!(unsafe { info.si_addr() } as u64, 16);
    // SAFETY: the kernel's argument.
    let registers = unsafe { &mut (*context).uc_mcontext.gregs };
    RIP.store(registers[REG_RIP as usize] as u64, Relaxed);
    registers[REG_RIP as usize] += 4;
    registers[REG_RAX as usize] = 1000;
    // RCX shows that the context has the program's value.
    registers[REG_RCX as usize] *= 2;
}

/// The fault is the first, a middle and the last but one instruction of a block, in turn.
#[unsafe(naked)]
unsafe extern "C" fn faulty(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "mov ecx, 21",
        "cmp edi, 1",
        "jb 2f",
        "je 3f",
        "xor edx, edx",
        "lea rsi, [rdx + 4]",
        ".globl carom_test_fault_2",
        "carom_test_fault_2:",
        "mov rax, [rdx + 0x10]",
        "add rax, rcx",
        "ret",
        "2:",
        ".globl carom_test_fault_0",
        "carom_test_fault_0:",
        "mov rax, [rdi + 0x10]",
        "add rax, rcx",
        "ret",
        "3:",
        "mov edx, 0",
        ".globl carom_test_fault_1",
        "carom_test_fault_1:",
        "mov rax, [rdx + 0x10]",
        "add rax, rcx",
        "ret",
    )
}

unsafe extern "C" {
    static carom_test_fault_0: u8;
    static carom_test_fault_1: u8;
    static carom_test_fault_2: u8;
}

fn with_handler(handler: Handler) {
    unsafe extern "C" fn body(handler: u64, _: u64) -> u64 {
        // SAFETY: what `with_handler` was given.
        install(SIGSEGV, unsafe { std::mem::transmute::<u64, Handler>(handler) }, 0, &[]);
        0
    }
    counted(body, handler as *const () as u64, 0);
}

/// Instructions before the fault are counted once: the handler's context and the counts are those of a native run.
#[test]
fn a_handler_skips_the_faulting_instruction() {
    let _turn = turn();
    with_handler(skips);
    let places = [
        (&raw const carom_test_fault_0) as u64,
        (&raw const carom_test_fault_1) as u64,
        (&raw const carom_test_fault_2) as u64,
    ];
    for _ in 0..3 {
        let instructions = places.iter().zip(0u64..).map(|(&place, which)| {
            let (result, totals) = counted(faulty, which, 0);
            assert_eq!(RIP.load(Relaxed), place);
            assert_eq!(result, 1000 + 42, "fault {which}");
            totals.instructions
        });
        let instructions: Vec<i64> = instructions.collect();
        // Beside the handler: mov, cmp, jb, add, ret; je and mov more; je, xor and lea more.
        assert_eq!([instructions[1], instructions[2]], [instructions[0] + 2, instructions[0] + 3]);
    }
}
