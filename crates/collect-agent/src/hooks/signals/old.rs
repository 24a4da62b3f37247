//! The older functions for actions and masks, implemented by the newer ones as in the C library.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use carom_base_sys::signal;

use super::{
    super::next::next, bit_of, change_action, fails, library_set, masks::change_process_mask,
    way::choosing_hook,
};

type Handler = libc::sighandler_t;

next!(SIGNAL, c"signal", __real_signal);
next!(BSD_SIGNAL, c"bsd_signal", __real_bsd_signal);
next!(SSIGNAL, c"ssignal", __real_ssignal);
next!(SYSV_SIGNAL, c"sysv_signal", __real_sysv_signal);
next!(XOPEN_SIGNAL, c"__sysv_signal", __real___sysv_signal);
next!(SIGSET, c"sigset", __real_sigset);
next!(SIGIGNORE, c"sigignore", __real_sigignore);
next!(SIGINTERRUPT, c"siginterrupt", __real_siginterrupt);
next!(SIGHOLD, c"sighold", __real_sighold);
next!(SIGRELSE, c"sigrelse", __real_sigrelse);
next!(SIGBLOCK, c"sigblock", __real_sigblock);
next!(SIGSETMASK, c"sigsetmask", __real_sigsetmask);
#[cfg(not(feature = "static-link"))]
next!(SIGGETMASK, c"siggetmask", __real_siggetmask);

choosing_hook!(signal, "__wrap_signal", choose_signal, restarting, SIGNAL);
choosing_hook!(bsd_signal, "__wrap_bsd_signal", choose_bsd_signal, restarting, BSD_SIGNAL);
choosing_hook!(ssignal, "__wrap_ssignal", choose_ssignal, restarting, SSIGNAL);
choosing_hook!(sysv_signal, "__wrap_sysv_signal", choose_sysv_signal, once, SYSV_SIGNAL);
choosing_hook!(__sysv_signal, "__wrap___sysv_signal", choose_xopen_signal, once, XOPEN_SIGNAL);
choosing_hook!(sigset, "__wrap_sigset", choose_sigset, set, SIGSET);
choosing_hook!(sigignore, "__wrap_sigignore", choose_sigignore, ignore, SIGIGNORE);
choosing_hook!(siginterrupt, "__wrap_siginterrupt", choose_siginterrupt, interrupt, SIGINTERRUPT);
choosing_hook!(sighold, "__wrap_sighold", choose_sighold, hold, SIGHOLD);
choosing_hook!(sigrelse, "__wrap_sigrelse", choose_sigrelse, release, SIGRELSE);
choosing_hook!(sigblock, "__wrap_sigblock", choose_sigblock, block, SIGBLOCK);
choosing_hook!(sigsetmask, "__wrap_sigsetmask", choose_sigsetmask, set_mask, SIGSETMASK);
// A linker complains of programs that name this one.
#[cfg(not(feature = "static-link"))]
choosing_hook!(siggetmask, "__wrap_siggetmask", choose_siggetmask, get_mask, SIGGETMASK);

/// Signals that interrupt system calls although [`signal`] has set them.
static INTERRUPTING: AtomicU64 = AtomicU64::new(0);

/// Sets a handler, with this mask and these flags. Returns the handler before, or -1.
fn handle(number: libc::c_int, handler: Handler, mask: signal::Mask, flags: libc::c_int) -> Handler {
    if handler == libc::SIG_ERR {
        return fails(libc::EINVAL) as Handler;
    }
    // SAFETY: plain data.
    let [mut new, mut old]: [libc::sigaction; 2] = unsafe { std::mem::zeroed() };
    (new.sa_sigaction, new.sa_mask, new.sa_flags) = (handler, library_set(mask), flags);
    // SAFETY: valid places.
    let result = unsafe { change_action(number, &raw const new, &raw mut old) };
    if result < 0 { libc::SIG_ERR } else { old.sa_sigaction }
}

/// As BSD's signal.
extern "C" fn restarting(number: libc::c_int, handler: Handler) -> Handler {
    let own = bit_of(number);
    let flags = if INTERRUPTING.load(Relaxed) & own != 0 { 0 } else { libc::SA_RESTART };
    handle(number, handler, own, flags)
}

/// As System V's signal.
extern "C" fn once(number: libc::c_int, handler: Handler) -> Handler {
    handle(number, handler, 0, libc::SA_RESETHAND | libc::SA_NODEFER)
}

/// # Safety
/// As siginterrupt(3).
extern "C" fn interrupt(number: libc::c_int, interrupts: libc::c_int) -> libc::c_int {
    // SAFETY: plain data.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a valid place.
    if unsafe { change_action(number, std::ptr::null(), &raw mut action) } < 0 {
        return -1;
    }
    if interrupts != 0 {
        INTERRUPTING.fetch_or(bit_of(number), Relaxed);
        action.sa_flags &= !libc::SA_RESTART;
    } else {
        INTERRUPTING.fetch_and(!bit_of(number), Relaxed);
        action.sa_flags |= libc::SA_RESTART;
    }
    // SAFETY: as above.
    unsafe { change_action(number, &raw const action, std::ptr::null_mut()) }
}

extern "C" fn ignore(number: libc::c_int) -> libc::c_int {
    if handle(number, libc::SIG_IGN, 0, 0) == libc::SIG_ERR { -1 } else { 0 }
}

/// `SIG_HOLD` of `signal.h`: blocked.
const HOLD: Handler = 2;

extern "C" fn set(number: libc::c_int, handler: Handler) -> Handler {
    let own = bit_of(number);
    if own == 0 {
        return fails(libc::EINVAL) as Handler;
    }
    if handler == HOLD {
        if change_mask(libc::SIG_BLOCK, own) & own != 0 {
            return HOLD;
        }
        // SAFETY: plain data.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: a valid place.
        let result = unsafe { change_action(number, std::ptr::null(), &raw mut action) };
        return if result < 0 { libc::SIG_ERR } else { action.sa_sigaction };
    }
    let before = handle(number, handler, 0, 0);
    if before == libc::SIG_ERR || change_mask(libc::SIG_UNBLOCK, own) & own == 0 { before } else { HOLD }
}

/// Changes the mask, and returns the mask before.
fn change_mask(how: libc::c_int, mask: signal::Mask) -> signal::Mask {
    let new = library_set(mask);
    let mut old = library_set(0);
    // SAFETY: valid places.
    unsafe { change_process_mask(how, &raw const new, &raw mut old) };
    super::kernel_mask(&old)
}

fn change_one(how: libc::c_int, number: libc::c_int) -> libc::c_int {
    match bit_of(number) {
        0 => fails(libc::EINVAL),
        own => {
            change_mask(how, own);
            0
        }
    }
}

extern "C" fn hold(number: libc::c_int) -> libc::c_int {
    change_one(libc::SIG_BLOCK, number)
}

extern "C" fn release(number: libc::c_int) -> libc::c_int {
    change_one(libc::SIG_UNBLOCK, number)
}

extern "C" fn block(mask: libc::c_int) -> libc::c_int {
    change_mask(libc::SIG_BLOCK, u64::from(mask as u32)) as libc::c_int
}

extern "C" fn set_mask(mask: libc::c_int) -> libc::c_int {
    change_mask(libc::SIG_SETMASK, u64::from(mask as u32)) as libc::c_int
}

#[cfg(not(feature = "static-link"))]
extern "C" fn get_mask() -> libc::c_int {
    change_mask(libc::SIG_BLOCK, 0) as libc::c_int
}
