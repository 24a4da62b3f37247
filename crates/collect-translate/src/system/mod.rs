//! System calls that concern the translator.

mod aside;
mod birth;
mod death;
mod ending;
mod fork;
pub mod gate;
pub mod mapping;
mod segment;
mod spawn;

pub use aside::{Obstacle, let_others_out, may_end_here, prepare, step_aside};
pub use ending::{END, end};
pub use segment::leave_for_instruction;

use crate::{
    dispatch::go_on,
    engine::Engine,
    exit::Exit,
    memory::Errno,
    signal,
    state::number::{R10, R11, RAX, RCX, RDI, RDX, RSI},
    thread::Thread,
};

/// What is in RDI, RSI, RDX, R10, R8 and R9.
pub type Arguments = [u64; 6];

/// Bytes of the instruction.
pub const SYSCALL_BYTES: u64 = 2;

/// A system call left the cache.
pub fn call(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    let number = number(thread);
    match number {
        libc::SYS_exit => ending::exit(engine, thread, exit),
        libc::SYS_exit_group | libc::SYS_execve | libc::SYS_execveat => {
            signal::show_mask(thread);
            // If the program could not be executed, it is told of more later.
            engine.ending();
            in_place(thread, exit);
        }
        libc::SYS_fork | libc::SYS_vfork | libc::SYS_clone | libc::SYS_clone3 => {
            birth::call(engine, thread, exit, number);
        }
        libc::SYS_mmap
        | libc::SYS_munmap
        | libc::SYS_mremap
        | libc::SYS_mprotect
        | libc::SYS_pkey_mprotect
        | libc::SYS_shmat
        | libc::SYS_shmdt => mapping::prepare(engine, thread),
        libc::SYS_rt_sigaction
        | libc::SYS_rt_sigprocmask
        | libc::SYS_sigaltstack
        | libc::SYS_rt_sigreturn => signal::call(engine, thread, exit, number),
        _ if signal::waits::CALLS.contains(&number) => signal::waits::begin(thread, exit, number),
        libc::SYS_kill | libc::SYS_tkill | libc::SYS_tgkill => death::call(engine, thread, exit, number),
        libc::SYS_arch_prctl => segment::call(engine, thread, exit),
        _ if aside::CALLS.contains(&number) => aside::call(engine, thread, exit),
        _ => in_place(thread, exit),
    }
}

/// The call happens in the cache, after what had to come before it.
pub fn in_place(thread: &mut Thread, exit: Exit) {
    go_on(thread, exit.back, exit.pc);
}

/// The call has happened, and the thread goes on behind it.
pub fn finish(thread: &mut Thread, exit: Exit, result: Result<u64, Errno>) {
    let next = exit.pc + SYSCALL_BYTES;
    let slots = thread.slots();
    slots.regs[RAX] = result.unwrap_or_else(|errno| i64::from(-errno) as u64);
    slots.regs[RCX] = next;
    slots.regs[R11] = slots.flags;
    go_on(thread, exit.back + SYSCALL_BYTES, next);
}

/// The call's number: the kernel looks at the lower half of RAX.
fn number(thread: &mut Thread) -> i64 {
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
