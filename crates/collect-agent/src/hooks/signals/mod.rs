//! The kernel's action for SIGTRAP is ours; the program sees its own. The agent starts the program's handlers of other
//! signals, on the stack on which the kernel would have started them.

mod masks;
mod old;
mod way;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use carom_base_sys::{SysError, process, signal};
use carom_collect_translate as translate;
use carom_collect_translate::SignalAction;

use super::next::next;
pub(super) use way::{Way, choosing_hook, way};

next!(SIGACTION, c"sigaction", __real_sigaction,
    fn next_sigaction(
        signal: libc::c_int,
        new: *const libc::sigaction,
        old: *mut libc::sigaction
    ) -> libc::c_int);

choosing_hook!(sigaction, "__wrap_sigaction", choose_sigaction, change_action, SIGACTION);

/// The C library's sigaction, for ourselves.
///
/// # Errors
/// As sigaction(2).
pub fn real_sigaction(
    signal: libc::c_int,
    new: Option<&libc::sigaction>,
) -> Result<libc::sigaction, SysError> {
    // SAFETY: all zeroes is a valid place for the answer.
    let mut old: libc::sigaction = unsafe { std::mem::zeroed() };
    let new = new.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: valid pointers or null.
    if unsafe { next_sigaction(signal, new, &raw mut old) } < 0 {
        return Err(SysError::last("sigaction"));
    }
    Ok(old)
}

fn kernel_mask(set: &libc::sigset_t) -> signal::Mask {
    // SAFETY: a `sigset_t` begins with the kernel's 8 bytes.
    unsafe { std::ptr::from_ref(set).cast::<signal::Mask>().read() }
}

/// A kernel mask as the C library has it.
pub fn library_set(mask: signal::Mask) -> libc::sigset_t {
    // SAFETY: all zeroes is a valid `sigset_t`.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: a `sigset_t` begins with the kernel's 8 bytes.
    unsafe { (&raw mut set).cast::<signal::Mask>().write(mask) };
    set
}

const TRAP: signal::Mask = signal::bit(libc::SIGTRAP);

/// The process whose signals are virtualised; 0 before that. A `vfork` child has actions of its own, and its parent's
/// memory.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Where the C library has handlers return to.
static RESTORER: AtomicU64 = AtomicU64::new(0);

/// Our handler of SIGTRAP.
static TRAP_HANDLER: AtomicU64 = AtomicU64::new(0);

/// Begins to virtualise the signals of this process. SIGTRAP has our handler, and had this action before.
pub fn keep(before: &libc::sigaction) {
    PROCESS.store(process::process_id(), Relaxed);
    translate::reserve_signals(TRAP);
    translate::find_own_signals(|| crate::registry::current().map(crate::thread::Thread::signals));
    if let Ok(ours) = translate::kernel_action(libc::SIGTRAP as u64) {
        RESTORER.store(ours.restorer, Relaxed);
        TRAP_HANDLER.store(ours.handler, Relaxed);
    }
    translate::set_program_action(libc::SIGTRAP as u64, &from_library(before));
    translate::adopt_actions();
}

/// Ends that, in this process and its children.
pub fn stop_keeping() {
    PROCESS.store(0, Relaxed);
}

/// In a forked child: goes on with it.
pub fn keep_in_child() {
    if PROCESS.load(Relaxed) != 0 {
        PROCESS.store(process::process_id(), Relaxed);
    }
}

/// Whether the signals of the calling process are virtualised.
pub fn is_kept() -> bool {
    let process = PROCESS.load(Relaxed);
    process != 0 && process == process::process_id()
}

/// Of a process whose signals are not virtualised: whether it is a child of one whose signals are, by `vfork` or `clone`, so that
/// nothing of ours has begun it. It has our handlers, and sets its own with the kernel.
pub fn has_inherited() -> bool {
    PROCESS.load(Relaxed) != 0
}

fn from_library(action: &libc::sigaction) -> SignalAction {
    /// `SA_RESTORER` (Linux, arch/x86/include/uapi/asm/signal.h).
    const RESTORER_FLAG: u64 = 0x0400_0000;
    SignalAction {
        handler: action.sa_sigaction as u64,
        flags: u64::from(action.sa_flags as u32) | RESTORER_FLAG,
        restorer: RESTORER.load(Relaxed),
        mask: kernel_mask(&action.sa_mask),
    }
}

/// The bit of a signal that programs may use; 0 where it is none.
fn bit_of(number: libc::c_int) -> signal::Mask {
    /// The C library's own.
    const INTERNAL: [libc::c_int; 2] = [32, 33];
    let known = (1..=signal::Mask::BITS as libc::c_int).contains(&number) && !INTERNAL.contains(&number);
    if known { signal::bit(number) } else { 0 }
}

/// Sets errno. Returns -1.
pub fn fails(errno: libc::c_int) -> libc::c_int {
    signal::set_errno(errno);
    -1
}

/// # Safety
/// As sigaction(2).
unsafe extern "C" fn change_action(
    number: libc::c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> libc::c_int {
    if !is_kept() {
        // SAFETY: the caller's arguments.
        let result = unsafe { next_sigaction(number, new, old) };
        // SAFETY: the caller's pointer is valid or null.
        if let Some(old) = unsafe { old.as_mut() }.filter(|_| result == 0 && has_inherited()) {
            show(old, inherited(number, from_library(old)));
        }
        return result;
    }
    if bit_of(number) == 0 {
        return fails(libc::EINVAL);
    }
    // SAFETY: the caller's pointer is valid or null.
    let wish = unsafe { new.as_ref() }.map(from_library);
    let before = match translate::change_action(number as u64, wish.as_ref()) {
        Ok(before) => before,
        Err(errno) => return fails(errno),
    };
    // SAFETY: the caller's pointer is valid or null.
    if let Some(old) = unsafe { old.as_mut() } {
        show(old, before);
    }
    0
}

fn show(old: &mut libc::sigaction, action: SignalAction) {
    old.sa_sigaction = action.handler as libc::sighandler_t;
    old.sa_flags = action.flags as libc::c_int;
    old.sa_mask = library_set(action.mask);
}

/// What the program sees for an action that the kernel has, in a child that [`has_inherited`] it.
fn inherited(number: libc::c_int, kernel: SignalAction) -> SignalAction {
    if number == libc::SIGTRAP && kernel.handler == TRAP_HANDLER.load(Relaxed) {
        return translate::program_action(number as u64);
    }
    translate::inherited_action(number as u64, kernel)
}
