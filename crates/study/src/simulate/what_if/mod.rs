//! What a change of the layout would do: the same accesses are simulated again, with bytes of objects elsewhere.
//!
//! An object whose layout changes moves to memory of its own, where nothing shares its lines: a type with an aligned field is
//! aligned as a whole. All other data stays where it is, though a linker or an allocator would move it too.

mod change;
mod resolve;

use carom_base_sim::{Counts, Results, Sharing};

pub use change::{Change, ChangeError, How, Target};

use super::{
    instructions::Instruction,
    lines::Grain,
    moved::{self, Moved},
};
use crate::recording::Names;

/// What the changed layout does.
#[derive(Clone, Debug, PartialEq)]
pub struct WhatIf {
    /// Each change, in the order in which they were asked for.
    pub changes: Vec<Changed>,
    /// Of all accesses, with all changes.
    pub total: Counts,
    /// Of the accesses of each site of the findings.
    pub sites: Vec<Counts>,
    /// Accesses to bytes that lie apart afterwards: each was simulated as several.
    pub cut: u64,
}

/// What became of the objects of one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The change.
    pub change: Change,
    /// Objects that have their layout changed: blocks of one allocation are several.
    pub objects: usize,
    /// How often cores took lines with bytes of these objects from each other.
    pub before: Sharing,
    /// The same afterwards.
    pub after: Sharing,
}

/// Changes whose objects are known.
pub(super) struct Plan {
    changes: Vec<Changed>,
    /// By object: the number of its change, and the addresses that it has before, from the first to one past the last.
    objects: Vec<(usize, (u64, u64))>,
    pub moved: Moved,
}

impl Plan {
    /// Finds the objects among those that the simulation met.
    ///
    /// # Errors
    /// There is no such object, or it cannot be changed so; the reason.
    pub fn new(
        changes: &[Change],
        results: &Results,
        instructions: &[Instruction],
        grain: Grain,
        names: &mut dyn Names,
    ) -> Result<Self, String> {
        let found = resolve::Objects::new(results, instructions, grain, names).resolve(changes)?;
        let objects: Vec<moved::Object> = found.iter().map(|(_, object)| object.clone()).collect();
        let mut plan = Self {
            changes: changes
                .iter()
                .map(|change| Changed {
                    change: change.clone(),
                    objects: 0,
                    before: Sharing::default(),
                    after: Sharing::default(),
                })
                .collect(),
            objects: found.iter().map(|(number, object)| (*number, object.tagged())).collect(),
            moved: Moved::new(&objects),
        };
        for (number, place) in &plan.objects {
            if let Some(changed) = plan.changes.get_mut(*number) {
                changed.objects += 1;
                changed.before += taken(results, *place, grain);
            }
        }
        Ok(plan)
    }

    /// How often lines with bytes of any of the objects were taken before: lines of several objects once.
    pub fn taken(&self, results: &Results, grain: Grain) -> u64 {
        let lines = |(first, end): (u64, u64)| first / grain.line_bytes..=(end - 1) / grain.line_bytes;
        let mut ranges: Vec<_> = self.objects.iter().map(|(_, place)| lines(*place)).collect();
        ranges.sort_unstable_by_key(|range| *range.start());
        let mut counted = 0;
        let mut sum = Sharing::default();
        for range in ranges {
            let first = counted.max(*range.start());
            counted = counted.max(range.end() + 1);
            if first < counted {
                sum += taken(results, (first * grain.line_bytes, counted * grain.line_bytes), grain);
            }
        }
        sum.total()
    }

    /// The outcome. `members`: of each site, the references that it consists of.
    pub fn outcome(mut self, results: &Results, grain: Grain, cut: u64, members: &[Vec<usize>]) -> WhatIf {
        for ((number, _), place) in self.objects.iter().zip(self.moved.places()) {
            if let Some(changed) = self.changes.get_mut(*number) {
                changed.after += taken(results, *place, grain);
            }
        }
        let counts = |number: &usize| results.references.get(*number).copied().unwrap_or_default();
        let sites = members
            .iter()
            .map(|site| site.iter().map(counts).fold(Counts::default(), |sum, each| sum + each));
        WhatIf { changes: self.changes, total: results.total(), sites: sites.collect(), cut }
    }
}

/// How often lines with these addresses were taken.
fn taken(results: &Results, (first, end): (u64, u64), grain: Grain) -> Sharing {
    let (first, last) = (first / grain.line_bytes, (end - 1) / grain.line_bytes);
    let from = results.invalidated.partition_point(|pair| pair.line < first);
    let within = results.invalidated.iter().skip(from).take_while(|pair| pair.line <= last);
    within.fold(Sharing::default(), |sum, pair| sum + pair.sharing)
}

#[cfg(test)]
mod tests {
    use carom_base_sim::{Invalidated, Reference};

    use super::*;

    #[test]
    fn a_line_with_several_objects_is_counted_once() {
        let sharing = Sharing { true_sharing: 1, false_sharing: 4 };
        let (by, of) = (Reference(0), Reference(1));
        let taken = |line| Invalidated { line, by, of, sharing, stored: 1, accessed: 2 };
        let results =
            Results { invalidated: [0x3f, 0x40, 0x41, 0x42, 0x43].map(taken).into(), ..Results::default() };
        // Two words of one line, and a block from its end to the middle of the next but one.
        let places = [(0x1030, 0x10a0), (0x1000, 0x1008), (0x1008, 0x1010)];
        let objects = (0..).zip(places).collect();
        let plan = Plan { changes: Vec::new(), objects, moved: Moved::default() };
        assert_eq!(plan.taken(&results, Grain { line_bytes: 64, mask_bytes: 1 }), 15);
    }
}
