//! Signals beyond the C library's functions: raw masks, `siginfo_t` fields of perf traps. All signal-safe.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use super::raw;
use crate::SysError;

/// `si_code` of a trap by a perf event (`asm-generic/siginfo.h`).
pub const TRAP_PERF: i32 = 6;
/// `si_code` of a single step.
pub const TRAP_TRACE: i32 = 2;
/// `si_code` of a hardware breakpoint; single steps show as this on some kernels.
pub const TRAP_HWBKPT: i32 = 4;
/// `si_code` of a signal from a POSIX timer.
pub const SI_TIMER: i32 = -2;
/// `si_code` of `F_SETSIG` readiness.
pub const POLL_IN: i32 = 1;
/// `si_code` of `F_SETSIG` readiness for a signal whose own codes [`POLL_IN`] could be taken for, SIGTRAP among them
/// (since Linux 4.16, `send_sigio_to_task`).
pub const SI_SIGIO: i32 = -5;
/// The trap was delivered late because the thread had blocked SIGTRAP (Linux 5.18).
pub const TRAP_PERF_FLAG_ASYNC: u32 = 1;
/// Trap flag in RFLAGS: a debug exception follows the next instruction.
pub const RFLAGS_TF: i64 = 0x100;

/// The `siginfo_t` fields of the signals that the engine sends to itself, at their x86-64 offsets.
#[derive(Clone, Copy)]
pub struct TrapInfo(*const libc::siginfo_t);

impl TrapInfo {
    /// # Safety
    /// `info` is what the kernel passed to a running signal handler, or has filled in.
    pub unsafe fn new(info: *const libc::siginfo_t) -> Self {
        Self(info)
    }

    /// Where the signal comes from.
    pub fn code(self) -> i32 {
        // SAFETY: valid by the contract of `new`.
        unsafe { (*self.0).si_code }
    }

    /// The watched address (`TRAP_PERF` of a breakpoint).
    pub fn address(self) -> u64 {
        self.at::<u64>(16)
    }

    /// `attr.sig_data` (`TRAP_PERF`).
    pub fn cookie(self) -> u64 {
        self.at::<u64>(24)
    }

    /// `TRAP_PERF_FLAG_*` (`TRAP_PERF`).
    pub fn flags(self) -> u32 {
        self.at::<u32>(36)
    }

    /// The value given to `timer_create` (`SI_TIMER`).
    pub fn timer_value(self) -> u64 {
        self.at::<u64>(24)
    }

    /// The ready descriptor (`POLL_IN`).
    pub fn fd(self) -> i32 {
        self.at::<i32>(24)
    }

    fn at<T: Copy>(self, offset: usize) -> T {
        // SAFETY: `siginfo_t` is 128 bytes and all offsets above are inside it.
        let field = unsafe { self.0.cast::<u8>().add(offset) };
        // SAFETY: in bounds as above; every bit pattern is a valid integer.
        unsafe { field.cast::<T>().read_unaligned() }
    }
}

/// The calling thread's errno.
pub fn errno() -> i32 {
    // SAFETY: the C library returns a valid pointer for every thread.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { *place }
}

/// Puts errno back after a handler.
pub fn set_errno(value: i32) {
    // SAFETY: the C library returns a valid pointer for every thread.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { *place = value };
}

/// Leaves errno as it was before `work`.
pub fn with_errno_kept<T>(work: impl FnOnce() -> T) -> T {
    let before = errno();
    let result = work();
    set_errno(before);
    result
}

/// A kernel signal set: bit n-1 is signal n.
pub type Mask = u64;

/// The bit of `signal` in a [`Mask`].
pub const fn bit(signal: i32) -> Mask {
    1 << (signal - 1)
}

/// rt_sigprocmask without the C library, which hides two signals. `how` as there; returns the old mask.
pub fn set_mask(how: i32, mask: Mask) -> Mask {
    let mut old: Mask = 0;
    // SAFETY: both sets are live 8-byte kernel sigsets.
    unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, how, &raw const mask, &raw mut old, size_of::<Mask>());
    }
    old
}

/// The signals that the calling thread blocks.
pub fn mask() -> Mask {
    set_mask(libc::SIG_BLOCK, 0)
}

/// Blocks all signals of the calling thread while it lives. Faults of its own instructions still come.
pub struct Quiet {
    /// The mask to restore; `None` within [`quietly`].
    before: Option<Mask>,
}

/// The thread that is in [`quietly`], by its [`thread_pointer`]; 0 for none.
static QUIET: AtomicU64 = AtomicU64::new(0);

impl Quiet {
    /// Blocks all signals from now on.
    pub fn begin() -> Self {
        let quiet = QUIET.load(Relaxed);
        let asks = quiet == 0 || quiet != thread_pointer();
        Self { before: asks.then(|| set_mask(libc::SIG_SETMASK, Mask::MAX)) }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            set_mask(libc::SIG_SETMASK, before);
        }
    }
}

/// Runs `work` with all signals blocked. `work` changes no mask, so that no [`Quiet`] within it needs a system call: there may be
/// hundreds, as each allocation of the agent has one. That is so for one thread at a time; for others each asks.
pub fn quietly<R>(work: impl FnOnce() -> R) -> R {
    let _quiet = Quiet::begin();
    let is_first = QUIET.compare_exchange(0, thread_pointer(), Relaxed, Relaxed).is_ok();
    let result = work();
    if is_first {
        QUIET.store(0, Relaxed);
    }
    result
}

/// In a forked child: the thread of the parent that was in [`quietly`] is not here.
pub fn after_fork() {
    QUIET.store(0, Relaxed);
}

/// The calling thread's pointer to its control block (x86-64 ELF TLS ABI).
pub fn thread_pointer() -> u64 {
    let pointer: u64;
    if has_fsgsbase() {
        // The block itself may be gone: a thread that ends by a system call may have unmapped it.
        // SAFETY: reads a register.
        unsafe { std::arch::asm!("rdfsbase {}", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    } else {
        // The word at its start holds its own address.
        // SAFETY: every thread of a dynamically linked program has its control block at FS.
        unsafe {
            std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags));
        }
    }
    pointer
}

/// Whether the calling thread's control block is there, and with that its errno. Signal-safe.
pub fn has_control_block() -> bool {
    /// The kernel reads the set before it finds that there is no such change (Linux, kernel/signal.c).
    const NO_CHANGE: u64 = u64::MAX;
    let arguments = [NO_CHANGE, thread_pointer(), 0, size_of::<Mask>() as u64, 0, 0];
    // SAFETY: the mask stays as it is.
    let answer = unsafe { raw::call(libc::SYS_rt_sigprocmask, arguments) };
    answer != Err(libc::EFAULT)
}

/// Whether the kernel lets us use the FSGSBASE instructions.
fn has_fsgsbase() -> bool {
    const UNKNOWN: u8 = 0;
    const NO: u8 = 1;
    const YES: u8 = 2;
    /// Of AT_HWCAP2 (Linux, Documentation/arch/x86/x86_64/fsgs.rst).
    const HWCAP2_FSGSBASE: u64 = 1 << 1;
    static KNOWN: AtomicU8 = AtomicU8::new(UNKNOWN);
    match KNOWN.load(Relaxed) {
        UNKNOWN => {
            // SAFETY: reads the auxiliary vector.
            let has = unsafe { libc::getauxval(libc::AT_HWCAP2) } & HWCAP2_FSGSBASE != 0;
            KNOWN.store(if has { YES } else { NO }, Relaxed);
            has
        }
        known => known == YES,
    }
}

/// Sends `signal` to the calling thread.
pub fn raise(signal: i32) {
    // SAFETY: takes no arguments.
    let process = unsafe { libc::getpid() };
    // SAFETY: integer arguments only.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread_id(), signal) };
}

/// The calling thread's kernel id.
pub fn thread_id() -> i32 {
    // SAFETY: takes no arguments.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// The kernel's alternate stack of the calling thread, without interposition.
///
/// # Errors
/// EPERM while running on it, ENOMEM where it is too small.
///
/// # Safety
/// A non-null `new` must describe memory that stays valid and unused while it is installed.
pub unsafe fn alternate_stack(new: *const libc::stack_t, old: *mut libc::stack_t) -> Result<(), SysError> {
    // SAFETY: the caller vouches for both pointers.
    let result = unsafe { libc::syscall(libc::SYS_sigaltstack, new, old) };
    if result < 0 { Err(SysError::last("sigaltstack")) } else { Ok(()) }
}

/// Takes `signal` from those that wait for the calling thread, or for its process, while the thread blocks it. None where none
/// waits. Signal-safe.
pub fn take_waiting(signal: i32) -> Option<libc::siginfo_t> {
    // SAFETY: all zeroes is a valid place for the answer, and a timeout that is over at once.
    let (mut info, at_once): (libc::siginfo_t, libc::timespec) = unsafe { std::mem::zeroed() };
    let (set, place) = (bit(signal), &raw mut info);
    // SAFETY: places of ours that outlive the call.
    let taken = unsafe {
        libc::syscall(libc::SYS_rt_sigtimedwait, &raw const set, place, &raw const at_once, size_of::<Mask>())
    };
    (taken == libc::c_long::from(signal)).then_some(info)
}

/// Sends a signal on, with its `siginfo_t`: to the whole process, or to the calling thread alone.
///
/// # Safety
/// `info` is what the kernel passed to a running signal handler, or has filled in.
pub unsafe fn pass_on(signal: i32, info: *const libc::siginfo_t, to_process: bool) {
    // SAFETY: no arguments.
    let process = unsafe { libc::getpid() };
    if to_process {
        // SAFETY: what the kernel itself passed, to the same process.
        unsafe { libc::syscall(libc::SYS_rt_sigqueueinfo, process, signal, info) };
    } else {
        // SAFETY: as above, to the same thread.
        unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread_id(), signal, info) };
    }
}
