//! A system call that a thread is about to make.

use super::{next::go_on, thread::Thread};
use crate::{
    lane::{
        exit::Exit,
        registers::number::{R10, R11, RAX, RCX, RDI, RDX, RSI},
    },
    memory::Errno,
};

/// The values of RDI, RSI, RDX, R10, R8 and R9.
pub type Arguments = [u64; 6];

/// Bytes of the instruction.
pub const SYSCALL_BYTES: u64 = 2;

/// Something that the program is about to do and that cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// A stable code.
    pub code: &'static str,
    /// The name of the call that it would forbid; may be empty.
    pub detail: &'static str,
}

/// A call that sets another signal mask while it waits.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    pub mask: u64,
    /// Where the program continues, with which stack and arguments.
    pub next: u64,
    pub sp: u64,
    pub arguments: [u64; 6],
}

/// The call happens in the cache, after any preparation.
pub fn in_place(thread: &mut Thread, exit: Exit) {
    go_on(thread, exit.back, exit.pc);
}

/// The call has been made, and the thread continues after it.
pub fn finish(thread: &mut Thread, exit: Exit, result: Result<u64, Errno>) {
    let next = exit.pc + SYSCALL_BYTES;
    let slots = thread.slots();
    slots.regs[RAX] = result.unwrap_or_else(|errno| i64::from(-errno) as u64);
    slots.regs[RCX] = next;
    slots.regs[R11] = slots.flags;
    go_on(thread, exit.back + SYSCALL_BYTES, next);
}

/// The call's number: the kernel uses only the lower half of RAX.
pub fn number(thread: &mut Thread) -> i64 {
    i64::from(thread.slots().regs[RAX] as i32)
}

/// The call's arguments.
pub fn arguments(thread: &mut Thread) -> Arguments {
    arguments_in(&thread.slots().regs)
}

/// The arguments of a call with these registers.
pub fn arguments_in(regs: &[u64; 16]) -> Arguments {
    [regs[RDI], regs[RSI], regs[RDX], regs[R10], regs[8], regs[9]]
}
