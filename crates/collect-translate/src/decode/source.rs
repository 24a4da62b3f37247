//! The program's code as it is mapped, and which of it may be translated.

use std::ops::Range;

use iced_x86::Instruction;
use rustc_hash::{FxHashMap, FxHashSet};

use super::restartable::Sequences;
use crate::memory::{MemoryError, PAGE_BYTES, Regions};

/// How far from its code a module's data, and whatever else its operands name, may lie.
const MODULE_REACH: u64 = 256 << 20;

/// The program's code.
pub struct Source {
    regions: Regions,
    /// Code that must not be translated: the agent's own.
    native: Vec<Range<u64>>,
    /// Functions in whose place others run, and which.
    aliases: FxHashMap<u64, u64>,
    /// Code of the agent that is translated, but is no part of the program.
    uncounted: Vec<Range<u64>>,
    /// Code that must run in its own place, as a whole.
    sequences: Sequences,
    /// There may be code that `regions` does not have.
    stale: bool,
    /// Pages without translatable code, as of the last look.
    foreign: FxHashSet<u64>,
}

impl Source {
    /// Everything that is mapped now, except for code that is `native`.
    ///
    /// # Errors
    /// The mappings cannot be read.
    pub fn new(native: Vec<Range<u64>>) -> Result<Self, MemoryError> {
        Ok(Self {
            regions: Regions::new(native.clone())?,
            native,
            aliases: FxHashMap::default(),
            uncounted: Vec::new(),
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

    /// Whether the code at `pc` is the agent's own.
    pub fn is_native(&self, pc: u64) -> bool {
        self.native.iter().any(|range| range.contains(&pc))
    }

    /// The code that runs when the program calls `pc`: usually that at `pc`.
    pub fn stands_for(&self, pc: u64) -> u64 {
        self.aliases.get(&pc).copied().unwrap_or(pc)
    }

    /// `to` runs where the program calls `from`.
    pub fn lead_on(&mut self, from: u64, to: u64) {
        self.aliases.insert(from, to);
    }

    /// The code that the program calls where code at one of these addresses runs.
    pub fn led_on_to(&self, to: &FxHashSet<u64>) -> Vec<u64> {
        self.aliases.iter().filter(|(_, code)| to.contains(code)).map(|(&from, _)| from).collect()
    }

    /// The code in `range` is the agent's, runs among the program's, and is neither counted nor sampled.
    pub fn leave_uncounted(&mut self, range: Range<u64>) {
        self.uncounted.push(range);
    }

    /// Whether the code at `pc` is to be neither counted nor sampled.
    pub fn is_uncounted(&self, pc: u64) -> bool {
        self.uncounted.iter().any(|range| range.contains(&pc))
    }

    /// Notes the restartable sequences whose descriptors these instructions name.
    pub fn find_sequences<'i>(&mut self, instructions: impl Iterator<Item = &'i Instruction>) {
        self.sequences.find(&self.regions, instructions);
    }

    /// Notes the sequence that the calling thread has published in its area. Returns whether it differs from the last
    /// one.
    pub fn find_published(&mut self, area: u64) -> bool {
        self.sequences.find_published(&self.regions, area)
    }

    /// Takes the sequences that may have been translated before they were known.
    pub fn take_fresh_sequences(&mut self) -> Vec<Range<u64>> {
        self.sequences.take_fresh()
    }

    /// Other sequences may be at these addresses now.
    pub fn forget_sequences(&mut self, changed: &Range<u64>) {
        self.sequences.forget(changed);
    }

    /// There may be code where there was none.
    pub const fn expect_code(&mut self) {
        self.stale = true;
    }

    /// Whether a look at the mappings may find code at `pc` where none is known.
    pub fn is_worth_a_look(&self, pc: u64) -> bool {
        !self.has(pc) && (self.stale || !self.foreign.contains(&(pc / PAGE_BYTES)))
    }

    /// A look has found no code at `pc`.
    pub fn note_foreign(&mut self, pc: u64) {
        self.foreign.insert(pc / PAGE_BYTES);
    }

    /// Reads the mappings. Returns where code was that is no longer there.
    ///
    /// # Errors
    /// [`MemoryError::NoMaps`]: what cannot be verified to be code runs natively until a look succeeds.
    pub fn look(&mut self) -> Result<Vec<Range<u64>>, MemoryError> {
        self.foreign.clear();
        let looked = self.regions.refresh();
        self.stale = looked.is_err();
        looked
    }

    /// The mappings in `range` are about to change. Returns whether there is code.
    pub fn begin_change(&mut self, range: &Range<u64>) -> bool {
        self.regions.changing(range)
    }

    /// They have changed. Returns whether there was code.
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
