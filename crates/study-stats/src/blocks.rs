use std::collections::BTreeMap;

/// The largest number of blocks. After a halving 33 to 64 remain: enough for a variance with a relative error of
/// about √(2/32) = 25%, and few enough that a block of an ordinary run (0.1 s of 4 s) is much longer than the
/// correlation between samples.
pub const MAX_BLOCKS: usize = 64;

/// The finest block: 2^20 ns, about a millisecond.
const FINEST_SHIFT: u32 = 20;

/// The sums of one block of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Block {
    /// Weight of the observations that are hits.
    pub hits: f64,
    /// Sum of their squared weights.
    pub hits_squared: f64,
    /// Weight of all observations.
    pub weight: f64,
    /// The same of all observations.
    pub weight_squared: f64,
}

impl Block {
    pub(crate) fn add(&mut self, other: Self) {
        self.hits += other.hits;
        self.hits_squared += other.hits_squared;
        self.weight += other.weight;
        self.weight_squared += other.weight_squared;
    }
}

/// Weighted yes-or-no observations, summed up in at most [`MAX_BLOCKS`] blocks of equal duration.
///
/// Observations may come in any order and over any span: when there are too many blocks, neighbours are merged in
/// pairs. Times without observations take no block.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeBlocks {
    /// A block is 2^shift ns long; its key is the time divided by that length.
    shift: u32,
    blocks: BTreeMap<u64, Block>,
}

impl Default for TimeBlocks {
    fn default() -> Self {
        Self { shift: FINEST_SHIFT, blocks: BTreeMap::new() }
    }
}

impl TimeBlocks {
    /// Adds an observation at `time` in ns. Weights that are not finite and positive are ignored.
    pub fn observe(&mut self, time: u64, hit: bool, weight: f64) {
        let hits = if hit { weight } else { 0.0 };
        self.put(time, Block { hits, hits_squared: hits * hits, weight, weight_squared: weight * weight });
    }

    /// Adds only to the hits: for a part of a whole that is counted elsewhere, and joined by [`Self::of`].
    pub fn hit(&mut self, time: u64, weight: f64) {
        self.put(time, Block { hits: weight, hits_squared: weight * weight, ..Block::default() });
    }

    /// These hits as a part of the observations in `whole`, whose own hits are ignored.
    ///
    /// Assumes that every hit here was also observed there, at the same time.
    pub fn of(&self, whole: &Self) -> Self {
        let mut joined = whole.clone();
        for block in joined.blocks.values_mut() {
            (block.hits, block.hits_squared) = (0.0, 0.0);
        }
        let mut part = self.clone();
        part.coarsen_to(joined.shift);
        joined.coarsen_to(part.shift);
        for (key, block) in part.blocks {
            joined.blocks.entry(key).or_default().add(Block { weight: 0.0, weight_squared: 0.0, ..block });
        }
        joined
    }

    /// The blocks in order of time.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = Block> + Clone + '_ {
        self.blocks.values().copied()
    }

    /// The sums of all blocks.
    pub fn total(&self) -> Block {
        self.blocks().fold(Block::default(), |mut total, block| {
            total.add(block);
            total
        })
    }

    fn put(&mut self, time: u64, block: Block) {
        if !(block.hits_squared.is_finite()
            && block.weight_squared.is_finite()
            && block.hits.max(block.weight) > 0.0)
        {
            return;
        }
        self.blocks.entry(time >> self.shift).or_default().add(block);
        while self.blocks.len() > MAX_BLOCKS {
            self.coarsen_to(self.shift + 1);
        }
    }

    fn coarsen_to(&mut self, shift: u32) {
        // A shift by 63 already leaves at most two blocks, so `shift` never reaches the width of the time.
        let Some(by) = shift.checked_sub(self.shift).filter(|by| *by > 0) else { return };
        let mut coarse: BTreeMap<u64, Block> = BTreeMap::new();
        for (key, block) in std::mem::take(&mut self.blocks) {
            coarse.entry(key >> by).or_default().add(block);
        }
        self.blocks = coarse;
        self.shift = shift;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1 << FINEST_SHIFT;

    #[test]
    fn neighbours_are_put_together_when_there_are_too_many() {
        let mut blocks = TimeBlocks::default();
        for i in 0..65 {
            blocks.observe(i * MS, i % 2 == 0, 2.0);
        }
        // 65 blocks of one observation become 32 pairs and one left over.
        assert_eq!(blocks.blocks().len(), 33);
        assert_eq!(
            blocks.blocks().next(),
            Some(Block { hits: 2.0, hits_squared: 4.0, weight: 4.0, weight_squared: 8.0 })
        );
        // 33 even numbers below 65.
        assert_eq!(
            blocks.total(),
            Block { hits: 66.0, hits_squared: 132.0, weight: 130.0, weight_squared: 260.0 }
        );
    }

    #[test]
    fn the_order_of_arrival_does_not_matter() {
        let times: Vec<u64> = (0..500).map(|i| i * i * MS / 3).collect();
        let fill = |times: &mut dyn Iterator<Item = &u64>| {
            let mut blocks = TimeBlocks::default();
            times.for_each(|t| blocks.observe(*t, true, 1.0));
            blocks
        };
        assert_eq!(fill(&mut times.iter()), fill(&mut times.iter().rev()));
    }

    #[test]
    fn a_part_joins_its_whole() {
        let (mut whole, mut part) = (TimeBlocks::default(), TimeBlocks::default());
        for i in 0..128 {
            whole.observe(i * MS, false, 1.0);
            if i < 32 {
                part.hit(i * MS, 1.0);
            }
        }
        let joined = part.of(&whole);
        assert_eq!(
            joined.total(),
            Block { hits: 32.0, hits_squared: 32.0, weight: 128.0, weight_squared: 128.0 }
        );
        // 128 ms in 64 blocks of 2 ms; the hits fill the first 16.
        let hits: Vec<f64> = joined.blocks().map(|b| b.hits).collect();
        assert_eq!(hits, [[2.0; 16].as_slice(), &[0.0; 48]].concat());
    }

    #[test]
    fn extreme_times_and_weights_do_no_harm() {
        let mut blocks = TimeBlocks::default();
        for time in (0..200).map(|i| u64::MAX / 199 * i).chain([0, u64::MAX]) {
            blocks.observe(time, true, 1.0);
        }
        blocks.observe(1, true, f64::NAN);
        blocks.observe(1, true, f64::INFINITY);
        blocks.observe(1, true, 1e300);
        blocks.observe(1, true, -1.0);
        assert!(blocks.blocks().len() <= MAX_BLOCKS);
        assert_eq!(blocks.total().weight, 202.0);
    }
}
