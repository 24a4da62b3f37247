//! Samples that were drawn when their block began and are taken in front of their instructions.

use crate::probes::strata::{self, Due};

/// The largest number of samples that are kept.
const MOST: usize = 16;

/// Samples of a thread's blocks that have begun. A signal handler of the program may run before they are taken, and have
/// samples of its own, in the same block, too; so what was drawn last is taken first.
#[derive(Debug, Default)]
pub struct Pending(Vec<One>);

#[derive(Clone, Copy, Debug)]
struct One {
    /// The block, and which of its loads, or of its stores if the flag is true.
    access: (u64, u32, bool),
    doublings: u8,
    weight: f32,
}

impl Pending {
    /// Adds the samples that are due in an execution of `block`. Those of executions that were given up are forgotten when
    /// there are too many.
    pub fn add(&mut self, block: u64, due: &Due, weight: f32) {
        for ((nth, store), doublings) in due.accesses().zip(due.doublings()) {
            if self.0.len() == MOST {
                self.0.remove(0);
            }
            self.0.push(One { access: (block, nth, store), doublings, weight });
        }
    }

    /// Takes a sample: how often its period was doubled, and its weight. If it was forgotten, the period is what it is now.
    pub fn take(&mut self, block: u64, nth: u32, store: bool) -> (u8, Option<f32>) {
        match self.0.iter().rposition(|one| one.access == (block, nth, store)) {
            Some(place) => {
                let One { doublings, weight, .. } = self.0.remove(place);
                (doublings, Some(weight))
            }
            None => (strata::doublings(), None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(accesses: &[(u32, bool, u8)]) -> Due {
        let mut due = Due::default();
        accesses.iter().for_each(|(nth, store, doublings)| due.push(*nth, *store, *doublings));
        due
    }

    /// A handler interrupts a block with two samples, and runs the same block with one.
    #[test]
    fn each_sample_has_what_it_was_drawn_with() {
        let mut pending = Pending::default();
        pending.add(100, &due(&[(3, false, 1), (3, true, 2)]), 1.0);
        pending.add(100, &due(&[(3, false, 4)]), 8.0);
        assert_eq!(pending.take(100, 3, false), (4, Some(8.0)));
        assert_eq!(pending.take(100, 3, false), (1, Some(1.0)));
        assert_eq!(pending.take(100, 3, true), (2, Some(1.0)));
        assert_eq!(pending.take(100, 3, true), (0, None));
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut pending = Pending::default();
        (0..100).for_each(|block| pending.add(block, &due(&[(0, false, 5)]), 1.0));
        assert_eq!(pending.0.len(), MOST);
        assert_eq!((pending.take(99, 0, false).0, pending.take(83, 0, false).0), (5, 0));
    }
}
