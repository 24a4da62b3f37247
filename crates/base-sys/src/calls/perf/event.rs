use std::os::fd::RawFd;

use perf_event_open_sys::bindings as raw;

use super::{super::descriptor, open};
use crate::{
    SysError,
    calls::{
        door::{Call, call},
        own_room,
    },
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
    hold: Hold,
    id: u64,
}

/// How the event is kept open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    Descriptor(RawFd),
    /// A page at this address, which the kernel does not give to forked children.
    Page(u64),
}

/// Of a kernel's page about an event.
const PAGE_BYTES: usize = 4096;

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

fn clock_attr(period_ns: u64, delivery: Delivery) -> raw::perf_event_attr {
    base(raw::PERF_TYPE_SOFTWARE, u64::from(raw::PERF_COUNT_SW_TASK_CLOCK), period_ns, delivery)
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
        let mut event = Self::open_low(clock_attr(period_ns, delivery), thread)?;
        event.keep_high(delivery)?;
        Ok(event)
    }

    /// The same, without a descriptor: the program finds only its own, and can open as many as natively. The period
    /// cannot be changed. Where that is not possible, and with [`Delivery::Setsig`], it has a descriptor.
    ///
    /// # Errors
    /// As [`Event::task_clock`].
    pub fn steady_task_clock(thread: i32, period_ns: u64, delivery: Delivery) -> Result<Self, SysError> {
        let mut event = Self::open_low(clock_attr(period_ns, delivery), thread)?;
        if !matches!(delivery, Delivery::Sigtrap { .. }) || !event.keep_by_page() {
            event.keep_high(delivery)?;
        }
        Ok(event)
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

    fn open(attr: raw::perf_event_attr, thread: i32, delivery: Delivery) -> Result<Self, SysError> {
        let mut event = Self::open_low(attr, thread)?;
        event.keep_high(delivery)?;
        Ok(event)
    }

    /// On the lowest free descriptor, which the program may need next.
    fn open_low(mut attr: raw::perf_event_attr, thread: i32) -> Result<Self, SysError> {
        let fd = call(Call::Open { attr: &mut attr, thread, cpu: -1, group: -1 })? as RawFd;
        let mut event = Self { hold: Hold::Descriptor(fd), id: 0 };
        event.id = event.read_id().unwrap_or(0);
        Ok(event)
    }

    fn keep_high(&mut self, delivery: Delivery) -> Result<(), SysError> {
        if let Hold::Descriptor(fd) = self.hold {
            let high = descriptor::keep_high(fd);
            self.hold = Hold::Descriptor(high);
            open::add(open::Hold::Descriptor(high));
        }
        match delivery {
            Delivery::Setsig { thread } => self.signal_by_fd(thread),
            Delivery::Sigtrap { .. } => Ok(()),
        }
    }

    /// Maps the kernel's page about the event, which then lives as long as that, and closes the descriptor. False where the
    /// page cannot be had.
    fn keep_by_page(&mut self) -> bool {
        let Hold::Descriptor(fd) = self.hold else { return true };
        let Ok(page) = own_room::map(PAGE_BYTES as u64, libc::PROT_READ, libc::MAP_SHARED, fd) else {
            return false;
        };
        descriptor::close(fd);
        self.hold = Hold::Page(page);
        open::add(open::Hold::Page(page));
        true
    }

    /// The file descriptor, for recognising `si_fd`; -1 for none.
    pub fn fd(&self) -> RawFd {
        match self.hold {
            Hold::Descriptor(fd) => fd,
            Hold::Page(_) => -1,
        }
    }

    /// Starts counting. Signal-safe.
    ///
    /// # Errors
    /// EBADF or ENOTTY where the program closed the descriptor, or there is none.
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
        matches!(self.hold, Hold::Page(_)) || self.id != 0 && self.read_id() == Ok(self.id)
    }

    /// Closes the event, unless the descriptor is no longer ours. Signal-safe.
    pub fn close(self) {
        match self.hold {
            Hold::Descriptor(fd) if self.is_ours() => {
                // A forked child may still hold a copy of the descriptor, which would keep the event going.
                let _ = self.disable();
                open::remove(open::Hold::Descriptor(fd));
                descriptor::close(fd);
            }
            Hold::Descriptor(_) => {}
            Hold::Page(page) => {
                open::remove(open::Hold::Page(page));
                unmap(page);
            }
        }
    }

    /// In a forked child: closes its copy of the descriptor. The event goes on in the parent. Signal-safe.
    pub fn abandon(self) {
        if let Hold::Descriptor(fd) = self.hold
            && self.is_ours()
        {
            open::remove(open::Hold::Descriptor(fd));
            descriptor::close(fd);
        }
    }

    fn read_id(&self) -> Result<u64, SysError> {
        let mut id = 0u64;
        self.ioctl(raw::ID, (&raw mut id).addr())?;
        Ok(id)
    }

    fn ioctl(&self, request: u32, argument: usize) -> Result<(), SysError> {
        call(Call::Ioctl { fd: self.fd(), request, argument }).map(|_| ())
    }

    fn signal_by_fd(&self, thread: i32) -> Result<(), SysError> {
        let owner = OwnerEx { kind: F_OWNER_TID, pid: thread };
        // SAFETY: F_SETOWN_EX reads one `f_owner_ex`, which lives across the call.
        let owned = unsafe { libc::fcntl(self.fd(), F_SETOWN_EX, &raw const owner) };
        // SAFETY: integer argument only.
        let signalled = unsafe { libc::fcntl(self.fd(), F_SETSIG, libc::SIGTRAP) };
        // SAFETY: integer argument only.
        let asynchronous = unsafe { libc::fcntl(self.fd(), libc::F_SETFL, libc::O_ASYNC) };
        if owned < 0 || signalled < 0 || asynchronous < 0 {
            return Err(SysError::last("fcntl(perf event)"));
        }
        Ok(())
    }
}

/// Closes the events of all threads of the process, which find them closed. Signal-safe.
pub fn close_all() {
    open::each(|hold| match hold {
        open::Hold::Descriptor(fd) => {
            let event = Event { hold: Hold::Descriptor(fd), id: 0 };
            // The address may be the program's by now.
            if event.read_id().is_ok() {
                let _ = event.disable();
                descriptor::close(fd);
            }
        }
        open::Hold::Page(page) => unmap(page),
    });
}

fn unmap(page: u64) {
    // SAFETY: mapped for an event, which is used no more.
    unsafe { libc::syscall(libc::SYS_munmap, page, PAGE_BYTES) };
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::calls::signal;

    /// A period so long that the timer never fires.
    const NEVER: u64 = 3_600_000_000_000;

    #[test]
    fn a_steady_clock_has_no_descriptor_and_ends_when_it_is_closed() {
        let delivery = Delivery::Sigtrap { cookie: 1 };
        let Ok(event) = Event::steady_task_clock(0, NEVER, delivery) else {
            return eprintln!("skipped: perf-events: no steady task clock");
        };
        assert_eq!(event.fd(), -1, "{event:?}");
        assert!(event.is_ours());
        assert!(event.set_period(1).is_err() && event.disable().is_err());
        event.close();
    }

    #[test]
    fn a_steady_clock_fires() {
        static FIRED: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        extern "C" fn count(_: i32) {
            FIRED.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        // SAFETY: a function that may be called at any time.
        unsafe { libc::signal(libc::SIGTRAP, count as *const () as libc::sighandler_t) };
        signal::set_mask(libc::SIG_UNBLOCK, signal::bit(libc::SIGTRAP));
        let Ok(event) = Event::steady_task_clock(0, 1_000_000, Delivery::Sigtrap { cookie: 1 }) else {
            return eprintln!("skipped: perf-events: no steady task clock");
        };
        let fired = || FIRED.load(std::sync::atomic::Ordering::Relaxed);
        let patience = Instant::now() + Duration::from_secs(20);
        while fired() < 3 && Instant::now() < patience {
            std::hint::spin_loop();
        }
        assert!(fired() >= 3);
        event.close();
        let before = fired();
        (0..10_000_000).for_each(|_| std::hint::spin_loop());
        assert!(fired() <= before + 1, "one may have been on its way");
    }
}
