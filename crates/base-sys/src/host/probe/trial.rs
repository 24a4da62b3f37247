//! Trials in a forked child, where being killed is an answer and not an accident.
//!
//! The child blocks SIGTRAP, sets something in motion and looks whether the signal is pending. That proves
//! delivery itself, which opening an event does not, and tells kernels that hold a trap back from those that kill.
//! Between fork and exit the child makes system calls only: the parent may have other threads.

use std::hint;

use super::cache;
use crate::{
    SysError,
    calls::{
        clock,
        door::{Call, call},
        perf::{Delivery, Event, Watch},
        signal::{self, Mask},
        timer::CpuTimer,
    },
};

/// Ways of interrupting a thread, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeliveryKind {
    /// perf events with `sigtrap`.
    Sigtrap,
    /// perf events with `F_SETSIG`.
    Setsig,
    /// POSIX timers on thread CPU time.
    PosixTimer,
}

impl DeliveryKind {
    /// All, best first.
    pub const ALL: [Self; 3] = [Self::Sigtrap, Self::Setsig, Self::PosixTimer];

    /// Its name in profiles and options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sigtrap => "sigtrap",
            Self::Setsig => "setsig",
            Self::PosixTimer => "posix-timer",
        }
    }
}

/// Something to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// Call perf_event_open with nothing to open; a filter may kill for it.
    Reach,
    /// Be interrupted by a timer.
    Timer(DeliveryKind),
    /// Touch a watched byte; the answer comes by `sigtrap` or by `F_SETSIG`.
    Watchpoint(DeliveryKind),
    /// Read own memory with process_vm_readv.
    OwnMemory,
    /// Trace a child.
    Ptrace,
    /// Reserve the address space of a code cache.
    AddressSpace,
    /// Make a file in memory as large as an arena of code.
    MemoryFile,
    /// Map such a file executable, and writable elsewhere.
    ExecutableMemory,
}

/// What became of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It worked: the signal came, the bytes were read, the child was traced.
    Worked,
    /// It was set up without an error, and nothing came of it.
    Silent,
    /// The kernel refused with this error number.
    Refused(i32),
    /// The child died by this signal.
    Killed(i32),
}

/// Exit code of a child whose trial stayed [`Outcome::Silent`]; error numbers are smaller.
const SILENT: i32 = 255;
/// Between two interrupts: short, so that a trial is over soon, with a POSIX timer in one tick.
const PERIOD_NS: u64 = 100_000;
/// CPU time after which a timer counts as silent: ten ticks at the lowest common CONFIG_HZ, 100.
const PATIENCE_NS: u64 = 100_000_000;

/// Pauses between two looks for a signal, some 20 us.
const PAUSES: u32 = 1000;

/// Carries out a trial in a child.
///
/// # Errors
/// As fork(2) and waitpid(2): then nothing is known.
pub fn attempt(trial: Trial) -> Result<Outcome, SysError> {
    // SAFETY: the child makes system calls only and leaves by _exit.
    let child = unsafe { libc::fork() };
    match child {
        ..0 => Err(SysError::last("fork")),
        0 => leave(in_child(trial)),
        _ if trial == Trial::Ptrace => {
            let seized = seize(child);
            // SAFETY: integer arguments; the child is ours and not yet waited for.
            unsafe { libc::kill(child, libc::SIGKILL) };
            wait(child)?;
            Ok(seized.map_or_else(|error| Outcome::Refused(error.errno), |()| Outcome::Worked))
        }
        _ => {
            let status = wait(child)?;
            Ok(match (libc::WIFSIGNALED(status), libc::WEXITSTATUS(status)) {
                (true, _) => Outcome::Killed(libc::WTERMSIG(status)),
                (false, 0) => Outcome::Worked,
                (false, SILENT) => Outcome::Silent,
                (false, errno) => Outcome::Refused(errno),
            })
        }
    }
}

fn leave(result: Result<bool, SysError>) -> ! {
    let code = match result {
        Ok(true) => 0,
        Ok(false) => SILENT,
        Err(error) => error.errno,
    };
    // SAFETY: runs no exit handlers of the parent's.
    unsafe { libc::_exit(code) }
}

/// `Ok(true)`: worked, `Ok(false)`: silent.
fn in_child(trial: Trial) -> Result<bool, SysError> {
    // SAFETY: integer arguments only.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    if trial == Trial::Ptrace {
        loop {
            // SAFETY: takes no arguments; the parent ends this child.
            unsafe { libc::pause() };
        }
    }
    // No core file where the kernel kills. (It would also forbid tracing.)
    // SAFETY: integer arguments only.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
    signal::set_mask(libc::SIG_BLOCK, signal::bit(libc::SIGTRAP));
    match trial {
        Trial::Reach => call(Call::Reach).map(|_| true),
        Trial::Timer(kind) => timer(kind),
        Trial::Watchpoint(kind) => watchpoint(kind),
        Trial::OwnMemory | Trial::Ptrace => own_memory(),
        Trial::AddressSpace => cache::address_space(),
        Trial::MemoryFile => cache::memory_file().map(|_| true),
        Trial::ExecutableMemory => cache::executable(),
    }
}

fn timer(kind: DeliveryKind) -> Result<bool, SysError> {
    // Timers and events end with the child.
    match delivery(kind) {
        Some(delivery) => Event::task_clock(0, PERIOD_NS, delivery).map(drop)?,
        None => CpuTimer::start(PERIOD_NS, 0).map(drop)?,
    }
    Ok(trap_comes())
}

/// Whether the trap arrives, which is blocked, before patience is over.
fn trap_comes() -> bool {
    comes(
        || clock::now().0,
        clock::thread_cpu,
        || {
            // The looks are system calls, in which timers of user time do not count.
            (0..PAUSES).for_each(|_| hint::spin_loop());
            trap_pending()
        },
    )
}

/// Whether one of the looks sees it, before this thread has run for [`PATIENCE_NS`].
///
/// Asking how long it has run makes the kernel take stock, and leave a thread whose turn is over (since Linux 6.6) before the
/// tick that would have found it running: who asks all the time, beside others on the processor, meets no tick for a hundred
/// turns. So time passes by the wall first.
fn comes(wall: impl Fn() -> u64, ran: impl Fn() -> u64, look: impl Fn() -> bool) -> bool {
    let begin = ran();
    loop {
        let before = wall();
        while wall().wrapping_sub(before) < PATIENCE_NS {
            if look() {
                return true;
            }
        }
        if ran().wrapping_sub(begin) >= PATIENCE_NS {
            // A processor that stood still in the last look brings all that was due at once.
            return look();
        }
    }
}

fn watchpoint(kind: DeliveryKind) -> Result<bool, SysError> {
    let Some(delivery) = delivery(kind) else { return Ok(false) };
    let place = Watched::default();
    let _event = Event::watchpoint(place.watch(0), delivery)?;
    place.touch();
    // F_SETSIG comes by an interrupt of its own, a moment later.
    Ok(trap_comes())
}

/// The perf delivery of a kind, to the calling thread.
pub(super) fn delivery(kind: DeliveryKind) -> Option<Delivery> {
    match kind {
        DeliveryKind::Sigtrap => Some(Delivery::Sigtrap { cookie: 0 }),
        DeliveryKind::Setsig => Some(Delivery::Setsig { thread: signal::thread_id() }),
        DeliveryKind::PosixTimer => None,
    }
}

/// Memory to watch, alone on its cache line: nobody else's wide load may touch it.
#[repr(align(64))]
#[derive(Default)]
pub(super) struct Watched([std::sync::atomic::AtomicU64; 8]);

impl Watched {
    /// A watch on the `index`th eight bytes, from 0 to 7.
    pub(super) fn watch(&self, index: usize) -> Watch {
        let address = (&raw const self.0).addr() as u64 + 8 * (index as u64 % 8);
        Watch { address, length: 8, reads: true }
    }

    fn touch(&self) {
        // ATOMICS: for its side effect on this thread only.
        self.0[0].store(1, std::sync::atomic::Ordering::Relaxed);
    }
}

fn trap_pending() -> bool {
    let mut pending: Mask = 0;
    // SAFETY: `pending` is a kernel sigset of the size that is passed.
    unsafe { libc::syscall(libc::SYS_rt_sigpending, &raw mut pending, size_of::<Mask>()) };
    pending & signal::bit(libc::SIGTRAP) != 0
}

fn own_memory() -> Result<bool, SysError> {
    const VALUE: u64 = 0x6361_726f_6d00;
    let (source, mut target) = (VALUE, 0u64);
    let from = libc::iovec { iov_base: (&raw const source).cast_mut().cast(), iov_len: size_of::<u64>() };
    let to = libc::iovec { iov_base: (&raw mut target).cast(), iov_len: size_of::<u64>() };
    // SAFETY: takes no arguments.
    let own = unsafe { libc::getpid() };
    // SAFETY: both vectors describe live integers; the first is only read.
    let read = unsafe { libc::process_vm_readv(own, &raw const to, 1, &raw const from, 1, 0) };
    if read < 0 { Err(SysError::last("process_vm_readv")) } else { Ok(target == VALUE) }
}

fn seize(child: libc::pid_t) -> Result<(), SysError> {
    // SAFETY: PTRACE_SEIZE takes no memory.
    let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, child, 0usize, 0usize) };
    if seized < 0 { Err(SysError::last("ptrace")) } else { Ok(()) }
}

fn wait(child: libc::pid_t) -> Result<i32, SysError> {
    loop {
        let mut status = 0;
        // SAFETY: `status` is a valid place for the answer.
        if unsafe { libc::waitpid(child, &raw mut status, 0) } == child {
            return Ok(status);
        }
        let error = SysError::last("waitpid");
        if error.errno != libc::EINTR {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{PATIENCE_NS, comes};

    /// Looks of 20 us, in a thread that has one of so many turns on its processor. Returns whether the `nth` look counts, and how
    /// often the thread asked for how long it has run.
    fn seen(nth: u64, turns: u64) -> (bool, u32) {
        let (looks, asked) = (Cell::new(0), Cell::new(0));
        let look = || {
            looks.set(looks.get() + 1);
            looks.get() == nth
        };
        let ran = || {
            asked.set(asked.get() + 1);
            looks.get() * 20_000 / turns
        };
        (comes(|| looks.get() * 20_000, ran, look), asked.get())
    }

    #[test]
    fn a_thread_that_waits_for_its_turn_keeps_its_patience() {
        let looks = PATIENCE_NS / 20_000;
        assert_eq!(seen(1, 1), (true, 1));
        assert_eq!(seen(looks + 1, 1), (true, 2));
        assert_eq!(seen(looks + 2, 1), (false, 2));
        // It asks once in all the time in which nobody else would have run.
        assert_eq!(seen(7 * looks, 7), (true, 7));
        assert_eq!(seen(7 * looks + 2, 7), (false, 8));
    }
}
