//! What the program wants done on its signals. The kernel has our handler where the program has one of its own;
//! default and ignored actions are the kernel's alone, so that it alone knows which of the three is in force.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use carom_base_sys::lock::SpinLock;

use super::{
    MOST, bit, deliver,
    kernel::{self, Action, SET_BYTES, rt_sigaction},
};
use crate::{engine, memory::Errno};

/// The program's latest function for each signal.
static FUNCTIONS: SpinLock<[Action; MOST]> =
    SpinLock::new([Action { handler: 0, flags: 0, restorer: 0, mask: 0 }; MOST]);

/// Signals that are left alone.
static RESERVED: AtomicU64 = AtomicU64::new(0);

/// Leaves these signals to whoever calls, one bit each from bit 0 for signal 1: their actions reach the kernel as they
/// are. To be called before [`crate::start`].
pub fn reserve_signals(mask: u64) {
    RESERVED.store(mask, Relaxed);
}

/// Whether the signal is the program's to change, and ours to handle.
fn is_ours(signal: u64) -> bool {
    let fixed = bit(libc::SIGKILL as u64) | bit(libc::SIGSTOP as u64);
    bit(signal) & !(RESERVED.load(Relaxed) | fixed) != 0
}

fn is_function(action: &Action) -> bool {
    action.handler != libc::SIG_DFL as u64 && action.handler != libc::SIG_IGN as u64
}

fn entry() -> u64 {
    deliver::entry as *const () as u64
}

/// What the kernel is given for an action of the program: our handler, and the program's restorer, by which unwinders
/// recognise a signal's frame.
fn for_kernel(action: &Action) -> Action {
    if !is_function(action) {
        return *action;
    }
    let flags = action.flags & !(libc::SA_NODEFER as u64) | libc::SA_SIGINFO as u64;
    Action { handler: entry(), flags, mask: u64::MAX, ..*action }
}

/// What the program is told of an action that the kernel had while `function` was the program's latest.
fn for_program(kernel: Action, function: Action) -> Action {
    const RESET: u64 = libc::SA_RESETHAND as u64;
    if kernel.handler == entry() {
        return function;
    }
    // After one delivery the kernel has dropped the handler and nothing else.
    if kernel.handler == libc::SIG_DFL as u64 && kernel.flags & function.flags & RESET != 0 {
        return Action { handler: kernel.handler, ..function };
    }
    kernel
}

/// The program's rt_sigaction; `None` where the kernel may do it as it stands. All signals must be blocked.
pub fn change(signal: u64, new: u64, old: u64, set_bytes: u64) -> Option<Result<(), Errno>> {
    if !is_ours(signal) || set_bytes != SET_BYTES {
        return None;
    }
    let wish = match new {
        0 => None,
        place => match kernel::read::<Action>(place) {
            Some(action) => Some(action),
            None => return Some(Err(libc::EFAULT)),
        },
    };
    let before = match exchange(signal, wish.as_ref()) {
        Ok(before) => before,
        Err(errno) => return Some(Err(errno)),
    };
    Some(if old == 0 || kernel::write(old, before) { Ok(()) } else { Err(libc::EFAULT) })
}

/// Sets an action and tells the one before.
fn exchange(signal: u64, wish: Option<&Action>) -> Result<Action, Errno> {
    let mut functions = FUNCTIONS.lock();
    let Some(place) = functions.get_mut(signal as usize - 1) else { return Err(libc::EINVAL) };
    let function = *place;
    if let Some(wish) = wish.filter(|wish| is_function(wish)) {
        // Before the kernel has our handler, which waits for the lock.
        *place = *wish;
    }
    let given = wish.map(for_kernel);
    // SAFETY: our own handler, or no function.
    let before = unsafe { rt_sigaction(signal, given.as_ref()) }.inspect_err(|_| *place = function)?;
    if let Some(wish) = wish.filter(|wish| is_function(wish)) {
        *place = as_kept(signal, wish);
    }
    Ok(for_program(before, function))
}

/// The action as the kernel would tell it, which drops flags and signals that it does not know.
fn as_kept(signal: u64, wish: &Action) -> Action {
    const OURS: u64 = (libc::SA_NODEFER | libc::SA_SIGINFO) as u64;
    let fixed = bit(libc::SIGKILL as u64) | bit(libc::SIGSTOP as u64);
    // SAFETY: only asks.
    let known = unsafe { rt_sigaction(signal, None) }.map_or(u64::MAX, |kept| kept.flags | OURS);
    Action { flags: wish.flags & known, mask: wish.mask & !fixed, ..*wish }
}

/// Takes over the handlers that the program has by now. Signals must be blocked.
pub fn adopt() {
    (1..=MOST as u64).for_each(adopt_one);
}

fn adopt_one(signal: u64) {
    if !is_ours(signal) {
        return;
    }
    // SAFETY: only asks.
    let found = unsafe { rt_sigaction(signal, None) };
    if let Ok(found) = found
        && is_function(&found)
        && found.handler != entry()
    {
        // A handler that the kernel refuses stays as it was.
        let _ = exchange(signal, Some(&found));
    }
}

/// A thread that is not attached has just changed the action of `signal`, or asked for it, natively: a new function of
/// the program's is taken over. `told`: the handler that was in force before. Where that is our own, returns what the
/// program should have been told. All signals must be blocked.
pub fn changed_natively(signal: u64, told: u64) -> Option<Action> {
    let before = (told == entry()).then(|| function(signal)).flatten();
    if engine::is_started() {
        adopt_one(signal);
    }
    before
}

/// Whether the process dies of `signal` where it arrives in a thread that blocks `mask` (signal(7)).
pub fn ends_the_process(signal: u64, mask: u64) -> bool {
    const HARMLESS: [i32; 8] = [
        libc::SIGCHLD,
        libc::SIGCONT,
        libc::SIGURG,
        libc::SIGWINCH,
        libc::SIGSTOP,
        libc::SIGTSTP,
        libc::SIGTTIN,
        libc::SIGTTOU,
    ];
    if bit(signal) & mask != 0 || HARMLESS.into_iter().any(|harmless| harmless as u64 == signal) {
        return false;
    }
    // SAFETY: only asks. What is no signal the kernel refuses.
    unsafe { rt_sigaction(signal, None) }.is_ok_and(|action| action.handler == libc::SIG_DFL as u64)
}

/// The program's function for a signal that has arrived. All signals must be blocked.
pub fn function(signal: u64) -> Option<Action> {
    let functions = FUNCTIONS.lock();
    functions.get((signal as usize).checked_sub(1)?).copied().filter(is_function)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: Action = Action { handler: 0x5555_0000, flags: 0, restorer: 0x7777_0000, mask: 0b100 };

    #[test]
    fn the_kernel_has_our_handler_and_blocks_everything() {
        let nodefer = Action { flags: (libc::SA_NODEFER | libc::SA_ONSTACK) as u64, ..PROGRAM };
        let given = for_kernel(&nodefer);
        assert_eq!((given.handler, given.mask, given.restorer), (entry(), u64::MAX, PROGRAM.restorer));
        assert_eq!(given.flags, (libc::SA_SIGINFO | libc::SA_ONSTACK) as u64);
        let ignore = Action { handler: libc::SIG_IGN as u64, ..PROGRAM };
        assert_eq!(for_kernel(&ignore), ignore);
    }

    #[test]
    fn what_ends_the_process() {
        let [kill, quit, pipe] = [libc::SIGKILL, libc::SIGQUIT, libc::SIGPIPE].map(|signal| signal as u64);
        assert!(ends_the_process(kill, 0) && ends_the_process(quit, 0) && !ends_the_process(quit, bit(quit)));
        // Rust ignores SIGPIPE before `main`.
        assert!(!ends_the_process(pipe, 0) && !ends_the_process(libc::SIGURG as u64, 0));
        assert!(!ends_the_process(0, 0) && !ends_the_process(65, 0) && !ends_the_process(u64::MAX, 0));
    }

    #[test]
    fn only_our_own_handler_is_replaced_by_the_programs() {
        assert_eq!(changed_natively(libc::SIGUSR2 as u64, PROGRAM.handler), None);
        let signal = libc::SIGUSR2 as usize;
        FUNCTIONS.lock()[signal - 1] = PROGRAM;
        assert_eq!(changed_natively(signal as u64, entry()), Some(PROGRAM));
        FUNCTIONS.lock()[signal - 1] = Action::default();
        assert_eq!(changed_natively(signal as u64, entry()), None);
    }

    #[test]
    fn the_program_sees_its_own_actions() {
        assert_eq!(for_program(for_kernel(&PROGRAM), PROGRAM), PROGRAM);
        let default = Action::default();
        assert_eq!(for_program(default, PROGRAM), default);
        let once = Action { flags: libc::SA_RESETHAND as u64, ..PROGRAM };
        let delivered = Action { handler: libc::SIG_DFL as u64, ..for_kernel(&once) };
        assert_eq!(for_program(delivered, once), Action { handler: libc::SIG_DFL as u64, ..once });
    }
}
