use std::{collections::BTreeMap, path::PathBuf};

use carom_base::StackId;
use carom_base_sim::{Counts, Results};

use crate::{recording::Names, simulate::instructions::Instruction, symbols::Frame};

/// What coherence did at each reference of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// Those with coherence misses or invalidations.
    pub(super) by_place: BTreeMap<Place, Coherence>,
    /// All accesses of the trace.
    pub(super) volume: Volume,
    /// All references together.
    pub(super) total: Coherence,
}

/// A reference: a place of the source as in the paper or, where no line is known, an instruction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// File and line.
    Line(String, u32),
    /// The executable or library, and the address that it states.
    Instruction(Option<PathBuf>, u64),
}

/// The metrics of a reference (Marathe, Mueller and de Supinski, sections 4 and 8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coherence {
    /// Coherence misses by accesses that read.
    pub load_misses: u64,
    /// Invalidations caused, by true sharing.
    pub true_sharing: u64,
    /// Invalidations caused, by false sharing.
    pub false_sharing: u64,
}

/// Accesses of a trace; a read-modify-write is one of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Those that read.
    pub loads: u64,
    /// Those that write.
    pub stores: u64,
}

impl Coherence {
    /// Invalidations caused.
    pub const fn invalidations(&self) -> u64 {
        self.true_sharing + self.false_sharing
    }

    fn of(counts: &Counts) -> Self {
        Self {
            load_misses: counts.coherence_load_misses,
            true_sharing: counts.caused.true_sharing,
            false_sharing: counts.caused.false_sharing,
        }
    }

    fn add(&mut self, other: Self) {
        self.load_misses += other.load_misses;
        self.true_sharing += other.true_sharing;
        self.false_sharing += other.false_sharing;
    }
}

impl Place {
    fn of(frame: Option<&Frame>, ip: u64) -> Self {
        match frame {
            Some(Frame { file: Some(file), line: Some(line), .. }) => Self::Line(file.clone(), *line),
            Some(frame) => Self::Instruction(frame.module.clone(), frame.address),
            None => Self::Instruction(None, ip),
        }
    }
}

impl References {
    /// Those of a simulation.
    pub(in super::super) fn new(
        results: &Results,
        instructions: &[Instruction],
        names: &mut dyn Names,
    ) -> Self {
        let total = results.total();
        let both = total.read_modify_writes;
        let mut found = Self {
            by_place: BTreeMap::new(),
            volume: Volume { loads: total.loads + both, stores: total.stores + both },
            total: Coherence::of(&total),
        };
        for (instruction, counts) in instructions.iter().zip(&results.references) {
            let coherence = Coherence::of(counts);
            if coherence != Coherence::default() {
                let path = names.call_path(instruction.process, instruction.ip, StackId::NONE);
                let place = Place::of(path.first(), instruction.ip.0);
                found.by_place.entry(place).or_default().add(coherence);
            }
        }
        found
    }
}
