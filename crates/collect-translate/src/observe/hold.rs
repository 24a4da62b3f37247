//! How long threads are held: a thread that has left translated code stands while others go on, which natively it would
//! not have.
//!
//! Its *running time* is the time, of the time-stamp counter, without that. System calls of the program that are made on its
//! behalf belong to it.

use std::{
    arch::x86_64::_rdtsc,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use crate::{
    engine::calling::current_books,
    lane::watches::Watches,
    memory::{LANES, LaneId, call},
};

/// Holds that a thread remembers one by one: two for each sample, and for each touch of a watched line.
const REMEMBERED: usize = 16;

/// The holds of one lane's threads, one after the other. Changed by the thread, read by any.
struct Holds {
    /// All that are over, together.
    total: AtomicU64,
    /// When the one began that is going on; 0 where none is.
    since: AtomicU64,
    /// How many are over, and when the latest began and ended, by number.
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

/// What it takes to change the signal mask, as is done on both ways between the program and the engine, where the time is not
/// taken.
static PASSAGE: AtomicU64 = AtomicU64::new(0);

/// How a thread has been held, up to some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// For how long, without the hold that is going on.
    pub total: u64,
    /// Since when it is held now.
    pub since: Option<u64>,
}

impl Held {
    /// How long the thread had run at a time not before its last hold: since the counter was 0, as if it had run before it was
    /// attached.
    pub fn ran(&self, at: u64) -> u64 {
        at.min(self.since.unwrap_or(u64::MAX)).saturating_sub(self.total)
    }

    /// The same for how long it was held.
    pub fn held(&self, at: u64) -> u64 {
        at.saturating_sub(self.ran(at))
    }
}

impl Watches {
    /// How the thread has been held whose tables these are.
    pub fn held(self) -> Held {
        let Some(holds) = HOLDS.get(usize::from(self.index())) else { return Held::default() };
        // A hold that ends in between is read as if it had just ended, or not begun.
        let since = holds.since.load(Relaxed);
        Held { total: holds.total.load(Relaxed), since: (since != 0).then_some(since) }
    }

    /// How long the thread whose tables these are, which asks, has run from a time on up to its stop. `None` where it was stopped
    /// before, or has been held more often since than it remembers.
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

/// Now, by the time-stamp counter.
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has it.
    unsafe { _rdtsc() }
}

/// The calling thread is held from here to the end of this value, where it is attached. Holds do not nest.
#[must_use = "the hold ends with it"]
pub struct Hold(Option<LaneId>);

/// See [`Hold`].
pub fn hold() -> Hold {
    // SAFETY: the calling thread's, whose lane does not change.
    let lane = current_books().map(|books| unsafe { books.as_ref() }.lane);
    begin(lane)
}

/// As [`hold`], of the calling thread, in the dispatcher.
pub(crate) fn begin(lane: Option<LaneId>) -> Hold {
    if let Some(holds) = lane.and_then(|lane| HOLDS.get(lane.index())) {
        holds.since.store(ticks().saturating_sub(PASSAGE.load(Relaxed)), Relaxed);
    }
    Hold(lane)
}

impl Drop for Hold {
    fn drop(&mut self) {
        let Some(holds) = self.0.and_then(|lane| HOLDS.get(lane.index())) else { return };
        let until = ticks().saturating_add(PASSAGE.load(Relaxed));
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
    }
}

/// Measures what is not seen of holds from within.
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
