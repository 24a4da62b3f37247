//! What a simulated machine's caches do with the accesses that a recording keeps.
//!
//! All accesses of a recording go through [`carom_base_sim`] in their recorded order, those of each thread on one core. The
//! misses and invalidations are those of instructions ([`feed`]), which are then added up by source line ([`sites`]); lines that
//! cores take from each other have their data's names ([`lines`]).

mod cost;
mod feed;
mod findings;
mod lines;
mod machine;
mod numbers;
mod order;
mod parts;
mod sites;
#[cfg(test)]
mod tests;

use std::num::NonZero;

use carom_base_sim::Settings;

pub use carom_base_sim::{
    Counts, INCLUDED, Inclusion, Level, Machine, MachineError, Matrix, Misses, Placement, Protocol,
    Replacement, Sharing, Sources, included,
};
pub use findings::{LineFinding, Pair, Part, SimulateFindings, Site};
pub use machine::MachineChoice;
pub use order::Order;

pub(crate) use self::{
    feed::{tagged, threads},
    machine::with_cores,
    numbers::Numbers,
    parts::Parts,
};

use self::{
    feed::{Fed, Feed},
    lines::lines,
    order::Even,
    sites::sites,
};
use crate::{
    Study,
    recording::{Combine, Input, Recordings},
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
    /// Threads that simulate; `None`: one. The findings are the same with any number.
    pub threads: Option<NonZero<usize>>,
}

impl Study for SimulateStudy {
    type Findings = SimulateFindings;

    fn study(&self, recordings: &mut Recordings<'_>) -> SimulateFindings {
        let threads = threads(recordings);
        let (name, machine) = self.machine.of(recordings);
        let machine = with_cores(machine, self.cores, threads.len());
        let losses = recordings.merged(Combine::Ranks).0.losses();
        let mask_bytes = self.mask_bytes.unwrap_or(machine.line_bytes / MOST_PARTS).max(1);
        let settings = Settings { mask_bytes, conflicts: self.conflicts, ..Settings::default() };
        let none = |machine, problem| SimulateFindings::none(name.clone(), machine, losses, problem);
        let parts = match Parts::new(&machine, settings, self.threads) {
            Ok(parts) => parts,
            Err(error) => return none(machine, error.to_string()),
        };
        let mut feed = match Feed::new(parts, &machine, &self.placement, &threads) {
            Ok(feed) => feed,
            Err(error) => return none(machine, error.to_string()),
        };
        let damage = match self.order {
            Order::Recorded => recordings.streams(&mut feed),
            Order::Even => {
                let mut even = Even::new(&mut feed);
                let damage = recordings.streams(&mut even);
                even.give_on(0);
                damage
            }
        };
        let Fed { results, instructions, cores, turn } = feed.end();
        let (_, mut names) = recordings.merged(Combine::Ranks);
        let (sites, other_sites) = sites(&results, &instructions, &mut names);
        let grain = lines::Grain { line_bytes: u64::from(machine.line_bytes), mask_bytes };
        let (lines, other_lines) = lines(&results, &instructions, grain, &mut names);
        SimulateFindings {
            name,
            total: results.total(),
            machine,
            problem: None,
            sites,
            other_sites,
            lines,
            other_lines,
            cores,
            turn,
            invalidations: results.invalidations,
            transfers: results.transfers,
            damage: damage.map(|error| error.to_string()),
            losses,
        }
    }
}
