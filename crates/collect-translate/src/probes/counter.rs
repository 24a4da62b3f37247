//! Counters: what their units are and what each stands for.

use carom_base_insn::{Iteration, StaticAccess};

use super::{mode::Version, totals::Counts};
use crate::decode::block::{Block, Packed, Sums};

/// What a counter's units are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Executions of a block.
    Execution,
    /// Iterations of a repeated instruction.
    Iteration,
    /// Active lanes of an instruction.
    Lane,
}

/// A description of one counter.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// The block, or the instruction.
    pub pc: u64,
    /// The start of its code in the cache.
    pub cache: u64,
    /// The unit that is counted down.
    pub unit: Unit,
    /// The counts that one unit stands for.
    pub sums: Packed,
    /// The block's first template, where its accesses are streamed.
    pub template: Option<u32>,
    /// The counter counts only executions of the block to which a branch fell through; that branch's block has
    /// counted the branch as taken.
    pub fallen: bool,
    /// The block is part of a superblock (`emit::superblocks`), and this is the number of the counter of the block before it. The
    /// block is executed as often as that one, less what this counter counts: how often the branch between them led elsewhere.
    pub rest_of: Option<u32>,
    /// The version of the code that counts.
    pub version: Version,
}

impl Counter {
    /// Executions of a block whose code begins at `cache`.
    pub fn block(block: &Block, cache: u64) -> Self {
        let sums = Packed::of(&block.sums);
        Self {
            pc: block.pc,
            cache,
            unit: Unit::Execution,
            sums,
            template: None,
            fallen: false,
            rest_of: None,
            version: Version::Plain,
        }
    }

    /// Passes of a place that leads to the block at `pc`, which is counted elsewhere.
    pub fn no_block(pc: u64, cache: u64) -> Self {
        let sums = Packed::of(&Sums::default());
        Self {
            pc,
            cache,
            unit: Unit::Execution,
            sums,
            template: None,
            fallen: false,
            rest_of: None,
            version: Version::Plain,
        }
    }

    /// The counts that one unit stands for.
    pub const fn sums(&self) -> Sums {
        self.sums.sums()
    }

    /// Adds the counts of this many units.
    pub fn add(&self, units: i64, counts: &mut Counts) {
        counts.add(units, &self.sums());
        counts.branches_taken -= self.falls(units);
    }

    /// The number of branches that fell through, for this many units.
    pub const fn falls(&self, units: i64) -> i64 {
        if self.fallen { units } else { 0 }
    }

    /// Active lanes of the instruction at `pc`, whose code begins at `cache`, each of which is such an access.
    pub fn lanes(pc: u64, cache: u64, lane: StaticAccess) -> Self {
        let [loads, stores] = [lane.kind.reads(), lane.kind.writes()].map(u32::from);
        let (loaded_bytes, stored_bytes) = (loads * lane.width, stores * lane.width);
        let sums = Sums { loads, stores, loaded_bytes, stored_bytes, ..Sums::default() };
        Self {
            pc,
            cache,
            unit: Unit::Lane,
            sums: Packed::of(&sums),
            template: None,
            fallen: false,
            rest_of: None,
            version: Version::Plain,
        }
    }

    /// Iterations of the repeated instruction at `pc`, whose code begins at `cache`.
    pub fn iterations(pc: u64, cache: u64, iteration: &Iteration) -> Self {
        let sums = Sums {
            loads: iteration.loads,
            stores: iteration.stores,
            loaded_bytes: iteration.loaded_bytes,
            stored_bytes: iteration.stored_bytes,
            ..Sums::default()
        };
        let (unit, sums) = (Unit::Iteration, Packed::of(&sums));
        Self { pc, cache, unit, sums, template: None, fallen: false, rest_of: None, version: Version::Plain }
    }
}
