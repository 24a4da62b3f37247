//! The arenas that code lies in: where the next fragment goes, and which arena is reused.

use std::ops::Range;

use carom_base_sys::map;

use super::{
    code::{self, Code},
    passages::misses,
};
use crate::{
    memory::{Arena, COUNTERS_PER_ARENA, Lanes, MemoryError},
    probes::mode::Version,
};

/// The largest number of arenas for each version of code, unless code to be translated is beyond the reach of all of them.
///
/// An arena holds 128 Ki blocks. With all metadata that is 25 to 45 MiB, and 1 MiB for each thread. A program whose code does
/// not fit translates it again and again: one of jax, which needs eight arenas, took twice as long with six.
const MOST_ARENAS: usize = 12;

/// Whether another try would soon end like that.
fn is_lasting(error: &MemoryError) -> bool {
    // The program may have all descriptors in use, for now.
    matches!(error, MemoryError::NoMaps { errno } if !matches!(*errno, libc::EMFILE | libc::ENFILE))
}

/// All arenas.
#[derive(Debug)]
pub struct Arenas {
    codes: Vec<Code>,
    /// For each arena, the step of memory in which its last fragment was made.
    steps: Vec<u64>,
    /// How many arenas were begun and how many were retired.
    began: u64,
    retirements: u64,
    /// Counters whose countdown has not begun, by arena and number.
    new_counters: Vec<(usize, u64)>,
    /// See [`MOST_ARENAS`].
    most: usize,
    /// The largest number of blocks in one.
    most_blocks: usize,
    /// There is no other one to be had: a limit on the process's memory leaves no room, or the process may not read its mappings.
    /// That seldom changes, and to try takes long.
    is_limited: bool,
}

impl Arenas {
    /// No arenas.
    pub const fn new() -> Self {
        Self {
            codes: Vec::new(),
            steps: Vec::new(),
            began: 0,
            retirements: 0,
            new_counters: Vec::new(),
            most: MOST_ARENAS,
            most_blocks: COUNTERS_PER_ARENA,
            is_limited: false,
        }
    }

    /// All arenas, by number.
    pub fn all(&self) -> &[Code] {
        &self.codes
    }

    /// The same, mutable.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Code> {
        self.codes.iter_mut()
    }

    /// The arena with this number.
    pub fn get(&self, index: usize) -> Option<&Code> {
        self.codes.get(index)
    }

    /// The same, mutable.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut Code> {
        self.codes.get_mut(index)
    }

    /// The arena that contains a cache address, and its number.
    pub fn at(&self, address: u64) -> Option<(usize, &Code)> {
        self.codes.iter().enumerate().find(|(_, code)| code.contains(address))
    }

    /// The same, mutable.
    pub fn at_mut(&mut self, address: u64) -> Option<&mut Code> {
        self.codes.iter_mut().find(|code| code.contains(address))
    }

    /// Whether one more fragment fits.
    fn has_room(&self, code: &Code) -> bool {
        code.has_room(self.most_blocks)
    }

    /// An arena for code of this version that may name `reach`, with room for one more fragment.
    pub fn room(&mut self, reach: &Range<u64>, version: Version, lanes: &mut Lanes) -> Option<usize> {
        let fits = |code: &Code| code.version == version && code.reaches(reach);
        let found = self.codes.iter().position(|code| self.has_room(code) && fits(code));
        self.give_pages_back(found);
        let full = self.codes.iter().filter(|code| code.version == version).count() >= self.most;
        if found.is_some() || (full || self.is_limited) && self.codes.iter().any(fits) {
            return found;
        }
        // What is kept beside an arena is allocated where failure ends the program.
        self.is_limited = self.is_limited || !map::has_room();
        if self.is_limited {
            return None;
        }
        let arena = match Arena::new(reach.clone(), lanes) {
            Err(MemoryError::NoHole { .. }) if code::is_low(reach) => {
                let near = self.codes.iter().rev().find_map(Code::far);
                Arena::far(near, lanes)
            }
            made => made,
        };
        let arena = arena.inspect_err(|error| self.is_limited = is_lasting(error)).ok()?;
        self.began += 1;
        self.codes.push(Code::new(arena, (self.began, version), misses())?);
        Some(self.codes.len() - 1)
    }

    /// Written pages are seldom written again, but they count twice in the memory of the process, once for each
    /// mapping of an arena. So the writable pages are unmapped from time to time, and come back on use.
    fn give_pages_back(&mut self, index: Option<usize>) {
        const STEP_BYTES: u64 = 1 << 20;
        let Some(index) = index else { return };
        let Some(code) = self.codes.get(index) else { return };
        self.steps.resize(self.codes.len(), 0);
        let now = code.next_hot() / STEP_BYTES;
        if let Some(step) = self.steps.get_mut(index).filter(|step| **step != now) {
            *step = now;
            self.codes.iter().for_each(Code::rest);
        }
    }

    /// The arenas that are waiting to be emptied.
    pub fn retired(&self) -> impl Iterator<Item = usize> {
        let all = self.codes.iter().enumerate();
        all.filter(|(_, code)| code.retired().is_some()).map(|(index, _)| index)
    }

    /// Whether an address lies in one of these.
    pub fn is_retired(&self, address: u64) -> bool {
        self.retired().any(|index| self.get(index).is_some_and(|code| code.contains(address)))
    }

    /// How many arenas have been retired.
    pub const fn retirements(&self) -> u64 {
        self.retirements
    }

    /// The oldest full arena to which this version of code with this `reach` could be translated, and which is not to be left
    /// alone.
    pub fn oldest(
        &self,
        reach: &Range<u64>,
        version: Version,
        left_alone: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let full = self.codes.iter().enumerate().filter(|(index, code)| {
            let fits = code.version == version && code.reaches(reach);
            let can = code.retired().is_none() && fits && !self.has_room(code);
            can && !left_alone(*index)
        });
        full.min_by_key(|(_, code)| code.began).map(|(index, _)| index)
    }

    /// Disowns the code of an arena. Returns its range.
    pub fn retire(&mut self, index: usize) -> Option<Range<u64>> {
        self.retirements += 1;
        let now = self.retirements;
        self.codes.get_mut(index).map(|code| code.retire(now))
    }

    /// Makes a retired arena's memory available again. Returns its range and the hooks that its code named; `None`
    /// where it cannot be used.
    pub fn empty(&mut self, index: usize, lanes: &Lanes) -> Option<(Range<u64>, Vec<u64>)> {
        self.began += 1;
        let code = self.codes.get_mut(index)?;
        let (range, hooks) = (code.range(), code.take_hooks());
        if lanes.clear_windows(code.windows()).is_err() || !code.restart(self.began) {
            return None;
        }
        self.new_counters.retain(|&(arena, _)| arena != index);
        Some((range, hooks))
    }

    /// Notes a new counter whose countdown is still to begin.
    pub fn counter_added(&mut self, index: usize, id: u64) {
        self.new_counters.push((index, id));
    }

    /// How many counters have no countdown yet.
    pub const fn new_counters(&self) -> usize {
        self.new_counters.len()
    }

    /// Forgets these counters, except for the `first` ones.
    pub fn keep_new_counters(&mut self, first: usize) {
        self.new_counters.truncate(first);
    }

    /// Takes all of them.
    pub fn take_new_counters(&mut self) -> Vec<(usize, u64)> {
        std::mem::take(&mut self.new_counters)
    }

    /// Limits the number of arenas and the blocks in each, for tests.
    pub const fn bound(&mut self, arenas: usize, blocks: usize) {
        (self.most, self.most_blocks) = (arenas, blocks);
    }
}
