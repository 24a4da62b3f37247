use std::os::fd::RawFd;

use perf_event_open_sys::bindings as raw;

use crate::{
    SysError,
    door::{Call, call},
};

/// How an event's overflow reaches the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// `attr.sigtrap`: a synchronous SIGTRAP with `cookie` in `si_perf_data` (since Linux 5.13; since 5.18
    /// it waits where the thread blocks SIGTRAP, before that it kills the process).
    Sigtrap {
        /// Comes back in `siginfo_t`.
        cookie: u64,
    },
    /// `F_SETSIG`: SIGTRAP with the file descriptor in `si_fd`, possibly some instructions later.
    Setsig {
        /// The thread to signal.
        thread: i32,
    },
}

/// What a watchpoint looks at: `length` bytes (1, 2, 4 or 8) at a multiple of `length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub length: u64,
    /// Reads too, and not writes alone. x86 has no watchpoint for reads alone.
    pub reads: bool,
}

/// An open perf event. Closing is explicit ([`Event::close`]): handlers and forked children must decide.
#[derive(Debug, PartialEq, Eq)]
pub struct Event {
    fd: RawFd,
    id: u64,
}

fn base(kind: u32, config: u64, period: u64, delivery: Delivery) -> raw::perf_event_attr {
    let mut attr = raw::perf_event_attr {
        type_: kind,
        size: size_of::<raw::perf_event_attr>() as u32,
        config,
        ..Default::default()
    };
    attr.__bindgen_anon_1.sample_period = period;
    attr.set_exclude_kernel(1);
    attr.set_exclude_hv(1);
    attr.set_exclude_callchain_kernel(1);
    if let Delivery::Sigtrap { cookie } = delivery {
        attr.set_sigtrap(1);
        attr.set_remove_on_exec(1);
        attr.sig_data = cookie;
    }
    attr
}

fn watch_attr(watch: Watch, delivery: Delivery) -> raw::perf_event_attr {
    let mut attr = base(raw::PERF_TYPE_BREAKPOINT, 0, 1, delivery);
    attr.bp_type = if watch.reads { raw::HW_BREAKPOINT_RW } else { raw::HW_BREAKPOINT_W };
    attr.__bindgen_anon_3.bp_addr = watch.address;
    attr.__bindgen_anon_4.bp_len = watch.length;
    attr
}

impl Event {
    /// A timer on `thread`'s CPU time (0: the caller's) that fires every `period_ns` of it, in user mode.
    /// Signal-safe.
    ///
    /// # Errors
    /// As perf_event_open(2): EACCES and EPERM where the user may not, EINVAL before Linux 5.13 with
    /// [`Delivery::Sigtrap`], EMFILE.
    pub fn task_clock(thread: i32, period_ns: u64, delivery: Delivery) -> Result<Self, SysError> {
        let config = u64::from(raw::PERF_COUNT_SW_TASK_CLOCK);
        Self::open(base(raw::PERF_TYPE_SOFTWARE, config, period_ns, delivery), thread, delivery)
    }

    /// A data watchpoint on the calling thread, armed at once. Signal-safe.
    ///
    /// # Errors
    /// ENOSPC where all debug registers are taken, for example by a debugger; else as for
    /// [`Event::task_clock`].
    pub fn watchpoint(watch: Watch, delivery: Delivery) -> Result<Self, SysError> {
        Self::watchpoint_in(0, watch, delivery)
    }

    /// A data watchpoint on `thread` of this process (0: the caller), armed at once. Signal-safe.
    ///
    /// # Errors
    /// As for [`Event::watchpoint`]; ESRCH where the thread is gone.
    pub fn watchpoint_in(thread: i32, watch: Watch, delivery: Delivery) -> Result<Self, SysError> {
        Self::open(watch_attr(watch, delivery), thread, delivery)
    }

    fn open(mut attr: raw::perf_event_attr, thread: i32, delivery: Delivery) -> Result<Self, SysError> {
        let fd = call(Call::Open { attr: &mut attr, thread, cpu: -1 })? as RawFd;
        let mut event = Self { fd, id: 0 };
        event.fd = keep_high(fd);
        event.id = event.read_id().unwrap_or(0);
        if let Delivery::Setsig { thread } = delivery {
            event.signal_by_fd(thread)?;
        }
        Ok(event)
    }

    /// The file descriptor, for recognising `si_fd`.
    pub fn fd(&self) -> RawFd {
        self.fd
    }

    /// Starts counting. Signal-safe.
    ///
    /// # Errors
    /// EBADF or ENOTTY where the program closed the descriptor.
    pub fn enable(&self) -> Result<(), SysError> {
        self.ioctl(raw::ENABLE, 0)
    }

    /// Stops counting. Signal-safe.
    ///
    /// # Errors
    /// As [`Event::enable`].
    pub fn disable(&self) -> Result<(), SysError> {
        self.ioctl(raw::DISABLE, 0)
    }

    /// Changes a timer's period. Signal-safe.
    ///
    /// # Errors
    /// As [`Event::enable`].
    pub fn set_period(&self, period_ns: u64) -> Result<(), SysError> {
        self.ioctl(raw::PERIOD, (&raw const period_ns).addr())
    }

    /// Moves a watchpoint and arms it. Cheap on the calling thread, an interrupt to another core for another
    /// running thread. Signal-safe.
    ///
    /// # Errors
    /// As [`Event::enable`]; `delivery` must be the one that the event was opened with.
    pub fn move_watch(&self, watch: Watch, delivery: Delivery) -> Result<(), SysError> {
        let attr = watch_attr(watch, delivery);
        self.ioctl(raw::MODIFY_ATTRIBUTES, (&raw const attr).addr())
    }

    /// False where the program closed our descriptor behind our back (and perhaps reuses its number).
    /// Signal-safe.
    pub fn is_ours(&self) -> bool {
        self.id != 0 && self.read_id() == Ok(self.id)
    }

    /// Closes the event, unless the descriptor is no longer ours. Signal-safe.
    pub fn close(self) {
        if self.is_ours() {
            // A forked child may still hold a copy of the descriptor, which would keep the event going.
            let _ = self.disable();
            close_descriptor(self.fd);
        }
    }

    /// In a forked child: closes its copy of the descriptor. The event goes on in the parent. Signal-safe.
    pub fn abandon(self) {
        if self.is_ours() {
            close_descriptor(self.fd);
        }
    }

    fn read_id(&self) -> Result<u64, SysError> {
        let mut id = 0u64;
        self.ioctl(raw::ID, (&raw mut id).addr())?;
        Ok(id)
    }

    fn ioctl(&self, request: u32, argument: usize) -> Result<(), SysError> {
        call(Call::Ioctl { fd: self.fd, request, argument }).map(|_| ())
    }

    fn signal_by_fd(&self, thread: i32) -> Result<(), SysError> {
        let owner = OwnerEx { kind: F_OWNER_TID, pid: thread };
        // SAFETY: F_SETOWN_EX reads one `f_owner_ex`, which lives across the call.
        let owned = unsafe { libc::fcntl(self.fd, F_SETOWN_EX, &raw const owner) };
        // SAFETY: integer argument only.
        let signalled = unsafe { libc::fcntl(self.fd, F_SETSIG, libc::SIGTRAP) };
        // SAFETY: integer argument only.
        let asynchronous = unsafe { libc::fcntl(self.fd, libc::F_SETFL, libc::O_ASYNC) };
        if owned < 0 || signalled < 0 || asynchronous < 0 {
            return Err(SysError::last("fcntl(perf event)"));
        }
        Ok(())
    }
}

/// `struct f_owner_ex` of fcntl(2); libc has no x86-64 glibc definition of it.
#[repr(C)]
struct OwnerEx {
    kind: i32,
    pid: i32,
}
/// From `asm-generic/fcntl.h`.
const F_SETSIG: i32 = 10;
/// From `asm-generic/fcntl.h`.
const F_SETOWN_EX: i32 = 15;
/// From `asm-generic/fcntl.h`.
const F_OWNER_TID: i32 = 0;

/// Descriptors below this are left to the program: it sees the numbers that it would see natively, and a
/// `close` loop over the usual range does not hit ours.
const FIRST_HIGH_FD: i32 = 4096;

/// close(2) without the C library, whose function is a cancellation point: a thread that is about to be cancelled
/// would be unwound out of a signal handler.
fn close_descriptor(fd: RawFd) {
    // SAFETY: integer argument only; the callers own the descriptor and do not use it again.
    unsafe { libc::syscall(libc::SYS_close, fd) };
}

/// Another thread that does the same restores the limit in between, so once may not be enough.
const ATTEMPTS: usize = 16;

/// Moves `fd` to [`FIRST_HIGH_FD`] or above where the hard limit allows, else leaves it.
fn keep_high(fd: RawFd) -> RawFd {
    let Some(high) = (0..ATTEMPTS).find_map(|_| high_copy(fd)) else { return fd };
    close_descriptor(fd);
    high
}

/// A copy of `fd` at [`FIRST_HIGH_FD`] or above.
fn high_copy(fd: RawFd) -> Option<RawFd> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the answer.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let raised = libc::rlimit { rlim_cur: limit.rlim_max, rlim_max: limit.rlim_max };
    // Limits are only looked at when a descriptor is made: raise, move, restore.
    if limit.rlim_cur < limit.rlim_max {
        // SAFETY: a valid limit structure; the soft limit may always be raised up to the hard one.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) };
    }
    // SAFETY: integer arguments only.
    let high = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, FIRST_HIGH_FD) };
    if limit.rlim_cur < limit.rlim_max {
        // SAFETY: as above; puts back what was there.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    }
    (high >= 0).then_some(high)
}
