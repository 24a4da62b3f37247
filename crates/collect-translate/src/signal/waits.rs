//! Calls that wait with another mask: the handler that ends the wait runs with that mask, which the kernel's frame
//! does not contain.

use super::context::Original;
use crate::{
    lane::{
        exit::Exit,
        registers::number::{RAX, RSP},
    },
    memory::program,
    threads::{
        calls::{SYSCALL_BYTES, Wait, arguments, arguments_in, in_place},
        thread::Thread,
    },
};

/// One of these calls is about to be made.
pub fn begin(thread: &mut Thread, exit: Exit, number: i64) {
    let arguments = arguments(thread);
    let [first, _, _, fourth, fifth, sixth] = arguments;
    let place = match number {
        libc::SYS_rt_sigsuspend => first,
        libc::SYS_ppoll => fourth,
        libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => fifth,
        // A mask's address and size.
        _ => program::read::<[u64; 2]>(sixth).map_or(0, |[place, _]| place),
    };
    let sp = thread.slots().regs[RSP];
    thread.wait =
        program::read::<u64>(place).map(|mask| Wait { mask, next: exit.pc + SYSCALL_BYTES, sp, arguments });
    in_place(thread, exit);
}

/// The mask in force where a signal has interrupted `found`, if that is a wait with its own mask.
pub fn mask(thread: &mut Thread, found: &Original) -> Option<u64> {
    const INTERRUPTED: u64 = i64::wrapping_neg(libc::EINTR as i64) as u64;
    let wait = thread.wait.take()?;
    let ended = found.rip == wait.next && found.gpr[RAX] == INTERRUPTED && found.gpr[RSP] == wait.sp;
    (ended && arguments_in(&found.gpr) == wait.arguments).then_some(wait.mask)
}
