//! Hides our signals from programs that do not expect EINTR.
//!
//! Only POSIX CPU timers need this: they may expire while the thread is in a system call. `SA_RESTART` covers
//! most calls; the kernel never restarts the ones below after a handler (signal(7)), so we do. The number of
//! the call is gone from the registers, but the code that loaded it is not.

use carom_base_insn::Memory;
use carom_base_wire::Counter;
use iced_x86::{Code, DecoderOptions, OpKind, Register};

use crate::scene::Scene;

/// `0f 05`.
const SYSCALL_BYTES: u64 = 2;

/// How far before the call its number may be loaded.
const WINDOW_BYTES: u64 = 64;

/// Calls that fail with EINTR after any handler, and that are idempotent until they succeed.
///
/// Calls that wait for a signal (`pause`, `sigsuspend`, `ppoll`, `epoll_pwait`) are not among them. Their callers
/// expect EINTR. And a SIGTRAP that waited while the call blocked it comes just behind the call that another signal has
/// ended: to make it again would be to wait for ever.
const NEVER_RESTARTED: [i64; 12] = [
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_epoll_wait,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_futex,
    libc::SYS_msgrcv,
    libc::SYS_io_getevents,
];

/// If our signal made a system call fail with EINTR, lets the thread make the call again. Relative time-outs
/// begin anew; the timer only runs while the thread computes, so that happens at most once a call.
pub fn restart_interrupted_call(scene: &mut Scene<'_>) {
    let ip = scene.context.ip();
    let memory = scene.memory();
    if scene.context.result() != -i64::from(libc::EINTR) {
        return;
    }
    let mut behind = [0; SYSCALL_BYTES as usize];
    let call = ip.wrapping_sub(SYSCALL_BYTES);
    if memory.read(call, &mut behind) != behind.len() || behind != [0x0f, 0x05] {
        return;
    }
    let start = scene.modules.and_then(|modules| modules.function_start(ip));
    let number = start.and_then(|start| loaded_number(start, call, &memory));
    match number.filter(|&number| NEVER_RESTARTED.contains(&i64::from(number))) {
        Some(number) => {
            scene.state.slot.count(Counter::RestartedCalls, 1);
            scene.context.repeat_call(number, SYSCALL_BYTES);
        }
        None => scene.state.slot.count(Counter::InterruptedCalls, 1),
    }
}

/// The constant that straight-line code loads into EAX last before `call`.
fn loaded_number(start: u64, call: u64, memory: &impl Memory) -> Option<u32> {
    let mut found = None;
    // A boundary inside the window is unknown; code resynchronises within a few instructions, and the last
    // load is the one next to the call.
    let from = start.max(call.saturating_sub(WINDOW_BYTES));
    let mut bytes = [0; WINDOW_BYTES as usize];
    let length = usize::try_from(call - from).ok()?.min(bytes.len());
    let read = memory.read(from, &mut bytes[..length]);
    let mut decoder = iced_x86::Decoder::with_ip(64, &bytes[..read], from, DecoderOptions::NONE);
    while decoder.can_decode() {
        let instruction = decoder.decode();
        if instruction.op0_kind() == OpKind::Register && instruction.op0_register() == Register::EAX {
            found = (instruction.code() == Code::Mov_r32_imm32).then(|| instruction.immediate32());
        }
    }
    found
}
