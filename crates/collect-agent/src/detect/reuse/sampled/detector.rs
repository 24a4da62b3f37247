//! Sampled reuse as one of a session's detectors.

use std::{sync::atomic::AtomicBool, thread::available_parallelism};

use carom_base::{Access, Population, Skip};
use carom_base_insn::Registers;
use carom_base_sys::clock;
use carom_base_wire::{Counter, ReuseMethod, WatchChoice};

use super::{
    super::{armed::ArmedWatches, detector_set::DetectorSet, episodes::Episodes, thread_table::ThreadTable},
    Sampled,
};
use crate::{
    detect::{Detector, Needs, Sample, relative_weight},
    lock::{Lock, Rank},
    scene::{Scene, with_scene},
    session::Session,
    thread::State,
};

impl Sampled {
    /// Where sampled reuse is asked for.
    pub fn make(session: &Session) -> Option<Box<dyn Detector>> {
        let settings = &session.settings;
        let reuse = settings.reuse.as_ref()?;
        let ReuseMethod::Sampled { watch, slots } = reuse.method else { return None };
        let registers = watch == WatchChoice::Registers;
        let detectors = if registers { DetectorSet::drawn() } else { DetectorSet::three(slots as usize) };
        let delivery = registers.then_some(session.mode);
        Some(Box::new(Self {
            armed: Lock::new(Rank::Watches, ArmedWatches::new(delivery, detectors.slot_count())),
            detectors,
            domains: reuse.domains,
            delivery,
            periods: (settings.load_period, settings.store_period),
            threads: ThreadTable::new(),
            processors: available_parallelism().map_or(1, |all| all.get() as u64),
            episodes: (watch == WatchChoice::Episodes).then(|| Episodes::begin(settings.load_period.max(1))),
            is_over: AtomicBool::new(false),
        }))
    }
}

impl Detector for Sampled {
    fn needs(&self) -> Needs {
        Needs {
            samples: true,
            budget: true,
            samples_can_be_left_out: true,
            // A use must not be reported before the accesses ahead of it.
            samples_can_be_early: false,
            tables: self.is_in_software(),
            registers: !self.is_in_software(),
            positions: self.episodes.is_none(),
            episodes: self.episodes.is_some(),
            ..Needs::default()
        }
    }

    fn has_met_data(&self, rings_are_empty: bool) -> bool {
        !rings_are_empty
    }

    fn thread_begins(&self, state: &mut State) {
        self.join(state);
    }

    fn thread_leaves_cache(&self, state: &mut State) {
        self.clear_watches(state);
    }

    fn thread_ends(&self, state: &mut State, accesses: u64) {
        self.leave(state, accesses);
    }

    fn interrupted(
        &self,
        scene: &mut Scene<'_>,
        population: Population,
        _ip: u64,
        accesses: &[Access],
        _skip: Option<Skip>,
    ) {
        // Only these represent executed instructions.
        if population == Population::Step {
            accesses.iter().for_each(|access| self.on_sample(scene, *access, scene.weight));
        }
    }

    fn takes_samples(&self) -> bool {
        self.weight().is_some()
    }

    fn drawn(&self, state: &mut State, accesses: u64) {
        self.pass(state, accesses);
    }

    fn samples_are_told(&self) {
        self.end_beginning();
    }

    fn ticked(&self, state: &mut State) {
        self.note_accesses(state);
    }

    fn sampled(&self, state: &mut State, registers: &Registers<'_>, sample: &Sample) {
        let Some(part) = self.weight() else { return };
        let Some(followed) = sample.followed.map(|followed| followed * part) else {
            return state.slot.count(Counter::UsesSkipped, 1);
        };
        let (loads, stores) = self.periods;
        let weight = relative_weight(period_of(sample.access, loads, stores), loads, stores);
        with_scene(state, registers, sample.time, |scene| {
            self.on_sample(scene, sample.access, weight * followed * sample.periods());
        });
    }

    fn concerns(&self, _state: &State, access: &Access) -> bool {
        self.detectors.candidates(access.addr).next().is_some()
    }

    fn touched(&self, state: &mut State, registers: &Registers<'_>, access: &Access) {
        with_scene(state, registers, clock::now(), |scene| self.on_touches(scene, *access));
    }

    fn touched_for_nothing(&self, state: &mut State, access: &Access) {
        self.on_stale(state, *access);
    }

    fn has_registers(&self) -> bool {
        !self.is_in_software()
    }

    fn trapped(&self, scene: &mut Scene<'_>, index: usize, accesses: Option<u64>, late: bool) {
        self.on_trap(scene, index, accesses, late);
    }

    fn process_ends(&self, state: &mut State, totals: Option<&[(u64, u64)]>) {
        self.end_all(state, totals);
    }

    fn forget_parent(&self, state: &mut State) {
        self.abandon(state);
    }
}

/// How many accesses a sampled one stands for. A read-modify-write may be drawn as either of its halves, and is as much
/// more likely to be.
fn period_of(access: Access, loads: u64, stores: u64) -> f64 {
    let rate = |period: u64, drawn: bool| if drawn && period != 0 { 1.0 / period as f64 } else { 0.0 };
    let rate = rate(loads, access.kind.reads()) + rate(stores, access.kind.writes());
    if rate > 0.0 { 1.0 / rate } else { 1.0 }
}
