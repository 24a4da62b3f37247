//! How much of a thread's time was spent in the cache.

pub use carom_base::Leave;

use crate::memory;

/// CPU time of a thread, and the part of it outside the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Since the thread was attached, in nanoseconds.
    pub cpu_ns: u64,
    /// Of that, outside the cache.
    pub outside_ns: u64,
    /// How often, by [`Leave`].
    pub leaves: [u64; Leave::COUNT],
    /// How often a timer has checked where the thread is ([`crate::witness`]).
    pub ticks: u64,
    /// CPU time for which the timer found the thread outside the cache although the engine believed it inside; not
    /// included in `outside_ns`.
    pub unbooked_ns: u64,
}

/// The clock of one thread, with its readings at entries and exits of the cache.
#[derive(Debug)]
pub struct Clock {
    /// The kernel's thread id.
    tid: u32,
    attached_ns: u64,
    /// Why and since when the thread is outside. Without a reason where the engine is switched off.
    outside: Option<(Option<Leave>, u64)>,
    outside_ns: u64,
    /// The time outside without a reason.
    paused_ns: u64,
    leaves: [u64; Leave::COUNT],
    ticks: u64,
    unbooked_ns: u64,
}

impl Clock {
    /// The clock of the calling thread, started now.
    pub fn start() -> Self {
        let tid = carom_base_sys::signal::thread_id() as u32;
        Self {
            tid,
            attached_ns: cpu_ns(tid),
            outside: None,
            outside_ns: 0,
            paused_ns: 0,
            leaves: [0; Leave::COUNT],
            ticks: 0,
            unbooked_ns: 0,
        }
    }

    /// A timer has checked where the thread is. `unbooked_ns`: the time for which it found the thread outside
    /// unexpectedly.
    pub fn tick(&mut self, unbooked_ns: u64) {
        self.ticks += 1;
        self.unbooked_ns += unbooked_ns;
    }

    /// The thread that it belongs to.
    pub const fn tid(&self) -> u32 {
        self.tid
    }

    /// The thread's CPU time in nanoseconds; 0 where it does not exist any more.
    pub fn cpu_ns(&self) -> u64 {
        cpu_ns(self.tid)
    }

    /// The thread is about to continue outside the cache.
    pub fn leave(&mut self, why: Leave) {
        self.note(why);
        if self.outside.is_none() {
            self.outside = Some((Some(why), cpu_ns(self.tid)));
        }
    }

    /// The thread is about to continue outside the cache because the engine is switched off: that time does not
    /// count.
    pub fn pause(&mut self) {
        if self.outside.is_none() {
            self.outside = Some((None, cpu_ns(self.tid)));
        }
    }

    /// Counts a reason without leaving.
    pub fn note(&mut self, why: Leave) {
        if let Some(count) = self.leaves.get_mut(why as usize) {
            *count += 1;
        }
    }

    /// The thread has come back, if it was outside.
    pub fn come_back(&mut self) {
        if let Some((why, since)) = self.outside.take() {
            let time = if why.is_some() { &mut self.outside_ns } else { &mut self.paused_ns };
            *time += cpu_ns(self.tid).saturating_sub(since);
        }
    }

    /// Why the thread is outside, if it is. An engine that is switched off considers all code foreign.
    pub fn outside(&self) -> Option<Leave> {
        self.outside.map(|(why, _)| why.unwrap_or(Leave::ForeignCode))
    }

    /// The coverage up to now. May be called by any thread of the process.
    pub fn coverage(&self) -> Coverage {
        let now = cpu_ns(self.tid);
        let (mut outside_ns, mut paused_ns) = (self.outside_ns, self.paused_ns);
        if let Some((why, since)) = self.outside {
            *if why.is_some() { &mut outside_ns } else { &mut paused_ns } += now.saturating_sub(since);
        }
        Coverage {
            cpu_ns: now.saturating_sub(self.attached_ns).saturating_sub(paused_ns),
            outside_ns,
            leaves: self.leaves,
            ticks: self.ticks,
            unbooked_ns: self.unbooked_ns,
        }
    }
}

/// CPU time of a thread of this process, in nanoseconds; 0 where it has ended.
fn cpu_ns(tid: u32) -> u64 {
    /// The kernel's clock of one thread: `(~tid << 3) | 4 (one thread) | 2 (scheduler time)`
    /// (Linux, include/linux/posix-timers_types.h).
    const THREAD_SCHED: u32 = 0b110;
    let clock = !tid << 3 | THREAD_SCHED;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let arguments = [u64::from(clock), (&raw mut time) as u64, 0, 0, 0, 0];
    // SAFETY: a valid place for the answer.
    match unsafe { memory::call(libc::SYS_clock_gettime, arguments) } {
        Ok(_) => time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64,
        Err(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work() {
        let until = cpu_ns(Clock::start().tid()) + 2_000_000;
        while cpu_ns(Clock::start().tid()) < until {}
    }

    /// Two milliseconds inside, two outside, two inside: a third was outside, so at least 2 ms, and at most
    /// everything but 4 ms.
    #[test]
    fn time_outside_is_told_apart() {
        let mut clock = Clock::start();
        work();
        clock.leave(Leave::ForeignCode);
        work();
        let during = clock.coverage();
        clock.come_back();
        work();
        let after = clock.coverage();
        assert!(during.outside_ns >= 2_000_000 && after.outside_ns >= during.outside_ns);
        assert!(after.cpu_ns - after.outside_ns >= 4_000_000, "{after:?}");
        assert_eq!((after.leaves, clock.outside()), ([1, 0, 0, 0, 0, 0, 0, 0, 0, 0], None));
    }

    /// Two milliseconds inside, two while switched off, which do not show.
    #[test]
    fn time_switched_off_does_not_count() {
        let mut clock = Clock::start();
        work();
        let before = clock.coverage().cpu_ns;
        clock.pause();
        work();
        let during = clock.coverage();
        clock.come_back();
        let after = clock.coverage();
        assert!(
            during.cpu_ns < before + 1_000_000 && after.cpu_ns < before + 1_000_000,
            "{before} {during:?} {after:?}"
        );
        assert_eq!((after.outside_ns, after.leaves), (0, [0; Leave::COUNT]));
    }

    #[test]
    fn another_thread_can_ask_and_the_dead_have_no_time() {
        let (give, take) = std::sync::mpsc::channel();
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let clock = Clock::start();
            work();
            give.send(clock).unwrap();
            let _ended = wait.recv();
        });
        let clock = take.recv().unwrap();
        assert!(clock.coverage().cpu_ns >= 2_000_000);
        drop(end);
        thread.join().unwrap();
        // The kernel's thread may outlive the join by a moment.
        while cpu_ns(clock.tid()) != 0 {}
        assert_eq!(clock.coverage().cpu_ns, 0);
    }
}
