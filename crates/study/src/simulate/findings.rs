use carom_base::{Addr, ProcessId, ThreadId};
use carom_base_sim::{Counts, Machine, Matrix, Sharing};

use super::{
    Comparison, Matched, Order, WhatIf,
    cost::{coherence_cycles, cycles},
};
use crate::{
    recording::Losses,
    symbols::{DataObject, Frame},
};

/// What the simulated caches did.
#[derive(Clone, Debug)]
pub struct SimulateFindings {
    /// The machine's name.
    pub name: String,
    /// The machine.
    pub machine: Machine,
    /// The order of threads.
    pub order: Order,
    /// The synchronisations that it went by, where it did.
    pub matched: Option<Matched>,
    /// Why it was not simulated, if it was not.
    pub problem: Option<String>,
    /// Of all accesses.
    pub total: Counts,
    /// Source lines, or instructions where no line is known, the one that costs most cycles first.
    pub sites: Vec<Site>,
    /// Instructions that are in no site.
    pub other_sites: usize,
    /// Data whose lines cores took from each other, the most often taken first.
    pub objects: Vec<Taken>,
    /// Taken lines that are in none of `objects`.
    pub unnamed_lines: usize,
    /// Lines of memory that cores took from each other, the most often taken one first.
    pub lines: Vec<LineFinding>,
    /// Lines that are not in `lines`.
    pub other_lines: usize,
    /// The threads of each core that accessed something.
    pub cores: Vec<Vec<ThreadId>>,
    /// The mean number of accesses that one thread made in a row, where at least two busy threads took turns.
    pub turn: Option<u64>,
    /// Accesses that a reduced trace lacks, although it has a later one of the same basic block and line: these were simulated, too.
    pub implied: u64,
    /// Invalidations: row, the core that stored; column, the core that lost its copy.
    pub invalidations: Matrix<Sharing>,
    /// Lines sent from core to core: row, the core that had it; column, the core that got it.
    pub transfers: Matrix<u64>,
    /// What the changed layout does, if one was asked for; or why it was not simulated.
    pub what_if: Option<Result<WhatIf, String>>,
    /// This trace beside the full one, if it was given.
    pub comparison: Option<Comparison>,
    /// Why some accesses could not be read, where that is so.
    pub damage: Option<String>,
    /// What was lost while recording.
    pub losses: Losses,
}

/// The accesses of a source line, or of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// The process.
    pub process: ProcessId,
    /// The function and its line; behind it those that it was inlined into.
    pub path: Vec<Frame>,
    /// The data, if some of it is known.
    pub object: Option<DataObject>,
    /// What its accesses did.
    pub counts: Counts,
}

/// Data whose lines cores took from each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// The data.
    pub object: DataObject,
    /// How often lines of it were taken.
    pub sharing: Sharing,
    /// How many lines of it were.
    pub lines: usize,
}

/// A line of memory that cores took from each other.
#[derive(Clone, Debug, PartialEq)]
pub struct LineFinding {
    /// The process.
    pub process: ProcessId,
    /// Its first byte.
    pub address: Addr,
    /// Its data.
    pub object: DataObject,
    /// How often it was taken.
    pub sharing: Sharing,
    /// By what from what, the most frequent first.
    pub pairs: Vec<Pair>,
    /// Pairs that are not in `pairs`.
    pub other_pairs: usize,
}

/// Stores of one place that took a line from another.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// What stored.
    pub by: Vec<Frame>,
    /// What had brought the line to the core that lost it.
    pub of: Vec<Frame>,
    /// How often.
    pub sharing: Sharing,
    /// The bytes that were stored to.
    pub stored: Part,
    /// The bytes that the core which lost the line had accessed.
    pub accessed: Part,
}

/// Bytes of a line, from the first one to the last one of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// From the line's first byte.
    pub offset: u32,
    /// How many.
    pub width: u32,
    /// The variable or field.
    pub field: Option<String>,
}

impl SimulateFindings {
    /// Nothing was simulated.
    pub(super) fn none(name: String, machine: Machine, losses: Losses, problem: String) -> Self {
        Self {
            name,
            machine,
            order: Order::default(),
            matched: None,
            problem: Some(problem),
            total: Counts::default(),
            sites: Vec::new(),
            other_sites: 0,
            objects: Vec::new(),
            unnamed_lines: 0,
            lines: Vec::new(),
            other_lines: 0,
            cores: Vec::new(),
            turn: None,
            implied: 0,
            invalidations: Matrix::default(),
            transfers: Matrix::default(),
            what_if: None,
            comparison: None,
            damage: None,
            losses,
        }
    }

    /// Cycles that accesses of these counts wait for what L1 lacks, by usual latencies and without overlap.
    pub fn cycles(&self, counts: &Counts) -> f64 {
        cycles(counts)
    }

    /// The part of them that is for lines which other cores have written, or have copies of.
    pub fn coherence_cycles(&self, counts: &Counts) -> f64 {
        coherence_cycles(counts, self.machine.l2.is_some())
    }
}
