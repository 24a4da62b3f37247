//! The signals of the `carom` process, while it waits for the program.

use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::Relaxed};

use crate::calls::signal;

/// Signals that are ignored while a program runs, and their dispositions before.
static IGNORED: [(i32, AtomicUsize); 3] = [
    (libc::SIGINT, AtomicUsize::new(UNTOUCHED)),
    (libc::SIGQUIT, AtomicUsize::new(UNTOUCHED)),
    (libc::SIGXFSZ, AtomicUsize::new(UNTOUCHED)),
];

/// None: dispositions are addresses or small numbers.
const UNTOUCHED: usize = usize::MAX;

fn ignore(signals: &[i32]) {
    for (signal, before) in IGNORED.iter().filter(|(signal, _)| signals.contains(signal)) {
        // SAFETY: SIG_IGN is a valid disposition.
        before.store(unsafe { libc::signal(*signal, libc::SIG_IGN) }, Relaxed);
    }
}

/// Ignores SIGINT and SIGQUIT: the terminal sends them to the program as well, which is in the same process group.
pub fn ignore_terminal_signals() {
    ignore(&[libc::SIGINT, libc::SIGQUIT]);
}

/// Has a write beyond RLIMIT_FSIZE fail instead of ending this process.
pub fn ignore_file_size_signal() {
    ignore(&[libc::SIGXFSZ]);
}

/// Undoes all of this: a program that is started inherits what is ignored.
pub fn restore() {
    for (signal, before) in &IGNORED {
        let disposition = before.swap(UNTOUCHED, Relaxed);
        if disposition != UNTOUCHED {
            // SAFETY: what the kernel had.
            unsafe { libc::signal(*signal, disposition) };
        }
    }
}

static FORWARD_TO: AtomicI32 = AtomicI32::new(0);

/// Passes SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 on to `process` from now on.
pub fn forward_to(process: i32) {
    FORWARD_TO.store(process, Relaxed);
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2] {
        // SAFETY: the handler is async-signal-safe.
        unsafe { libc::signal(signal, forward as *const () as libc::sighandler_t) };
    }
}

extern "C" fn forward(number: libc::c_int) {
    let before = signal::errno();
    // SAFETY: integers; at worst the process is gone.
    unsafe { libc::kill(FORWARD_TO.load(Relaxed), number) };
    signal::set_errno(before);
}

/// Ends this process as the signal `number` ended another: the shell sees the same. Leaves no core file of ours. Returns only
/// where the signal does not kill.
pub fn die_of(number: i32) {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid limit.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
    // SAFETY: SIG_DFL is a valid disposition.
    unsafe { libc::signal(number, libc::SIG_DFL) };
    signal::set_mask(libc::SIG_UNBLOCK, signal::bit(number));
    signal::raise(number);
}
