//! sigaltstack: the program's stack is remembered, and the kernel keeps the embedder's.

use super::{
    kernel::{self, undisturbed},
    own::{OwnSignals, Stack, own},
};
use crate::{
    lane::{exit::Exit, registers::number::RSP},
    memory::{Errno, program},
    threads::{
        calls::{arguments, finish, in_place},
        thread::Thread,
    },
};

/// Makes the call.
pub fn call(thread: &mut Thread, exit: Exit) {
    let [new, old, ..] = arguments(thread);
    let sp = thread.slots().regs[RSP];
    match own() {
        Some(own) => finish(thread, exit, change(own, new, old, sp).map(|()| 0)),
        None => in_place(thread, exit),
    }
}

/// As sigaltstack(2), in a thread that runs natively, with the stack pointer `sp`. `None`: the kernel may handle it
/// unchanged.
pub fn change_natively(new: u64, old: u64, sp: u64) -> Option<Result<(), Errno>> {
    own().map(|own| {
        undisturbed(|| {
            heal(own);
            change(own, new, old, sp)
        })
    })
}

/// For a stack that disarms: a frame that was left natively has given it to the kernel. It is remembered again.
fn heal(own: &OwnSignals) {
    const DISARMS: u32 = 1 << 31;
    let kept = kernel::alternate_stack();
    if kept.low != own.ours().low {
        own.set_stack(Stack { flags: kept.flags & (DISARMS | libc::SS_DISABLE as u32), ..kept });
        // Where the thread runs on the program's stack, that stays.
        // SAFETY: memory that was given for this.
        let _ = unsafe { kernel::sigaltstack(&own.ours()) };
    }
}

fn change(own: &OwnSignals, new: u64, old: u64, sp: u64) -> Result<(), Errno> {
    let wish = if new == 0 { None } else { Some(program::read::<Stack>(new).ok_or(libc::EFAULT)?) };
    let before = own.stack();
    if let Some(wish) = wish {
        set(own, wish, sp)?;
    }
    if old == 0 || program::write(old, before.as_told(sp)) { Ok(()) } else { Err(libc::EFAULT) }
}

/// Notes a stack that the kernel would have accepted, in a thread with this stack pointer. All signals must be
/// blocked.
pub fn set(own: &OwnSignals, wish: Stack, sp: u64) -> Result<(), Errno> {
    if own.stack().is_in_use(sp) {
        return Err(libc::EPERM);
    }
    // SAFETY: no handler runs before the embedder's stack is set again.
    let taken = unsafe { kernel::sigaltstack(&wish) };
    // SAFETY: memory that was given for this.
    let _ = unsafe { kernel::sigaltstack(&own.ours()) };
    taken?;
    let disabled = wish.flags & libc::SS_DISABLE as u32 != 0;
    own.set_stack(if disabled { Stack { flags: wish.flags, ..Stack::NONE } } else { wish });
    Ok(())
}

/// A frame is left that says which stack is in force from then on (Linux, kernel/signal.c, `restore_altstack`).
/// Returns the stack that the kernel must get. `sp`: the stack pointer after the frame.
pub fn restore(own: &OwnSignals, wish: Stack, sp: u64) -> Stack {
    // The frame of a thread that ran natively has the kernel's own.
    if wish.low != own.ours().low && !own.stack().is_in_use(sp) {
        own.set_stack(wish);
    }
    own.ours()
}

/// The alternate stack in force for a signal whose frame has the kernel's `kept`: the program's, as its frame should
/// have it.
pub fn in_force(kept: Stack) -> Stack {
    match own() {
        Some(own) if kept.low == own.ours().low => own.stack(),
        _ => kept,
    }
}

/// A handler of a signal begins with this stack in force.
pub fn disarm(stack: &Stack) {
    if let Some(own) = own().filter(|_| stack.disarms()) {
        own.set_stack(Stack::NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Stack = Stack::new(0x9000, 0x1000);

    #[test]
    fn a_frame_brings_its_stack_back() {
        let own = OwnSignals::new(OURS.low, OURS.bytes);
        let stack = Stack::new(0x1000, 4096);
        assert_eq!((restore(&own, stack, 0x7000), own.stack()), (OURS, stack));
        // Not while it runs there, nor from the frame of a handler that ran natively.
        assert_eq!((restore(&own, Stack::NONE, 0x1800), own.stack()), (OURS, stack));
        assert_eq!((restore(&own, OURS, 0x7000), own.stack()), (OURS, stack));
    }
}
