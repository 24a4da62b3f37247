//! How long threads are held: a thread that has left translated code stands still while others go on, which would not
//! happen natively.
//!
//! Its *running time*, by the time-stamp counter, excludes that time. System calls of the program that the engine
//! makes for it are running time.

use std::{
    arch::x86_64::_rdtsc,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use crate::{
    engine::calling::current_books,
    lane::watches::Watches,
    memory::{LANES, LaneId, call},
};

/// The number of holds that a thread remembers individually: two for each sample, and for each touch of a watched
/// line.
const REMEMBERED: usize = 16;

/// The holds of one lane's threads, one after the other. Written by the thread, read by any.
struct Holds {
    /// The sum of all completed holds.
    total: AtomicU64,
    /// The start of the hold in progress; 0 for none.
    since: AtomicU64,
    /// The number of completed holds, and the start and end of the latest ones, by number.
    over: AtomicU64,
    latest: [[AtomicU64; 2]; REMEMBERED],
}

impl Holds {
    const fn none() -> Self {
        Self {
            total: AtomicU64::new(0),
            since: AtomicU64::new(0),
            over: AtomicU64::new(0),
            latest: [const { [AtomicU64::new(0), AtomicU64::new(0)] }; REMEMBERED],
        }
    }
}

static HOLDS: [Holds; LANES] = [const { Holds::none() }; LANES];

/// The time to change the signal mask, which happens outside of the measured time on both ways between the program and the
/// engine, except where signals are only deferred.
static PASSAGE: AtomicU64 = AtomicU64::new(0);

/// How long a thread has been held, up to some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// The sum of all holds, without the one in progress.
    pub total: u64,
    /// The start of the hold in progress.
    pub since: Option<u64>,
}

impl Held {
    /// How long the thread had run at a time that is not before its last hold: counted from the counter's 0, as if it
    /// had run before it was attached.
    pub fn ran(&self, at: u64) -> u64 {
        at.min(self.since.unwrap_or(u64::MAX)).saturating_sub(self.total)
    }

    /// The same for how long it was held.
    pub fn held(&self, at: u64) -> u64 {
        at.saturating_sub(self.ran(at))
    }
}

impl Watches {
    /// How long the thread with these tables has been held.
    pub fn held(self) -> Held {
        let Some(holds) = HOLDS.get(usize::from(self.index())) else { return Held::default() };
        // If a hold ends in between, the result is as if it had just ended, or not begun.
        let since = holds.since.load(Relaxed);
        Held { total: holds.total.load(Relaxed), since: (since != 0).then_some(since) }
    }

    /// How long the calling thread, whose tables these are, ran from a time on until it was stopped. `None` where it
    /// was stopped before, or has been held more often since than it remembers.
    pub fn ran_since(self, at: u64) -> Option<u64> {
        let holds = HOLDS.get(usize::from(self.index()))?;
        let since = holds.since.load(Relaxed);
        let mut ran = since.checked_sub(at)?;
        let over = holds.over.load(Relaxed);
        for number in (0..over).rev() {
            let [begin, end] = holds.latest.get(number as usize % REMEMBERED)?;
            let (begin, end) = (begin.load(Relaxed), end.load(Relaxed));
            if end <= at {
                return Some(ran);
            }
            if over - number > REMEMBERED as u64 {
                return None;
            }
            ran = ran.saturating_sub(end - begin.max(at));
        }
        Some(ran)
    }
}

/// The time-stamp counter now.
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has it.
    unsafe { _rdtsc() }
}

/// The calling thread, if attached, is held until this value is dropped. Holds do not nest.
#[must_use = "the hold ends with it"]
pub struct Hold {
    lane: Option<LaneId>,
    /// The time of each passage.
    passage: u64,
}

/// See [`Hold`].
pub fn hold() -> Hold {
    // SAFETY: the calling thread's, whose lane does not change.
    let lane = current_books().map(|books| unsafe { books.as_ref() }.lane);
    begin(lane, false)
}

/// As [`hold`], for the calling thread in the dispatcher, where signals are deferred or blocked.
pub(crate) fn begin(lane: Option<LaneId>, defers: bool) -> Hold {
    let passage = if defers { 0 } else { PASSAGE.load(Relaxed) };
    if let Some(holds) = lane.and_then(|lane| HOLDS.get(lane.index())) {
        holds.since.store(ticks().saturating_sub(passage), Relaxed);
    }
    Hold { lane, passage }
}

impl Hold {
    /// Ends it. Returns how long it was, in ticks.
    pub(crate) fn end(self) -> u64 {
        let held = self.note();
        std::mem::forget(self);
        held
    }

    fn note(&self) -> u64 {
        let Some(holds) = self.lane.and_then(|lane| HOLDS.get(lane.index())) else { return 0 };
        let until = ticks().saturating_add(self.passage);
        let since = holds.since.load(Relaxed);
        let over = holds.over.load(Relaxed);
        if let Some([begin, end]) = holds.latest.get(over as usize % REMEMBERED) {
            begin.store(since, Relaxed);
            end.store(until, Relaxed);
        }
        holds.over.store(over + 1, Relaxed);
        let held = until.saturating_sub(since);
        holds.total.store(holds.total.load(Relaxed).saturating_add(held), Relaxed);
        holds.since.store(0, Relaxed);
        held
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.note();
    }
}

/// Measures the parts of holds that are not visible from within.
pub(crate) fn calibrate() {
    const TRIALS: usize = 64;
    let mut mask = 0u64;
    let arguments = [libc::SIG_SETMASK as u64, 0, (&raw mut mask) as u64, size_of::<u64>() as u64, 0, 0];
    let trial = || {
        let begin = ticks();
        // SAFETY: no new mask, and a valid place for the old one.
        let _ = unsafe { call(libc::SYS_rt_sigprocmask, arguments) };
        ticks().saturating_sub(begin)
    };
    PASSAGE.store((0..TRIALS).map(|_| trial()).min().unwrap_or(0), Relaxed);
}
