//! What observation takes of a thread: the time of exits for samples and for touches of watched data.
//!
//! It is the whole of such an exit, as the thread is held: with decoding, translating and linking what the sample needs, and
//! what the observer does. Other exits are there without observation, too.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use carom_base::Sample;

/// The most that is booked for an exit, some 15 microseconds. What seems to take longer was mostly preempted: on a busy
/// machine one such exit would outweigh all others.
const LONGEST: u64 = 45_000;

/// What is not seen from within: to save and to restore registers, and the exit stub. By estimate, some 100
/// nanoseconds.
const PASSAGES: u64 = 300;

/// What exits took, in ticks of the time-stamp counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Those for samples, each as often as its period was doubled: what all samples would take at the shortest period.
    pub sampling: u64,
    /// Those for touches alone.
    pub watching: u64,
}

/// What an exit observes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Purpose {
    /// How often the period of its samples was doubled, at most; `None`: it takes none.
    sampled: Option<u8>,
    /// It touches watched data.
    touched: bool,
    /// Accesses that those stand for which were drawn.
    drawn: u64,
}

impl Purpose {
    /// It takes a sample, or draws one that will be taken, whose period was doubled this often.
    pub fn samples(&mut self, doublings: u8) {
        self.sampled = self.sampled.max(Some(doublings));
    }

    /// An access was drawn that stands for this many.
    pub fn draws(&mut self, accesses: u64) {
        self.drawn = self.drawn.saturating_add(accesses);
    }

    /// The sum over those that were drawn since the last call.
    pub fn take_drawn(&mut self) -> u64 {
        std::mem::take(&mut self.drawn)
    }

    /// It touches watched data.
    pub fn touches(&mut self) {
        self.touched = true;
    }
}

/// What exits took so far. Only the thread writes.
#[derive(Debug, Default)]
pub struct Spending {
    sampling: AtomicU64,
    watching: AtomicU64,
}

impl Spending {
    /// Books an exit that took `ticks`.
    pub fn book(&self, ticks: u64, purpose: Purpose) {
        let ticks = ticks.min(LONGEST) + PASSAGES;
        let (place, ticks) = match purpose {
            Purpose { sampled: Some(doublings), .. } => {
                (&self.sampling, ticks << doublings.min(Sample::MOST_DOUBLINGS))
            }
            Purpose { touched: true, .. } => (&self.watching, ticks),
            Purpose { .. } => return,
        };
        place.store(place.load(Relaxed).wrapping_add(ticks), Relaxed);
    }

    /// What was booked so far.
    pub fn so_far(&self) -> Spent {
        Spent { sampling: self.sampling.load(Relaxed), watching: self.watching.load(Relaxed) }
    }
}

impl Spent {
    /// What came since `earlier`; nothing where the thread has been detached since.
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            sampling: self.sampling.saturating_sub(earlier.sampling),
            watching: self.watching.saturating_sub(earlier.watching),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_stand_for_those_of_the_shortest_period() {
        let spending = Spending::default();
        let (mut sample, mut both, mut touch) = (Purpose::default(), Purpose::default(), Purpose::default());
        sample.samples(0);
        [0, 3, 1].into_iter().for_each(|doublings| both.samples(doublings));
        both.touches();
        touch.touches();
        spending.book(1000, sample);
        let before = spending.so_far();
        spending.book(1000, both);
        spending.book(500, touch);
        spending.book(u64::MAX, touch);
        spending.book(1000, Purpose::default());
        let later = spending.so_far().since(before);
        assert_eq!(later.sampling, (1000 + PASSAGES) * 8);
        assert_eq!(later.watching, 500 + LONGEST + 2 * PASSAGES);
        assert_eq!(Spent::default().since(before), Spent::default());
    }
}
