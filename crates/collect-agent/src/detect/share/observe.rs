//! From a sample to records for the host and watchpoints on this thread.

use carom_base::{Access, Ip, Population, Sample, SampleOutcome, Skip, StackId};
use carom_base_detect::{Decision, Input};
use carom_base_sys::clock;
use carom_base_wire::{Counter, Record};

use super::{super::Sample as Drawn, Share};
use crate::{account, objects, scene::Scene, shared, thread::State, translated};

impl Share {
    /// Takes a sample of `population` that has the accesses `accesses`, or none because of `skip`.
    pub(super) fn sampled_by_time(
        &self,
        scene: &mut Scene<'_>,
        population: Population,
        ip: u64,
        accesses: &[Access],
        skip: Option<Skip>,
    ) {
        if accesses.is_empty() {
            let skip = skip.unwrap_or(Skip::NotAnAccess);
            record(scene, population, 0, SampleOutcome::Skipped(Ip(ip), skip), StackId::NONE, 0);
            return;
        }
        let stack = scene.stack(ip);
        for (part, access) in (0u8..).zip(accesses) {
            let access = shared::common(scene.state, self.common, *access, scene.time);
            record(scene, population, part, SampleOutcome::Access(access), stack, 0);
            self.look_up(scene, population, access, stack, Some(1.0));
        }
    }

    /// Takes an access that was sampled: a read-modify-write is both a load and a store, and the detector must see it as
    /// the one for which it was drawn.
    pub(super) fn sampled_as(&self, scene: &mut Scene<'_>, sample: &Drawn) {
        let stack = scene.stack(sample.access.ip.0);
        let access = shared::common(scene.state, self.common, sample.access, scene.time);
        record(scene, Population::Step, 0, SampleOutcome::Access(access), stack, sample.doublings);
        let access = Access { kind: sample.kind, ..access };
        self.look_up(scene, Population::Step, access, stack, sample.followed);
    }

    /// Passes an access to the detector of its population and carries out its decision. `watch`: see [`Input::watch`].
    fn look_up(
        &self,
        scene: &mut Scene<'_>,
        population: Population,
        access: Access,
        stack: StackId,
        watch: Option<f32>,
    ) {
        let board = &self.boards[population as usize];
        let (time, cpu, weight) = (scene.time, scene.cpu, scene.weight);
        let input = Input { access, time, cpu, stack, population, weight, watch };
        let Some(own) = &mut scene.state.of.share else { return };
        let decision = own.of(population).on_sample(board, input);
        let slot = scene.state.slot;
        slot.count(Counter::Lookups, 1);
        slot.count(Counter::Published, u64::from(decision.published));
        slot.count(Counter::Collisions, u64::from(decision.collision));
        slot.count(Counter::BudgetSkipped, u64::from(decision.declined));
        if let Some(event) = decision.event {
            slot.push(&Record::Event(event));
            objects::report(scene.state, &event);
        }
        if decision.disarm || decision.arm.is_some() {
            let begin = clock::now();
            watch_as_decided(scene.state, &decision);
            // The burst engine's handler pays for its samples itself.
            if translated::is_on() {
                account::pay(scene.state, begin, 0);
            }
        }
    }
}

fn record(
    scene: &Scene<'_>,
    population: Population,
    part: u8,
    outcome: SampleOutcome,
    stack: StackId,
    doublings: u8,
) {
    let thread = carom_base::ThreadId(0);
    let (time, cpu) = (scene.time, scene.cpu);
    let sample = Sample { thread, time, cpu, population, part, outcome, stack, doublings };
    scene.state.slot.push(&Record::Sample(sample));
}

/// Moves or removes the thread's watchpoints.
fn watch_as_decided(state: &mut State, decision: &Decision) {
    let slot = state.slot;
    if decision.disarm {
        state.sampler.disarm();
    }
    if let Some(plan) = decision.arm {
        if shared::local_plan(&plan).is_some_and(|plan| state.sampler.arm(&plan)) {
            slot.count(Counter::Armed, 1);
        } else {
            slot.count(Counter::ArmFailures, 1);
            if let Some(own) = &mut state.of.share {
                own.watching().disarm();
            }
        }
    }
}
