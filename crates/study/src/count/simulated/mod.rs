//! What caches do with the accesses of a run, simulated: counts by thread, and by instruction.
//!
//! A reference of the simulation is an instruction in a thread with a kind of access, so that loads and stores are told apart.

mod event;
mod reference;
#[cfg(test)]
mod tests;
mod tlb;

use std::num::NonZero;

use carom_base::{Addr, Domain, Nanos, ProcessId, ThreadId};
use carom_base_sim::{Counts, Input, Level, Machine, MachineError, Placement, Settings, Sources};
use carom_base_stream::Sink;
use carom_store::{PlaceCounts, SimulatedCache, SimulatedCounts, SimulatedInfo, Spread};

pub use event::CacheEvent;

use self::reference::{Key, References};
use crate::{
    recording::Recordings,
    simulate::{MachineChoice, Parts, tagged, threads, with_cores},
};

/// Kinds of access.
const KINDS: usize = 3;

/// What a simulation came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// What was simulated.
    pub info: SimulatedInfo,
    /// By thread, in the order of their numbers.
    pub threads: Vec<SimulatedCounts>,
    /// By instruction.
    pub places: Vec<PlaceCounts>,
}

/// Simulates the caches and the TLB of the machine that the run was recorded on, with the accesses that it kept. As many threads
/// simulate as are given; the counts are the same with any number.
///
/// # Errors
/// The machine cannot be simulated.
pub fn simulate_caches(
    recordings: &mut Recordings<'_>,
    processors: Option<NonZero<usize>>,
) -> Result<Simulated, MachineError> {
    let all = threads(recordings);
    let (name, machine) = MachineChoice::Recorded.of(recordings);
    let machine = with_cores(machine, None, all.len());
    let tlb = tlb::machine(machine.cores());
    let core = |thread: usize| Placement::Compact.core(thread, &machine);
    let mut feed = Feed {
        caches: Parts::new(&machine, Settings::default(), processors)?,
        tlb: Parts::new(&tlb, tlb::settings(), NonZero::new(1))?,
        lanes: (0..all.len())
            .map(|thread| Ok(Lane { process: all[thread].process, core: core(thread)? }))
            .collect::<Result<_, MachineError>>()?,
        inputs: Vec::new(),
    };
    let mut references = References::default();
    let damage =
        recordings.streams_as(Spread::ALL, &mut references, &mut feed).map(|error| error.to_string());
    let Feed { caches: of_caches, tlb: of_tlb, lanes, .. } = feed;
    let (of_caches, of_tlb) = (of_caches.results().references, of_tlb.results().references);
    let mut by_thread = vec![[[Counts::default(); KINDS]; 2]; all.len()];
    for (number, Key { thread, kind, .. }) in references.keys().enumerate() {
        let Some(of_thread) = by_thread.get_mut(thread.0 as usize) else { continue };
        for (sums, counts) in of_thread.iter_mut().zip([&of_caches, &of_tlb]) {
            sums[kind as usize] += counts.get(number).copied().unwrap_or_default();
        }
    }
    let process = |thread: ThreadId| lanes.get(thread.0 as usize).map_or(ProcessId(0), |lane| lane.process);
    Ok(Simulated {
        info: SimulatedInfo {
            machine: name,
            caches: [
                caches(&machine, |level| level),
                caches(&tlb, |level| if level == "l1" { "dtlb" } else { "stlb" }),
            ]
            .concat(),
            cores: machine.cores() as u32,
            damage,
        },
        threads: by_thread.iter().map(|[caches, tlb]| counts(caches, tlb)).collect(),
        places: references.places(&of_caches, process),
    })
}

fn caches(machine: &Machine, name: impl Fn(&str) -> &str) -> Vec<SimulatedCache> {
    let cache = |(level, of): (&str, Level)| SimulatedCache {
        name: name(level).into(),
        bytes: of.bytes,
        ways: of.ways,
        line_bytes: machine.line_bytes,
    };
    machine.levels().map(cache).collect()
}

/// Of one thread, by kind of access.
fn counts(caches: &[Counts; KINDS], tlb: &[Counts; KINDS]) -> SimulatedCounts {
    let [loads, stores, updates] = caches;
    let both = *loads + *stores + *updates;
    let stores = *stores + *updates;
    let [tlb_loads, tlb_stores, tlb_updates] = tlb;
    let tlb_stores = *tlb_stores + *tlb_updates;
    SimulatedCounts {
        l1_load_misses: loads.l1.total(),
        l1_store_misses: stores.l1.total(),
        l2_load_misses: loads.l2.total(),
        l2_store_misses: stores.l2.total(),
        llc_load_misses: loads.socket.total(),
        llc_store_misses: stores.socket.total(),
        dtlb_load_misses: tlb_loads.l1.total(),
        dtlb_store_misses: tlb_stores.l1.total(),
        page_walks: (*tlb_loads + tlb_stores).l2.total(),
        // Of L1, which includes those of L2: a core loses a line in both.
        coherence_misses: both.l1.coherence,
        bus_transactions: transactions(&both),
        load_transfers: loads.sources.core,
        store_transfers: stores.sources.core,
        remote_transfers: both.sources.remote,
        upgrades: both.upgrades,
        invalidations: both.caused.total(),
        false_invalidations: both.caused.false_sharing,
        writebacks: both.writebacks,
    }
}

/// Lines that a core asked for, and rights to write: what Marathe, Mueller and de Supinski count as bus transactions (section 5,
/// event 4).
const fn transactions(counts: &Counts) -> u64 {
    let Sources { core, l3, remote, memory } = counts.sources;
    core + l3 + remote + memory + counts.upgrades
}

/// Gives accesses to both simulations.
struct Feed {
    caches: Parts,
    tlb: Parts,
    /// By number of the thread.
    lanes: Vec<Lane>,
    /// Of the present turn.
    inputs: Vec<Input>,
}

#[derive(Clone, Copy)]
struct Lane {
    process: ProcessId,
    core: usize,
}

impl Sink<Input> for Feed {
    fn accesses(&mut self, thread: ThreadId, _: Domain, accesses: &[Input], _: Nanos) {
        let Some(&Lane { process, core }) = self.lanes.get(thread.0 as usize) else { return };
        let Self { caches, tlb, inputs, .. } = self;
        inputs.clear();
        inputs.extend(accesses.iter().map(|access| access.at(tagged(process, Addr(access.addr())))));
        caches.turn(core, inputs.iter().copied());
        // What is stored to a page takes it from no other core's TLB.
        tlb.turn(core, inputs.iter().map(|input| input.as_load()));
    }

    fn ended(&mut self, _: ThreadId) {}
}
