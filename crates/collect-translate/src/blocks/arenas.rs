//! The arenas that code lies in: where the next fragment goes, and which of them is used again.

use std::ops::Range;

use super::{
    code::{self, Code},
    passages::misses,
};
use crate::memory::{Arena, COUNTERS_PER_ARENA, Lanes, MemoryError};

/// How many arenas there are at most, unless code that is to be translated is beyond reach of all of them.
///
/// An arena holds 128 Ki blocks. With all that is known about them that is 25 to 45 MiB, and 1 MiB for each thread.
const MOST_ARENAS: usize = 6;

/// All arenas.
#[derive(Debug)]
pub struct Arenas {
    codes: Vec<Code>,
    /// In which step of so much memory the last fragment of each was made.
    steps: Vec<u64>,
    /// Those that were begun so far, and those that were retired.
    began: u64,
    retirements: u64,
    /// Counters whose countdown has not begun: arena and number.
    new_counters: Vec<(usize, u64)>,
    /// See [`MOST_ARENAS`].
    most: usize,
    /// Blocks of one at most.
    most_blocks: usize,
}

impl Arenas {
    /// None.
    pub const fn new() -> Self {
        Self {
            codes: Vec::new(),
            steps: Vec::new(),
            began: 0,
            retirements: 0,
            new_counters: Vec::new(),
            most: MOST_ARENAS,
            most_blocks: COUNTERS_PER_ARENA,
        }
    }

    /// All of them, by number.
    pub fn all(&self) -> &[Code] {
        &self.codes
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Code> {
        self.codes.iter_mut()
    }

    /// The one of a number.
    pub fn get(&self, index: usize) -> Option<&Code> {
        self.codes.get(index)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut Code> {
        self.codes.get_mut(index)
    }

    /// The one that a cache address lies in, and its number.
    pub fn at(&self, address: u64) -> Option<(usize, &Code)> {
        self.codes.iter().enumerate().find(|(_, code)| code.contains(address))
    }

    /// The same, to be changed.
    pub fn at_mut(&mut self, address: u64) -> Option<&mut Code> {
        self.codes.iter_mut().find(|code| code.contains(address))
    }

    /// Whether one more fragment fits.
    fn has_room(&self, code: &Code) -> bool {
        code.has_room(self.most_blocks)
    }

    /// The one for code that may name `reach`, with room for one more fragment.
    pub fn room(&mut self, reach: &Range<u64>, lanes: &mut Lanes) -> Option<usize> {
        let found = self.codes.iter().position(|code| self.has_room(code) && code.reaches(reach));
        self.give_pages_back(found);
        let full = self.codes.len() >= self.most;
        if found.is_some() || full && self.codes.iter().any(|code| code.reaches(reach)) {
            return found;
        }
        let arena = match Arena::new(reach.clone(), lanes) {
            Err(MemoryError::NoHole { .. }) if code::is_low(reach) => {
                let near = self.codes.iter().rev().find_map(Code::far);
                Arena::far(near, lanes)
            }
            made => made,
        };
        let arena = arena.ok()?;
        self.began += 1;
        self.codes.push(Code::new(arena, self.began, misses())?);
        Some(self.codes.len() - 1)
    }

    /// What is written is seldom written again, but its pages count twice in the memory of a process, once for each
    /// mapping of an arena: those that can be written are unmapped from time to time, and come back where they are used.
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

    /// The arenas that are to be emptied.
    pub fn retired(&self) -> impl Iterator<Item = usize> {
        let all = self.codes.iter().enumerate();
        all.filter(|(_, code)| code.retired().is_some()).map(|(index, _)| index)
    }

    /// Whether an address lies in one of these.
    pub fn is_retired(&self, address: u64) -> bool {
        self.retired().any(|index| self.get(index).is_some_and(|code| code.contains(address)))
    }

    /// How many arenas were retired so far.
    pub const fn retirements(&self) -> u64 {
        self.retirements
    }

    /// The oldest of the full arenas that code with this `reach` could be translated to, and that are not to be left alone.
    pub fn oldest(&self, reach: &Range<u64>, left_alone: impl Fn(usize) -> bool) -> Option<usize> {
        let full = self.codes.iter().enumerate().filter(|(index, code)| {
            let can = code.retired().is_none() && code.reaches(reach) && !self.has_room(code);
            can && !left_alone(*index)
        });
        full.min_by_key(|(_, code)| code.began).map(|(index, _)| index)
    }

    /// Disowns the code of an arena. Returns where it is.
    pub fn retire(&mut self, index: usize) -> Option<Range<u64>> {
        self.retirements += 1;
        let now = self.retirements;
        self.codes.get_mut(index).map(|code| code.retire(now))
    }

    /// A retired arena's memory is there to be used again. Returns where it lies and the hooks that its code named; `None`
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

    /// A counter was made whose countdown is to begin.
    pub fn counter_added(&mut self, index: usize, id: u64) {
        self.new_counters.push((index, id));
    }

    /// How many counters there are whose countdown has not begun.
    pub const fn new_counters(&self) -> usize {
        self.new_counters.len()
    }

    /// Forgets such counters but for the first ones.
    pub fn keep_new_counters(&mut self, first: usize) {
        self.new_counters.truncate(first);
    }

    /// Takes them.
    pub fn take_new_counters(&mut self) -> Vec<(usize, u64)> {
        std::mem::take(&mut self.new_counters)
    }

    /// Has so many arenas of so many blocks each at most, for tests.
    pub const fn bound(&mut self, arenas: usize, blocks: usize) {
        (self.most, self.most_blocks) = (arenas, blocks);
    }
}
