//! Calls that wait with another mask: the handler that ends the wait runs with that mask, which the kernel's frame does
//! not tell.

use super::{context::Original, kernel};
use crate::{
    exit::Exit,
    state::number::{RAX, RSP},
    system::{SYSCALL_BYTES, arguments, arguments_in, in_place},
    thread::Thread,
};

/// A call that puts another mask into force while it waits.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    mask: u64,
    /// Where the program goes on, with which stack and arguments.
    next: u64,
    sp: u64,
    arguments: [u64; 6],
}

/// Linux, arch/x86/entry/syscalls/syscall_64.tbl.
const IO_PGETEVENTS: i64 = 333;

/// These calls.
pub const CALLS: [i64; 6] = [
    libc::SYS_rt_sigsuspend,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    IO_PGETEVENTS,
];

/// One of them is about to be made.
pub fn begin(thread: &mut Thread, exit: Exit, number: i64) {
    let arguments = arguments(thread);
    let [first, _, _, fourth, fifth, sixth] = arguments;
    let place = match number {
        libc::SYS_rt_sigsuspend => first,
        libc::SYS_ppoll => fourth,
        libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => fifth,
        // A mask's address and size.
        _ => kernel::read::<[u64; 2]>(sixth).map_or(0, |[place, _]| place),
    };
    let sp = thread.slots().regs[RSP];
    thread.wait =
        kernel::read::<u64>(place).map(|mask| Wait { mask, next: exit.pc + SYSCALL_BYTES, sp, arguments });
    in_place(thread, exit);
}

/// The mask in force where a signal has interrupted `found`, if that is a wait with a mask of its own.
pub fn mask(thread: &mut Thread, found: &Original) -> Option<u64> {
    const INTERRUPTED: u64 = i64::wrapping_neg(libc::EINTR as i64) as u64;
    let wait = thread.wait.take()?;
    let ended = found.rip == wait.next && found.gpr[RAX] == INTERRUPTED && found.gpr[RSP] == wait.sp;
    (ended && arguments_in(&found.gpr) == wait.arguments).then_some(wait.mask)
}
