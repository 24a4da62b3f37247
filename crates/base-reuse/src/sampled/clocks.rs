//! Distances where threads are held: while the profiler works in one thread, the others go on, which would not happen
//! natively.
//!
//! A thread's *running time* stops while it is held. From a use to its end the using thread has run for some time;
//! natively the others would have run for as long. So the number of accesses in between is the number that they made
//! meanwhile, divided by the time that they ran, times the time that the using thread ran. That leaves out what they
//! did while it was held, and makes up for what they could not do while they were held themselves. The using thread's
//! own accesses are counted exactly.

use carom_base::{Scope, ThreadId};

use super::config::Positions;
use crate::Domain;

/// The state of the clocks, as read by a thread that is held. Times have one unit and one origin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clocks {
    /// Since when the reading thread is held.
    pub stopped: u64,
    /// How long the thread had run at `stopped`.
    pub ran: u64,
    /// When the accesses were read.
    pub asked: u64,
    /// How long the thread had run by then.
    pub ran_when_asked: u64,
    /// The other threads of its domain.
    pub others: u32,
    /// The total time for which these have been held.
    pub held: u64,
    /// The thread's recent accesses per unit of running time.
    pub pace: f64,
    /// Running times below this are imprecise: stopping a thread takes a good part of them.
    pub grain: u64,
}

/// The position of a thread, and of its domain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Stand {
    /// Accesses of the thread.
    pub own: u64,
    /// Accesses by which the distance is measured: those of all threads of the domain, or those of the thread.
    pub all: u64,
    /// `None` where threads are not held.
    pub clocks: Option<Clocks>,
}

/// The moment at which a distance ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Until {
    /// The using thread was stopped before an access.
    Stopped,
    /// Another thread touched the place when the using thread would have run for this long.
    After(u64),
    /// Now.
    Now,
}

/// The smallest fraction of the time for which others count as having run: below it the rate is too uncertain.
const LEAST_PART: u64 = 8;

impl Stand {
    /// Of a thread and its domain.
    pub fn of(positions: &impl Positions, scope: Scope, thread: ThreadId, domain: Domain) -> Self {
        let own = positions.of_thread(thread);
        let all = match scope {
            Scope::Private => own,
            Scope::Shared => positions.of_domain(domain),
        };
        Self { own, all, clocks: positions.clocks(thread, domain) }
    }

    /// How long the thread has run from `start` until the reading thread was stopped, but no longer than it needs for
    /// the accesses that it has made.
    pub fn window(&self, start: &Self) -> u64 {
        let (Some(begin), Some(end)) = (&start.clocks, &self.clocks) else { return 0 };
        let ran = end.ran.saturating_sub(begin.ran);
        if ran < end.grain && end.pace > 0.0 {
            return ran.min((self.own.saturating_sub(start.own) as f64 / end.pace) as u64);
        }
        ran
    }

    /// Accesses from `start` to that moment.
    pub fn distance(&self, start: &Self, until: Until) -> u64 {
        let (Some(begin), Some(end)) = (&start.clocks, &self.clocks) else {
            return self.all.saturating_sub(start.all);
        };
        let made = self.own.saturating_sub(start.own);
        let ran = end.ran_when_asked.saturating_sub(begin.ran);
        let (own, window) = match until {
            Until::Stopped => (made, self.window(start)),
            Until::Now => (made, ran),
            Until::After(window) if window <= ran => (scaled(made, window, ran), window),
            // The thread lags behind.
            Until::After(window) => ((end.pace * window as f64) as u64, window),
        };
        let others = (self.all - self.own.min(self.all)).saturating_sub(start.all - start.own.min(start.all));
        let time = end.asked.saturating_sub(begin.asked);
        let held = end.held.saturating_sub(begin.held) / u64::from(end.others.max(1));
        own.saturating_add(scaled(others, window, time.saturating_sub(held).max(time / LEAST_PART)))
    }
}

fn scaled(accesses: u64, part: u64, whole: u64) -> u64 {
    (u128::from(accesses) * u128::from(part) / u128::from(whole.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The thread runs from 0 to 1000, is held until 5000, and runs from then on. Others make two accesses per unit
    /// of time, it makes one.
    fn stand(own: u64, ran: u64, asked: u64, held: u64) -> Stand {
        let clocks = Clocks {
            stopped: asked,
            ran,
            asked,
            ran_when_asked: ran,
            others: 1,
            held,
            pace: 1.0,
            grain: 100,
        };
        Stand { own, all: own + 2 * (asked - held), clocks: Some(clocks) }
    }

    #[test]
    fn what_others_do_while_a_thread_is_held_is_not_between() {
        let start = stand(1000, 1000, 2000, 0);
        // Resumed at 5000, it is stopped 300 later, and reads the clocks at 6000.
        let end = stand(1300, 1300, 6000, 0);
        assert_eq!(end.distance(&start, Until::Stopped), 300 + 600);
        // At once: the 20 units that stopping took are not running time.
        let end = stand(1002, 1020, 6000, 0);
        assert_eq!(end.distance(&start, Until::Stopped), 2 + 4);
    }

    /// The other was held for half of the time: it would have made twice as many accesses.
    #[test]
    fn what_others_would_have_done_is_made_up_for() {
        let start = stand(1000, 1000, 2000, 0);
        let end = stand(3000, 3000, 6000, 2000);
        assert_eq!(end.distance(&start, Until::Stopped), 2000 + 4000);
    }

    /// While the thread is still held, it would have continued at its pace.
    #[test]
    fn a_touch_by_another_is_as_far_as_the_thread_would_be() {
        let start = stand(1000, 1000, 2000, 0);
        assert_eq!(stand(1000, 1000, 3000, 0).distance(&start, Until::After(50)), 50 + 100);
        assert_eq!(stand(1500, 1500, 5000, 0).distance(&start, Until::After(250)), 250 + 500);
    }

    #[test]
    fn where_nobody_is_held_positions_say_it_all() {
        let [start, end] = [(10, 30), (15, 50)].map(|(own, all)| Stand { own, all, clocks: None });
        assert_eq!((end.distance(&start, Until::Now), end.window(&start)), (20, 0));
    }
}
