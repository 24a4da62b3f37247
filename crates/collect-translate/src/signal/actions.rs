//! The program's signal actions. Where the program has a handler, the kernel has the engine's. Default and ignored
//! actions are in the kernel only, so that only the kernel knows which of the three is in force.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use carom_base_sys::lock::{Lock, Rank};

use super::{
    deliver,
    kernel::{Action, SET_BYTES, rt_sigaction, undisturbed},
    set::{FIXED, MOST, bit},
    wishes,
};
use crate::memory::{Errno, program};

/// Held while an action is changed, so that the kernel and [`wishes`] see changes in the same order. Handlers do not
/// need it.
static CHANGE: Lock<()> = Lock::new(Rank::Actions, ());

/// Signals that the embedder handles.
static RESERVED: AtomicU64 = AtomicU64::new(0);

/// Reserves these signals for the caller, one bit each, from bit 0 for signal 1. The program's actions for them are
/// remembered ([`program_action`]) and do not reach the kernel; neither does the program's blocking of them
/// ([`super::OwnSignals`]). Must be called before [`crate::start`].
pub fn reserve_signals(mask: u64) {
    RESERVED.store(mask, Relaxed);
}

/// The reserved signals.
pub fn reserved() -> u64 {
    RESERVED.load(Relaxed)
}

/// In the child of a fork: another thread may have been changing an action.
pub fn after_fork() {
    CHANGE.open();
}

/// Whether the program may change this signal's action.
fn is_ours(signal: u64) -> bool {
    bit(signal) & !FIXED != 0
}

/// The program's action for a reserved signal.
pub fn program_action(signal: u64) -> Action {
    wishes::get(signal).unwrap_or_default()
}

/// Sets the program's action for a reserved signal. Must not be called in handlers.
pub fn set_program_action(signal: u64, action: &Action) {
    undisturbed(|| {
        let _turn = CHANGE.lock();
        wishes::set(signal, action);
    });
}

fn is_function(action: &Action) -> bool {
    action.handler != libc::SIG_DFL as u64 && action.handler != libc::SIG_IGN as u64
}

fn entry() -> u64 {
    deliver::entry as *const () as u64
}

/// The action that the kernel gets for an action of the program: the engine's handler, with the program's restorer,
/// by which unwinders recognise a signal's frame.
fn for_kernel(action: &Action) -> Action {
    if !is_function(action) {
        return *action;
    }
    // The frame is moved to where the program wants it.
    const WANTED: u64 = (libc::SA_SIGINFO | libc::SA_ONSTACK) as u64;
    let flags = action.flags & !(libc::SA_NODEFER as u64) | WANTED;
    Action { handler: entry(), flags, mask: u64::MAX, ..*action }
}

/// The action that the program sees for one that the kernel has in this process: a child that is not followed, and has inherited
/// the engine's handlers.
pub fn inherited(signal: u64, kernel: Action) -> Action {
    wishes::get(signal).map_or(kernel, |function| for_program(kernel, function))
}

/// The action that the program sees for an action of the kernel's while `function` was the program's latest.
fn for_program(kernel: Action, function: Action) -> Action {
    const RESET: u64 = libc::SA_RESETHAND as u64;
    if kernel.handler == entry() {
        return function;
    }
    // After a single delivery (SA_RESETHAND) the kernel has dropped the handler and nothing else.
    if kernel.handler == libc::SIG_DFL as u64 && kernel.flags & function.flags & RESET != 0 {
        return Action { handler: kernel.handler, ..function };
    }
    kernel
}

/// The program's rt_sigaction; `None` where the kernel may handle it unchanged. All signals must be blocked.
pub fn change(signal: u64, new: u64, old: u64, set_bytes: u64) -> Option<Result<(), Errno>> {
    if !is_ours(signal) || set_bytes != SET_BYTES {
        return None;
    }
    let wish = match new {
        0 => None,
        place => match program::read::<Action>(place) {
            Some(action) => Some(action),
            None => return Some(Err(libc::EFAULT)),
        },
    };
    let before = match exchange(signal, wish.as_ref()) {
        Ok(before) => before,
        Err(errno) => return Some(Err(errno)),
    };
    Some(if old == 0 || program::write(old, before) { Ok(()) } else { Err(libc::EFAULT) })
}

/// As rt_sigaction(2), for a thread that runs natively.
///
/// # Errors
/// The kernel's error number.
pub fn change_natively(signal: u64, wish: Option<&Action>) -> Result<Action, Errno> {
    if !is_ours(signal) {
        // SAFETY: the kernel refuses it, or only returns the action.
        return unsafe { rt_sigaction(signal, wish) };
    }
    undisturbed(|| exchange(signal, wish))
}

/// Sets an action and returns the one before.
fn exchange(signal: u64, given: Option<&Action>) -> Result<Action, Errno> {
    let _turn = CHANGE.lock();
    let function = wishes::get(signal).ok_or(libc::EINVAL)?;
    if bit(signal) & reserved() != 0 {
        if let Some(wish) = given {
            wishes::set(
                signal,
                &Action { flags: wish.flags & KNOWN_FLAGS, mask: wish.mask & !FIXED, ..*wish },
            );
        }
        return Ok(function);
    }
    let wish = given.filter(|wish| is_function(wish));
    if let Some(wish) = wish {
        // Before the kernel has the engine's handler, which reads it.
        wishes::set(signal, wish);
    }
    let given = given.map(for_kernel);
    // SAFETY: our own handler, or no function.
    let before = unsafe { rt_sigaction(signal, given.as_ref()) };
    let before = before.inspect_err(|_| wishes::set(signal, &function))?;
    if let Some(wish) = wish {
        wishes::set(signal, &as_kept(signal, wish));
    }
    Ok(for_program(before, function))
}

/// The `SA_*` flags that a kernel knows (Linux, include/uapi/asm-generic/signal-defs.h and
/// arch/x86/include/uapi/asm/signal.h).
const KNOWN_FLAGS: u64 = 0xdc00_0807;

/// The action as the kernel would return it, without flags and signals that it does not know.
fn as_kept(signal: u64, wish: &Action) -> Action {
    const OURS: u64 = (libc::SA_NODEFER | libc::SA_SIGINFO | libc::SA_ONSTACK) as u64;
    // SAFETY: only asks.
    let known = unsafe { rt_sigaction(signal, None) }.map_or(u64::MAX, |kept| kept.flags | OURS);
    Action { flags: wish.flags & known, mask: wish.mask & !FIXED, ..*wish }
}

/// Takes over the handlers that the program has already set. Must not be called in handlers.
pub fn adopt() {
    undisturbed(|| (1..=MOST as u64).for_each(adopt_one));
}

/// Gives the program's own handlers back to the kernel, for a process that continues natively. Signals must be
/// blocked.
pub fn give_back() {
    // The calls that remain are those about signals.
    program::restrict_calls();
    let _turn = CHANGE.lock();
    for signal in (1..=MOST as u64).filter(|&signal| is_ours(signal)) {
        let has_ours = kernel_action(signal).is_ok_and(|action| action.handler == entry());
        if let Some(action) = has_ours.then(|| function(signal)).flatten() {
            // A handler that the kernel refuses stays the engine's, which runs the program's natively.
            // SAFETY: a handler of the program's.
            let _ = unsafe { rt_sigaction(signal, Some(&action)) };
        }
    }
}

/// Gives the reserved signals back to the program, and drops pending ones. Signals must be blocked.
pub fn give_back_reserved() {
    let ignored = Action { handler: libc::SIG_IGN as u64, ..Action::default() };
    let _turn = CHANGE.lock();
    for signal in (1..=MOST as u64).filter(|&signal| bit(signal) & reserved() != 0) {
        for action in [ignored, program_action(signal)] {
            // Where the action cannot be set, the embedder's handler does what the program's would.
            // SAFETY: what the program has asked for.
            let _ = unsafe { rt_sigaction(signal, Some(&action)) };
        }
    }
}

fn adopt_one(signal: u64) {
    if !is_ours(signal) || bit(signal) & reserved() != 0 {
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

/// The kernel's action for a signal.
///
/// # Errors
/// The kernel's error number.
pub fn kernel_action(signal: u64) -> Result<Action, Errno> {
    // SAFETY: only asks.
    unsafe { rt_sigaction(signal, None) }
}

/// Whether `signal` ends the process when it arrives in a thread that blocks `mask` (signal(7)).
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
    let action =
        if bit(signal) & reserved() != 0 { wishes::get(signal).ok_or(0) } else { kernel_action(signal) };
    // The kernel refuses invalid signals.
    action.is_ok_and(|action| action.handler == libc::SIG_DFL as u64)
}

/// The program's handler for a signal that has arrived.
pub fn function(signal: u64) -> Option<Action> {
    wishes::get(signal).filter(is_function)
}

/// The program's handler for a signal that has not arrived; `None` where it has none now.
pub fn handled(signal: u64) -> Option<Action> {
    let ours = kernel_action(signal).is_ok_and(|action| action.handler == entry());
    function(signal).filter(|_| ours)
}

/// A signal for which the program has set `action` is about to be handled, only this once if the program wants that.
/// This does what the kernel does itself when it delivers a signal, for one that it did not deliver or that it
/// delivered as another.
pub fn used(signal: u64, action: &Action) {
    if action.flags & libc::SA_RESETHAND as u64 == 0 {
        return;
    }
    if bit(signal) & reserved() != 0 {
        wishes::set(signal, &Action { handler: libc::SIG_DFL as u64, ..*action });
    } else {
        // SAFETY: no function.
        let _ = unsafe {
            rt_sigaction(signal, Some(&Action { handler: libc::SIG_DFL as u64, ..for_kernel(action) }))
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: Action = Action { handler: 0x5555_0000, flags: 0, restorer: 0x7777_0000, mask: 0b100 };

    #[test]
    fn the_kernel_has_our_handler_and_blocks_everything() {
        let nodefer = Action { flags: libc::SA_NODEFER as u64, ..PROGRAM };
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
    fn the_program_sees_its_own_actions() {
        assert_eq!(for_program(for_kernel(&PROGRAM), PROGRAM), PROGRAM);
        let default = Action::default();
        assert_eq!(for_program(default, PROGRAM), default);
        let once = Action { flags: libc::SA_RESETHAND as u64, ..PROGRAM };
        let delivered = Action { handler: libc::SIG_DFL as u64, ..for_kernel(&once) };
        assert_eq!(for_program(delivered, once), Action { handler: libc::SIG_DFL as u64, ..once });
    }
}
