//! What a change of the layout would do: the same accesses are simulated again, with bytes of objects elsewhere.
//!
//! An object whose layout changes moves to memory of its own, where nothing shares its lines: a type with an aligned field is
//! aligned as a whole. All other data stays where it is, though a linker or an allocator would move it too.

mod change;
mod resolve;

use carom_base_sim::{Counts, Results, Sharing};

pub use change::{Change, ChangeError, How, Target};

use super::{
    feed::Instruction,
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
