//! The program's code as it is mapped, and which of it is translated.

use std::ops::Range;

use iced_x86::Instruction;
use rustc_hash::{FxHashMap, FxHashSet};

use super::restartable::Sequences;
use crate::memory::{MemoryError, PAGE_BYTES, Regions};

/// How far from its code a module's data may lie, and what else its operands may name.
const MODULE_REACH: u64 = 256 << 20;

/// The program's code.
pub struct Source {
    regions: Regions,
    /// Code that must not be translated: our own.
    native: Vec<Range<u64>>,
    /// Functions of ours that only lead on, and to where.
    aliases: FxHashMap<u64, u64>,
    /// Code that must run in its own place, as a whole.
    sequences: Sequences,
    /// There may be code that `regions` does not know.
    stale: bool,
    /// Pages without code that can be translated, as of the last look.
    foreign: FxHashSet<u64>,
}

impl Source {
    /// All that is mapped now, but for code that is `native`.
    ///
    /// # Errors
    /// What is mapped cannot be read.
    pub fn new(native: Vec<Range<u64>>) -> Result<Self, MemoryError> {
        Ok(Self {
            regions: Regions::new(native.clone())?,
            native,
            aliases: FxHashMap::default(),
            sequences: Sequences::default(),
            stale: false,
            foreign: FxHashSet::default(),
        })
    }

    /// The places of the program's code.
    pub const fn regions(&self) -> &Regions {
        &self.regions
    }

    /// The code that must run in its own place.
    pub const fn sequences(&self) -> &Sequences {
        &self.sequences
    }

    /// Whether there is code at `pc` that can be translated, as far as is known.
    pub fn has(&self, pc: u64) -> bool {
        self.regions.contains(pc).is_some()
    }

    /// The original code from `pc` to the end of its region, where it may be translated.
    pub fn code_after(&self, pc: u64) -> Option<&'static [u8]> {
        original(&self.regions, pc)
    }

    /// The original bytes of an instruction.
    pub fn bytes(&self, instruction: &Instruction) -> &'static [u8] {
        self.code_after(instruction.ip()).and_then(|code| code.get(..instruction.len())).unwrap_or_default()
    }

    /// What code at `pc` may name relative to itself.
    pub fn reach(&self, pc: u64) -> Option<Range<u64>> {
        let region = self.regions.contains(pc)?;
        Some(region.start.saturating_sub(MODULE_REACH)..region.end.saturating_add(MODULE_REACH))
    }

    /// Whether the code at `pc` is ours.
    pub fn is_native(&self, pc: u64) -> bool {
        self.native.iter().any(|range| range.contains(&pc))
    }

    /// The code that runs when the program calls `pc`: mostly that at `pc`.
    pub fn stands_for(&self, pc: u64) -> u64 {
        self.aliases.get(&pc).copied().unwrap_or(pc)
    }

    /// The function `from` of ours only leads on to `to`.
    pub fn lead_on(&mut self, from: u64, to: u64) {
        self.aliases.insert(from, to);
    }

    /// Notes the restartable sequences whose descriptors these instructions name.
    pub fn find_sequences<'i>(&mut self, instructions: impl Iterator<Item = &'i Instruction>) {
        self.sequences.find(&self.regions, instructions);
    }

    /// Notes the one that the calling thread has published in its area. Whether that is another one than before.
    pub fn find_published(&mut self, area: u64) -> bool {
        self.sequences.find_published(&self.regions, area)
    }

    /// Takes the sequences of which translations may have been made before they were known.
    pub fn take_fresh_sequences(&mut self) -> Vec<Range<u64>> {
        self.sequences.take_fresh()
    }

    /// Other sequences may be at these addresses now.
    pub fn forget_sequences(&mut self, changed: &Range<u64>) {
        self.sequences.forget(changed);
    }

    /// There may be code where none was.
    pub const fn expect_code(&mut self) {
        self.stale = true;
    }

    /// Whether a look may find code at `pc` where none is known.
    pub fn is_worth_a_look(&self, pc: u64) -> bool {
        !self.has(pc) && (self.stale || !self.foreign.contains(&(pc / PAGE_BYTES)))
    }

    /// After a look, there was no code at `pc`.
    pub fn note_foreign(&mut self, pc: u64) {
        self.foreign.insert(pc / PAGE_BYTES);
    }

    /// Looks at what is mapped. Returns where code was that is not there any more.
    ///
    /// # Errors
    /// [`MemoryError::NoMaps`]: what cannot be told to be code runs natively, until a look succeeds.
    pub fn look(&mut self) -> Result<Vec<Range<u64>>, MemoryError> {
        self.foreign.clear();
        let looked = self.regions.refresh();
        self.stale = looked.is_err();
        looked
    }

    /// What is mapped there is about to change. Whether there is code.
    pub fn begin_change(&mut self, range: &Range<u64>) -> bool {
        self.regions.changing(range)
    }

    /// It has changed. Whether there was code.
    pub fn end_change(&mut self, range: &Range<u64>) -> bool {
        self.regions.done(range)
    }

    /// In the child of a fork: changes that other threads have begun will not end.
    pub fn end_all_changes(&mut self) {
        self.regions.all_done();
        self.stale = true;
    }
}

/// The original code from `pc` to the end of its region, where it may be translated.
pub fn original(regions: &Regions, pc: u64) -> Option<&'static [u8]> {
    // SAFETY: the program's calls that change mappings come by here (`system`), under the lock that the caller holds.
    unsafe { regions.code_after(pc) }
}
