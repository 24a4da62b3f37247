//! Which instructions are tried.

use iced_x86::{Code, FlowControl, Mnemonic as M, OpCodeOperandKind as Kind};

/// Left out, and why.
const EXCLUDED: &[(&str, &[M])] = &[
    (
        "answers differ from one execution to the next",
        &[M::Rdtsc, M::Rdtscp, M::Rdrand, M::Rdseed, M::Rdpmc, M::Rdpid, M::Rdpru, M::Cpuid],
    ),
    ("answers differ from one process to the next", &[M::Rdfsbase, M::Lsl]),
    (
        "they show or set the address of the last x87 instruction, which is one in the cache",
        &[
            M::Fnstenv,
            M::Fstenv,
            M::Fnsave,
            M::Fsave,
            M::Fldenv,
            M::Frstor,
            M::Fxsave,
            M::Fxsave64,
            M::Fxrstor,
            M::Fxrstor64,
            M::Xsave,
            M::Xsave64,
            M::Xsavec,
            M::Xsavec64,
            M::Xsaveopt,
            M::Xsaveopt64,
            M::Xrstor,
            M::Xrstor64,
            M::Xsaves,
            M::Xsaves64,
            M::Xrstors,
            M::Xrstors64,
        ],
    ),
    (
        "the thread's state is found with them",
        &[M::Wrfsbase, M::Wrgsbase, M::Rdgsbase, M::Swapgs, M::Lfs, M::Lgs, M::Lss],
    ),
    ("kernels emulate or forbid them", &[M::Sgdt, M::Sidt, M::Sldt, M::Smsw, M::Str, M::Rdpkru, M::Wrpkru]),
    ("they wait", &[M::Monitor, M::Mwait, M::Monitorx, M::Mwaitx, M::Umonitor, M::Umwait, M::Tpause]),
    ("they fault by design", &[M::Ud0, M::Ud1, M::Ud2]),
    (
        "`flow` and `fixed` make them, with operands that bound them",
        &[
            M::Leave,
            M::Enter,
            M::Popf,
            M::Popfq,
            M::Xlatb,
            M::Maskmovq,
            M::Maskmovdqu,
            M::Vmaskmovdqu,
            M::Div,
            M::Idiv,
            M::Fldcw,
            M::Ldmxcsr,
            M::Vldmxcsr,
            M::Clzero,
            M::Xgetbv,
        ],
    ),
];

/// Whether `flow` and `fixed` leave it to this module.
fn is_general(code: Code) -> bool {
    let info = code.op_code();
    let mnemonic = code.mnemonic();
    info.is_instruction()
        && info.is_available_in_mode(64)
        && !info.is_privileged()
        && !info.is_input_output()
        && info.cpl3()
        && code.flow_control() == FlowControl::Next
        && !code.is_string_instruction()
        && code != Code::Syscall
        && !EXCLUDED.iter().any(|(_, mnemonics)| mnemonics.contains(&mnemonic))
        && info.op_kinds().iter().all(|kind| {
            !matches!(kind, Kind::seg_reg | Kind::cr_reg | Kind::dr_reg | Kind::tr_reg | Kind::fs | Kind::gs)
        })
}

/// All instructions that may be tried. Trying shows which of them the processor has.
pub fn all() -> Vec<Code> {
    Code::values().filter(|code| is_general(*code)).collect()
}
