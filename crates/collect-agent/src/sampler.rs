//! A thread's timer and watchpoints, by the best way that the kernel allows.

use carom_base::Line;
use carom_base_detect::WatchPlan;
use carom_base_sys::{
    SysError,
    perf::{Delivery, Event, Watch},
    signal,
    timer::CpuTimer,
};
use carom_base_wire::DeliveryChoice;

use crate::detect::share::line_watch::LineWatch;

/// How samples are delivered in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// perf events that raise a synchronous SIGTRAP.
    Sigtrap,
    /// perf events that signal through their descriptor.
    Setsig,
    /// POSIX timers; no watchpoints.
    PosixTimer,
}

/// Marks our perf events' `sig_data`, with their kind in the low byte: "carom" in ASCII.
const COOKIE: u64 = 0x63_61_72_6f_6d << 8;
const TIMER: u64 = 0xff;

/// For watchpoints that only measure the cost of a trap, and belong to no thread.
pub const CALIBRATION: Delivery = Delivery::Sigtrap { cookie: COOKIE | 0xfe };

/// Watchpoints of a thread at most (x86 debug registers).
pub const WATCHPOINTS: usize = 4;

/// Bytes that a watchpoint covers.
const CHUNK: u64 = carom_base_detect::CHUNK_BYTES;

/// The cause of a signal of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The sampling timer.
    Timer,
    /// Watchpoint number n.
    Watch(usize),
}

/// Where a SIGTRAP comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// One of our events or timers. `late` where the signal waited while it was blocked.
    Event {
        /// What it means.
        cause: Cause,
        /// True where it says nothing about the present instruction.
        late: bool,
    },
    /// A perf event that signals through its descriptor: no other source does that with SIGTRAP.
    Fd(i32),
    /// A single step.
    Step,
    /// A SIGTRAP of the program's own.
    Foreign,
}

impl Origin {
    /// Reads `info`. Signal-safe.
    pub fn of(info: signal::TrapInfo) -> Self {
        let event = |cookie: u64, late| match cookie & 0xff {
            _ if cookie & !0xff != COOKIE => Self::Foreign,
            TIMER => Self::Event { cause: Cause::Timer, late },
            index => Self::Event { cause: Cause::Watch(index as usize), late },
        };
        match info.code() {
            signal::TRAP_PERF => event(info.cookie(), info.flags() & signal::TRAP_PERF_FLAG_ASYNC != 0),
            signal::SI_TIMER => event(info.timer_value(), false),
            signal::SI_SIGIO | signal::POLL_IN => Self::Fd(info.fd()),
            signal::TRAP_TRACE => Self::Step,
            _ => Self::Foreign,
        }
    }
}

impl Mode {
    /// The best mode that works here, and why not a better one (may be empty).
    pub fn choose(choice: DeliveryChoice) -> (Self, String) {
        let order: &[Self] = match choice {
            DeliveryChoice::Auto => &[Self::Sigtrap, Self::Setsig],
            DeliveryChoice::Sigtrap => &[Self::Sigtrap],
            DeliveryChoice::Setsig => &[Self::Setsig],
            DeliveryChoice::PosixTimer => &[],
        };
        let mut reason = String::new();
        for &mode in order {
            match Event::task_clock(0, NEVER, mode.delivery(TIMER)) {
                Ok(event) => {
                    event.close();
                    return (mode, reason);
                }
                Err(error) => reason = error.to_string(),
            }
        }
        (Self::PosixTimer, reason)
    }

    /// Its name in journals and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sigtrap => "sigtrap",
            Self::Setsig => "setsig",
            Self::PosixTimer => "posix-timer",
        }
    }

    /// Can threads set watchpoints?
    pub fn has_watchpoints(self) -> bool {
        self != Self::PosixTimer
    }

    /// How watchpoint number `index` of the thread `tid` is to be delivered.
    pub fn watch_delivery(self, index: usize, tid: i32) -> Delivery {
        match self {
            Self::Sigtrap => self.delivery(index as u64),
            _ => Delivery::Setsig { thread: tid },
        }
    }

    fn delivery(self, what: u64) -> Delivery {
        match self {
            Self::Sigtrap => Delivery::Sigtrap { cookie: COOKIE | what },
            _ => Delivery::Setsig { thread: signal::thread_id() },
        }
    }
}

/// A period for events that only prove that they can be opened: an hour.
const NEVER: u64 = 3_600_000_000_000;

/// The timer of a thread.
enum Timer {
    Perf(Event),
    Posix(CpuTimer),
}

/// The events of one thread. Opened and used by the thread itself.
pub struct Sampler {
    mode: Mode,
    timer: Option<Timer>,
    watches: [Option<Event>; WATCHPOINTS],
    line: LineWatch,
}

impl Sampler {
    /// A sampler that does nothing yet.
    pub fn idle(mode: Mode) -> Self {
        Self { mode, timer: None, watches: [const { None }; WATCHPOINTS], line: LineWatch::default() }
    }

    /// Starts sampling the calling thread every `period_ns` of its CPU time. `steady`: the period stays.
    ///
    /// # Errors
    /// As [`Event::task_clock`] and [`CpuTimer::start`].
    pub fn start(&mut self, period_ns: u64, steady: bool) -> Result<(), SysError> {
        let open = if steady { Event::steady_task_clock } else { Event::task_clock };
        let timer = match self.mode {
            Mode::PosixTimer => Timer::Posix(CpuTimer::start(period_ns, COOKIE | TIMER)?),
            mode => Timer::Perf(open(0, period_ns, mode.delivery(TIMER))?),
        };
        self.timer = Some(timer);
        Ok(())
    }

    /// Which of our events has this descriptor. Signal-safe.
    fn by_fd(&self, fd: i32) -> Option<Cause> {
        if matches!(&self.timer, Some(Timer::Perf(event)) if event.fd() == fd) {
            return Some(Cause::Timer);
        }
        let ours = |event: &Option<Event>| event.as_ref().is_some_and(|event| event.fd() == fd);
        self.watches.iter().position(ours).map(Cause::Watch)
    }

    /// What a signal of [`Origin::Fd`] or [`Origin::Event`] is about. Signal-safe.
    pub fn cause(&self, origin: Origin) -> Option<Cause> {
        match origin {
            Origin::Event { cause, .. } => Some(cause),
            Origin::Fd(fd) => self.by_fd(fd),
            Origin::Step | Origin::Foreign => None,
        }
    }

    /// Changes the time to the next sample. Signal-safe.
    pub fn set_period(&self, period_ns: u64) {
        let _ = match &self.timer {
            Some(Timer::Perf(event)) => event.set_period(period_ns),
            Some(Timer::Posix(timer)) => timer.set_period(period_ns),
            None => Ok(()),
        };
    }

    /// Has the thread's code watch the line of `plan`, or sets watchpoints on its chunks: all of them, or none and
    /// false. Signal-safe.
    pub fn arm(&mut self, plan: &WatchPlan) -> bool {
        if plan.is_whole_line() {
            return self.line.set(plan.line);
        }
        for (index, chunk) in plan.watched().iter().enumerate() {
            let watch = Watch { address: chunk.0, length: CHUNK, reads: true };
            let delivery = self.mode.delivery(index as u64);
            let Some(place) = self.watches.get_mut(index) else { continue };
            let set = match place {
                Some(event) => event.move_watch(watch, delivery),
                None => Event::watchpoint(watch, delivery).map(|event| *place = Some(event)),
            };
            if set.is_err() {
                self.disarm();
                return false;
            }
        }
        true
    }

    /// Whether the thread's code watches this line. Signal-safe.
    pub fn watches_line(&self, line: Line) -> bool {
        self.line.is_at(line)
    }

    /// Counts a touch of another line that translated code has reported. False where there were too many. Signal-safe.
    pub fn bears_another_line(&mut self) -> bool {
        self.line.bears_another()
    }

    /// Removes all watchpoints. Signal-safe.
    pub fn disarm(&mut self) {
        self.line.clear();
        for event in self.watches.iter().flatten() {
            let _ = event.disable();
        }
    }

    /// Closes a watchpoint that traps although nothing is watched: every further access to its bytes would trap. It is
    /// opened again when it is needed. Signal-safe.
    pub fn close_watch(&mut self, index: usize) {
        if let Some(event) = self.watches.get_mut(index).and_then(Option::take) {
            event.close();
        }
    }

    /// In a forked child: forgets the parent's events, which go on in the parent.
    pub fn abandon(&mut self) {
        if let Some(Timer::Perf(event)) = self.timer.take() {
            event.abandon();
        }
        for event in self.watches.iter_mut().filter_map(Option::take) {
            event.abandon();
        }
        self.line.clear();
    }

    /// True between [`Self::start`] and [`Self::stop`].
    pub fn is_running(&self) -> bool {
        self.timer.is_some()
    }

    /// True while the kernel still has our timer: the program may have closed every descriptor.
    pub fn is_alive(&self) -> bool {
        match &self.timer {
            Some(Timer::Perf(event)) => event.is_ours(),
            Some(Timer::Posix(_)) => true,
            None => false,
        }
    }

    /// Ends sampling. Signal-safe.
    pub fn stop(&mut self) {
        match self.timer.take() {
            Some(Timer::Perf(event)) => event.close(),
            Some(Timer::Posix(timer)) => timer.delete(),
            None => {}
        }
        for event in &mut self.watches {
            if let Some(event) = event.take() {
                event.close();
            }
        }
        self.line.clear();
    }
}
