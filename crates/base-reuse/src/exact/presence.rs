//! Which stacks may have places of a block, and of which kinds.

use super::{grid::Kinds, hash::product};

/// The number of stacks that are distinguished; stacks with equal remainders are not.
const BITS: usize = 48;

const FEWEST_WORDS: usize = 1 << 10;

/// For each block of neighbouring places a set of stacks, followed by one of the places' [kinds](Kinds). Blocks may
/// collide, and nothing is ever removed: a set may name too many, never too few. One word per block, where a
/// directory would need an entry per place.
#[derive(Clone, Debug)]
pub(super) struct Presence {
    words: Vec<u64>,
    /// Words that are not empty.
    used: usize,
}

impl Presence {
    pub fn new() -> Self {
        Self { words: vec![0; FEWEST_WORDS], used: 0 }
    }

    /// An empty one with twice as many words.
    pub fn larger(&self) -> Self {
        Self { words: vec![0; self.words.len() * 2], used: 0 }
    }

    /// Whether so many blocks have collided that a larger one would pay.
    pub fn is_crowded(&self) -> bool {
        self.used * 2 > self.words.len()
    }

    /// The stack has places of this block, of these kinds.
    pub fn note(&mut self, block: u64, stack: usize, kinds: Kinds) {
        let at = self.at(block);
        self.used += usize::from(self.words[at] == 0);
        self.words[at] |= bit(stack) | u64::from(kinds.0) << BITS;
    }

    /// Stacks that may have some, for [`members`](Self::members), and of which [`kinds`](Self::kinds).
    pub fn of(&self, block: u64) -> u64 {
        self.words[self.at(block)]
    }

    /// The stacks below `count` that a set may name.
    pub fn members(set: u64, count: usize) -> impl Iterator<Item = usize> {
        let bits = (0..BITS.min(count)).filter(move |bit| set >> bit & 1 != 0);
        bits.flat_map(move |bit| (bit..count).step_by(BITS))
    }

    /// The kinds that a set may name.
    pub fn kinds(set: u64) -> Kinds {
        Kinds((set >> BITS) as u16)
    }

    fn at(&self, block: u64) -> usize {
        (product(block) >> (u64::BITS - self.words.len().ilog2())) as usize
    }
}

fn bit(stack: usize) -> u64 {
    1 << (stack % BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_names_every_stack_that_was_noted() {
        let mut presence = Presence::new();
        for (stack, kinds) in [(0, 1), (3, 1), (48 + 3, 1 << 15), (98, 0)] {
            presence.note(17, stack, Kinds(kinds));
        }
        // Bits 0, 2 and 3.
        let members: Vec<usize> = Presence::members(presence.of(17), 99).collect();
        assert_eq!(members, [0, 48, 96, 2, 50, 98, 3, 51]);
        assert_eq!(Presence::kinds(presence.of(17)), Kinds(1 | 1 << 15));
        assert_eq!(presence.larger().of(17), 0);
        assert!(!presence.is_crowded());
        (0..1000).for_each(|block| presence.note(block, 1, Kinds::default()));
        assert!(presence.is_crowded());
    }
}
