use super::Slot;
use crate::machine::Replacement;

/// What tells which way of a full set makes room.
#[derive(Debug)]
pub enum Order {
    /// By slot: when it was used last, 0 where it is empty. Only times of one set are compared, so a part of the sets has the
    /// same order as all of them.
    Lru { uses: Vec<u64>, now: u64 },
    /// By set: the nodes of a binary tree over the ways, the root at bit 1 and the children of node `n` at `2n` and
    /// `2n + 1`. A bit that is set leads to the upper half.
    Plru { trees: Vec<u64>, levels: u32 },
    /// By set: the state of a generator, so that other sets have no influence.
    Random { states: Vec<u32> },
}

impl Order {
    pub fn new(replacement: Replacement, sets: usize, ways: usize, seed: u64) -> Self {
        match replacement {
            Replacement::Lru => Self::Lru { uses: vec![0; sets * ways], now: 0 },
            Replacement::Plru => Self::Plru { trees: vec![0; sets], levels: ways.trailing_zeros() },
            Replacement::Random => {
                Self::Random { states: (0..sets as u64).map(|set| start(seed.wrapping_add(set))).collect() }
            }
        }
    }

    #[inline]
    pub fn used(&mut self, set: usize, way: usize, slot: Slot) {
        match self {
            Self::Lru { uses, now } => {
                *now += 1;
                uses[slot] = *now;
            }
            Self::Plru { trees, levels } => trees[set] = away(trees[set], *levels, way),
            Self::Random { .. } => {}
        }
    }

    /// The slot is empty from now on.
    #[inline]
    pub fn removed(&mut self, slot: Slot) {
        if let Self::Lru { uses, .. } = self {
            uses[slot] = 0;
        }
    }

    /// The way that makes room: the lowest empty one, or else that of the line which goes.
    #[inline]
    pub fn victim(&mut self, set: usize, ways: usize, is_empty: impl FnMut(usize) -> bool) -> usize {
        let empty = |is_empty| (0..ways).position(is_empty);
        match self {
            // An empty one counts as the oldest.
            Self::Lru { uses, .. } => {
                let uses = &uses[set * ways..(set + 1) * ways];
                let oldest = uses.iter().enumerate().min_by_key(|(_, used)| **used);
                oldest.map_or(0, |(way, _)| way)
            }
            Self::Plru { trees, levels } => empty(is_empty).unwrap_or_else(|| {
                let tree = trees[set];
                let leaf = (0..*levels).fold(1, |node, _| 2 * node + (tree >> node & 1) as usize);
                leaf - ways
            }),
            Self::Random { states } => empty(is_empty).unwrap_or_else(|| {
                let state = next(states[set]);
                states[set] = state;
                // The upper half of the product: without bias that could matter for at most 256 ways.
                ((u64::from(state) * ways as u64) >> 32) as usize
            }),
        }
    }
}

/// The tree with all nodes on the path to `way` leading away from it.
fn away(mut tree: u64, levels: u32, way: usize) -> u64 {
    let mut node = 1;
    for level in (0..levels).rev() {
        let upper = (way >> level & 1) as u64;
        tree = tree & !(1 << node) | (upper ^ 1) << node;
        node = 2 * node + upper as usize;
    }
    tree
}

/// A state that is not 0, from a seed (the finaliser of SplitMix64: Steele, Lea, Flood, OOPSLA 2014).
fn start(seed: u64) -> u32 {
    let mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ mixed >> 31) as u32).max(1)
}

/// Xorshift of 32 bits (Marsaglia, Journal of Statistical Software 8(14), 2003).
fn next(mut state: u32) -> u32 {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    state
}
