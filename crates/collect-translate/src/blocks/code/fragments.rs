//! From a cache address back to the original code.

use std::ops::Range;

use super::Code;
use crate::{
    encode::{
        Emitter,
        marks::{self, Mark, Marks, Undo},
    },
    memory::COUNTERS_PER_ARENA,
};

/// A piece of translated code and its marks.
#[derive(Debug)]
struct Fragment {
    start: u64,
    end: u64,
    marks: marks::Finished,
    /// From its first to its last original byte. Empty where these have changed since.
    original: Range<u64>,
}

/// All fragments of an arena.
#[derive(Debug)]
pub struct Fragments {
    /// Ascending.
    hot: Vec<Fragment>,
    /// Ascending, in the cold part.
    cold: Vec<Fragment>,
}

impl Fragments {
    /// None. The room is only address space, until it is used: growing would copy.
    pub fn new() -> Self {
        Self { hot: Vec::with_capacity(COUNTERS_PER_ARENA / 4), cold: Vec::new() }
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.hot.clear();
        self.cold.clear();
    }

    /// Disowns all of them.
    pub fn retire(&mut self) {
        self.hot.iter_mut().for_each(|fragment| fragment.original = 0..0);
    }

    fn find(&self, address: u64) -> Option<&Fragment> {
        [&self.hot, &self.cold].into_iter().find_map(|all| {
            let after = all.partition_point(|fragment| fragment.start <= address);
            all.get(after.checked_sub(1)?).filter(|fragment| address < fragment.end)
        })
    }
}

impl Code {
    /// Puts a fragment where it was made for. `original`: from its first to its last original byte.
    pub fn add_fragment(&mut self, code: &Emitter, marks: marks::Finished, original: Range<u64>) -> bool {
        let taken = (code.here() - self.memory.hot()) as usize;
        let written = self
            .memory
            .allocate(taken, 0)
            .and_then(|()| self.memory.write(code.start(), code.bytes()))
            .is_ok();
        if written {
            self.fragments.hot.push(Fragment { start: code.start(), end: code.here(), marks, original });
        }
        written
    }

    /// Puts a piece of cold code with its own marks where it was made for. Returns where it begins.
    pub fn add_piece(&mut self, code: &Emitter, marks: Marks) -> Option<u64> {
        let start = self.cold(code.bytes())?;
        let (marks, _) = marks.finish();
        self.fragments.cold.push(Fragment { start, end: code.here(), marks, original: 0..0 });
        Some(start)
    }

    /// Disowns the fragments that were made from any byte in `changed`, and returns their ranges.
    pub fn disown(&mut self, changed: &Range<u64>) -> Vec<Range<u64>> {
        let overlapping = |fragment: &&mut Fragment| {
            fragment.original.start < changed.end && changed.start < fragment.original.end
        };
        let disown = |fragment: &mut Fragment| {
            fragment.original = 0..0;
            fragment.start..fragment.end
        };
        self.fragments.hot.iter_mut().filter(overlapping).map(disown).collect()
    }

    /// Whether `address` lies in a fragment whose original has not changed since.
    pub fn is_current(&self, address: u64) -> bool {
        self.fragments.find(address).is_some_and(|fragment| !fragment.original.is_empty())
    }

    /// The number of the fragment that is added next.
    pub fn next_fragment(&self) -> u32 {
        self.fragments.hot.len() as u32
    }

    /// The original bytes, from first to last, of the fragment of this number, if they have not changed.
    pub fn original(&self, fragment: u32) -> Option<Range<u64>> {
        let original = &self.fragments.hot.get(fragment as usize)?.original;
        (!original.is_empty()).then(|| original.clone())
    }

    /// The mark for a cache address in a fragment.
    pub fn mark(&self, address: u64) -> Option<Mark> {
        self.fragments.find(address).map(|fragment| fragment.marks.find(address))
    }

    /// Where the copy of a block that begins at `start` has the instruction at `pc`.
    pub fn place_of(&self, start: u64, pc: u64) -> Option<u64> {
        let fragment = self.fragments.find(start)?;
        let here = |mark: &Mark| mark.pc == pc && mark.undo == Undo::Nothing;
        fragment.marks.iter().find(here).map(|mark| mark.cache)
    }

    /// The marks of the fragment that contains `address`, up to there, and where the fragment begins.
    pub fn marks_until(&self, address: u64) -> Option<(u64, impl Iterator<Item = Mark>)> {
        let fragment = self.fragments.find(address)?;
        let marks = fragment.marks.iter().take_while(move |mark| mark.cache <= address);
        Some((fragment.start, marks))
    }
}
