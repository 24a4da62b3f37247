//! Which stacks may have places of a block.

/// Stacks that are told apart; of more, those with equal remainders look alike.
const BITS: usize = u64::BITS as usize;

const FEWEST_WORDS: usize = 1 << 10;

/// From the fraction of the golden ratio.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// A set of stacks for each block of neighbouring places. Blocks may fall together, and nothing is ever taken out: it
/// names too many stacks sometimes, too few never. One word per block, where a directory would need an entry per place.
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

    /// So many blocks have fallen together that a larger one would pay.
    pub fn is_crowded(&self) -> bool {
        self.used * 2 > self.words.len()
    }

    /// The stack has places of this block.
    pub fn note(&mut self, block: u64, stack: usize) {
        let at = self.at(block);
        self.used += usize::from(self.words[at] == 0);
        self.words[at] |= bit(stack);
    }

    /// Stacks that may have, for [`members`](Self::members).
    pub fn of(&self, block: u64) -> u64 {
        self.words[self.at(block)]
    }

    /// The stacks below `count` that a set may mean.
    pub fn members(set: u64, count: usize) -> impl Iterator<Item = usize> {
        let bits = (0..BITS.min(count)).filter(move |bit| set >> bit & 1 != 0);
        bits.flat_map(move |bit| (bit..count).step_by(BITS))
    }

    fn at(&self, block: u64) -> usize {
        (block.wrapping_mul(MULTIPLIER) >> (u64::BITS - self.words.len().ilog2())) as usize
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
        for stack in [0, 3, 64 + 3, 130] {
            presence.note(17, stack);
        }
        // Bits 0, 2 and 3.
        let members: Vec<usize> = Presence::members(presence.of(17), 131).collect();
        assert_eq!(members, [0, 64, 128, 2, 66, 130, 3, 67]);
        assert_eq!(presence.larger().of(17), 0);
        assert!(!presence.is_crowded());
        (0..1000).for_each(|block| presence.note(block, 1));
        assert!(presence.is_crowded());
    }
}
