//! What a simulated machine's caches do with the accesses that a recording keeps.
//!
//! All accesses of a recording go through [`carom_base_sim`] in their recorded order, those of each thread on one core. The
//! misses and invalidations are those of instructions ([`feed`]), which are then added up by source line ([`sites`]); lines that
//! cores take from each other have their data's names ([`lines`]).

mod compare;
mod cost;
mod feed;
mod findings;
mod implied;
mod instructions;
mod lines;
mod machine;
mod moved;
mod online;
mod order;
mod parts;
mod run;
mod sites;
#[cfg(test)]
mod tests;
mod tried;
mod what_if;

use std::num::NonZero;

use carom_base_sim::Settings;
use carom_store::Spread;

pub use carom_base_sim::{
    Counts, INCLUDED, Inclusion, Level, Machine, MachineError, Matrix, Misses, Placement, Protocol,
    Replacement, Sharing, Sources, included,
};
pub use carom_base_stream::Matched;
pub use compare::{
    Against, Coherence, Compared, Comparison, INHERENTLY_LOW, Metric, Place, References, Selected, Split,
    Volume,
};
pub use findings::{LineFinding, Pair, Part, SimulateFindings, Site, Taken};
pub use machine::MachineChoice;
pub use online::Online;
pub use order::Order;
pub use tried::{Outcome, Tried};
pub use what_if::{Change, ChangeError, Changed, How, Target, WhatIf};

pub(crate) use self::{feed::threads, machine::with_cores, moved::tagged, parts::Parts};

use self::{
    feed::Fed,
    implied::Implied,
    instructions::{Instructions, Numbered},
    lines::lines,
    sites::sites,
    what_if::Plan,
};
use crate::{
    Study,
    recording::{Combine, Input, Recordings, ThreadEntry},
};

/// Source lines that are named in findings.
const MOST_SITES: usize = 100;

/// Parts of a line that the simulator can tell apart.
const MOST_PARTS: u32 = 64;

/// Lines of memory that are named in findings.
const MOST_LINES: usize = 100;

/// Simulates a machine on the accesses of recordings.
#[derive(Clone, Debug, Default)]
pub struct SimulateStudy {
    /// The machine.
    pub machine: MachineChoice,
    /// Cores of each socket, in place of the machine's.
    pub cores: Option<usize>,
    /// The order of threads.
    pub order: Order,
    /// Where threads run.
    pub placement: Placement,
    /// Bytes that are told apart in deciding between true and false sharing; `None`: 1, or as many as make 64 parts of a line.
    pub mask_bytes: Option<u32>,
    /// Tell conflict from capacity misses.
    pub conflicts: bool,
    /// Changes of the layout: the accesses are simulated again with all of them.
    pub changes: Vec<Change>,
    /// The full trace of the program, where that of the recordings is a reduced one.
    pub against: Option<Against>,
    /// Which of the kept batches are simulated.
    pub spread: Spread,
    /// Threads that simulate; `None`: one. The findings are the same with any number.
    pub threads: Option<NonZero<usize>>,
    /// Called again and again with the number of accesses that were simulated: a trace may take minutes.
    pub progress: Option<fn(u64)>,
}

impl Study for SimulateStudy {
    type Findings = SimulateFindings;

    fn study(&self, recordings: &mut Recordings<'_>) -> SimulateFindings {
        let threads = threads(recordings);
        let (name, machine) = self.machine.of(recordings);
        let machine = with_cores(machine, self.cores, threads.len());
        let mut implied = Implied::of(recordings, &threads);
        match self.simulate(recordings, &mut implied, &machine, &threads, None) {
            Ok((fed, damage)) => {
                let damage = damage.map(|error| error.to_string());
                self.found(recordings, Simulated { name, machine, fed, damage }, &mut implied, &threads)
            }
            Err(error) => {
                let losses = recordings.merged(Combine::Ranks).0.losses();
                SimulateFindings::none(name, machine, losses, error.to_string())
            }
        }
    }
}

/// A simulation that has come to its end.
#[derive(Clone, Debug)]
struct Simulated {
    /// The machine's.
    name: String,
    machine: Machine,
    fed: Fed,
    /// The first problem, where not all accesses could be read.
    damage: Option<String>,
}

impl SimulateStudy {
    /// What a simulation has found, with the names of code and data.
    fn found(
        &self,
        recordings: &mut Recordings<'_>,
        simulated: Simulated,
        implied: &mut Implied,
        threads: &[ThreadEntry],
    ) -> SimulateFindings {
        let Simulated { name, machine, fed, damage } = simulated;
        let Fed { results, instructions, cores, turn, matched, .. } = fed;
        let put_in = implied.count;
        let losses = recordings.merged(Combine::Ranks).0.losses();
        let (_, mut names) = recordings.merged(Combine::Ranks);
        let (sites, members) = sites(&results, &instructions, &mut names);
        let grain = lines::Grain {
            line_bytes: u64::from(machine.line_bytes),
            mask_bytes: self.settings(&machine).mask_bytes,
        };
        let lines = lines(&results, &instructions, grain, &mut names);
        let plan = (!self.changes.is_empty())
            .then(|| Plan::new(&self.changes, &results, &instructions, grain, &mut names));
        let comparison = self
            .against
            .as_ref()
            .map(|against| Comparison::new(against, &References::new(&results, &instructions, &mut names)));
        let what_if = plan.map(|plan| {
            let plan = plan?;
            let again = self.simulate(recordings, implied, &machine, threads, Some(plan.moved.clone()));
            let (fed, _) = again.map_err(|error| error.to_string())?;
            Ok(plan.outcome(&fed.results, grain, fed.cut, &members))
        });
        SimulateFindings {
            name,
            total: results.total(),
            machine,
            order: self.order,
            matched,
            problem: None,
            other_sites: instructions.len() - members.iter().map(Vec::len).sum::<usize>(),
            sites,
            objects: lines.objects,
            unnamed_lines: lines.unnamed,
            lines: lines.most,
            other_lines: lines.others,
            cores,
            turn,
            implied: put_in,
            invalidations: results.invalidations,
            transfers: results.transfers,
            what_if,
            comparison,
            damage,
            losses,
        }
    }

    /// What coherence does at each reference of a trace, to compare others with.
    ///
    /// # Errors
    /// The machine cannot be simulated.
    pub fn references(&self, recordings: &mut Recordings<'_>) -> Result<References, MachineError> {
        let threads = threads(recordings);
        let (_, machine) = self.machine.of(recordings);
        let machine = with_cores(machine, self.cores, threads.len());
        let mut implied = Implied::of(recordings, &threads);
        let (fed, _) = self.simulate(recordings, &mut implied, &machine, &threads, None)?;
        let (_, mut names) = recordings.merged(Combine::Ranks);
        Ok(References::new(&fed.results, &fed.instructions, &mut names))
    }

    fn settings(&self, machine: &Machine) -> Settings {
        let mask_bytes = self.mask_bytes.unwrap_or(machine.line_bytes / MOST_PARTS).max(1);
        Settings { mask_bytes, conflicts: self.conflicts, ..Settings::default() }
    }
}
