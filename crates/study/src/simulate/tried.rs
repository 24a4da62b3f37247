//! Layouts that remedies ask for, each tried by itself on the same accesses.

use carom_base_sim::{MachineError, Results, Sharing};

use super::{Change, Fed, Implied, Plan, SimulateStudy, lines::Grain, threads, with_cores};
use crate::recording::{Combine, Recordings};

/// What became of several layouts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// The machine's name.
    pub machine: String,
    /// Accesses that were simulated.
    pub accesses: u64,
    /// The same, with a read-modify-write as a load and a store.
    pub loads_and_stores: u64,
    /// In the order of the layouts. Where one could not be simulated, the reason.
    pub outcomes: Vec<Result<Outcome, String>>,
}

/// How often cores take lines from each other in one layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Lines with bytes of the objects whose layout changes.
    pub before: u64,
    /// The same with the changes. All that changes elsewhere is in it: what stays on the old lines, and what meets the objects
    /// at their new place.
    pub after: u64,
}

impl SimulateStudy {
    /// Simulates each of these layouts, and none of them.
    ///
    /// # Errors
    /// The machine cannot be simulated.
    pub fn try_each(
        &self,
        recordings: &mut Recordings<'_>,
        layouts: &[Vec<Change>],
    ) -> Result<Tried, MachineError> {
        let threads = threads(recordings);
        let (name, machine) = self.machine.of(recordings);
        let machine = with_cores(machine, self.cores, threads.len());
        let mut implied = Implied::of(recordings, &threads);
        let (Fed { results, instructions, .. }, _) =
            self.simulate(recordings, &mut implied, &machine, &threads, None)?;
        let grain = Grain {
            line_bytes: u64::from(machine.line_bytes),
            mask_bytes: self.settings(&machine).mask_bytes,
        };
        let (_, mut names) = recordings.merged(Combine::Ranks);
        let plan = |layout: &Vec<Change>| Plan::new(layout, &results, &instructions, grain, &mut names);
        let plans: Vec<Result<Plan, String>> = layouts.iter().map(plan).collect();
        let moved = plans.iter().flatten().map(|plan| plan.moved.clone()).collect();
        let mut again = self.simulate_each(recordings, &mut implied, &machine, &threads, moved)?.into_iter();
        let outcome = |plan: Result<Plan, String>| {
            let before = plan?.taken(&results, grain);
            let changed = again.next().as_ref().map_or(0, taken);
            Ok(Outcome { before, after: (before + changed).saturating_sub(taken(&results)) })
        };
        let outcomes = plans.into_iter().map(outcome).collect();
        let total = results.total();
        let (accesses, twice) = (total.accesses(), total.read_modify_writes);
        Ok(Tried { machine: name, accesses, loads_and_stores: accesses + twice, outcomes })
    }
}

/// How often any line was taken.
fn taken(results: &Results) -> u64 {
    results.invalidated.iter().fold(Sharing::default(), |sum, pair| sum + pair.sharing).total()
}
