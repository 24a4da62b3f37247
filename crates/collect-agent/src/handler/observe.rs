//! From an access to what follows from it: records for the host, watchpoints on this thread.

use carom_base::{Access, AccessKind, Ip, Population, Sample, SampleOutcome, Skip, StackId};
use carom_base_detect::{Decision, Input};
use carom_base_sys::clock;
use carom_base_wire::{Counter, Record};

use super::Scene;
use crate::{account, objects, shared, translated};

impl Scene<'_> {
    /// Records a sample of `population` that has the accesses `accesses`, or none because of `skip`.
    pub fn sampled(&mut self, population: Population, ip: u64, accesses: &[Access], skip: Option<Skip>) {
        if let Some(reuse) = &self.state.session.reuse {
            // Only these represent executed instructions.
            if population == Population::Step {
                accesses.iter().for_each(|access| reuse.on_sample(self, *access, self.weight));
            }
            return;
        }
        if accesses.is_empty() {
            let skip = skip.unwrap_or(Skip::NotAnAccess);
            self.record(population, 0, SampleOutcome::Skipped(Ip(ip), skip), StackId::NONE);
            return;
        }
        let stack = self.stack(ip);
        for (part, access) in (0u8..).zip(accesses) {
            let access = shared::common(self.state, *access, self.time);
            self.record(population, part, SampleOutcome::Access(access), stack);
            self.look_up(population, access, stack, Some(1.0));
        }
    }

    /// Records an access that was sampled as one of `kind`: a read-modify-write is both a load and a store, and the
    /// detector must meet it as the one that was counted down to. `watch`: see [`Input::watch`].
    pub fn sampled_as(&mut self, access: Access, kind: AccessKind, watch: Option<f32>) {
        let stack = self.stack(access.ip.0);
        let access = shared::common(self.state, access, self.time);
        self.record(Population::Step, 0, SampleOutcome::Access(access), stack);
        self.look_up(Population::Step, Access { kind, ..access }, stack, watch);
    }

    /// The call path of an access at `ip`.
    pub fn stack(&mut self, ip: u64) -> StackId {
        let memory = super::memory(&self.context, self.modules, &self.state.stack);
        self.state.stacks.take(ip, &self.context, self.modules, &memory, &self.state.slot)
    }

    fn record(&mut self, population: Population, part: u8, outcome: SampleOutcome, stack: StackId) {
        let thread = carom_base::ThreadId(0);
        let sample = Sample { thread, time: self.time, cpu: self.cpu, population, part, outcome, stack };
        self.state.slot.push(&Record::Sample(sample));
    }

    /// Shows an access to the detector of its population and does what it decides. `watch`: see [`Input::watch`].
    fn look_up(&mut self, population: Population, access: Access, stack: StackId, watch: Option<f32>) {
        let index = population as usize;
        let board = &self.state.session.boards[index];
        let (time, cpu, weight) = (self.time, self.cpu, self.weight);
        let input = Input { access, time, cpu, stack, population, weight, watch };
        let decision = self.state.detectors[index].on_sample(board, input);
        let slot = self.state.slot;
        slot.count(Counter::Lookups, 1);
        slot.count(Counter::Published, u64::from(decision.published));
        slot.count(Counter::Collisions, u64::from(decision.collision));
        slot.count(Counter::BudgetSkipped, u64::from(decision.declined));
        if let Some(event) = decision.event {
            slot.push(&Record::Event(event));
            objects::report(self.state, &event);
        }
        if decision.disarm || decision.arm.is_some() {
            let begin = clock::now();
            self.watch(index, &decision);
            // Bursts are paid for by the handler that makes them.
            if translated::is_on() {
                account::pay(self.state, begin, 0);
            }
        }
    }

    /// Moves or removes the thread's watchpoints, as the detector of this number has decided.
    fn watch(&mut self, index: usize, decision: &Decision) {
        let slot = self.state.slot;
        if decision.disarm {
            self.state.sampler.disarm();
        }
        if let Some(plan) = decision.arm {
            if shared::local_plan(&plan).is_some_and(|plan| self.state.sampler.arm(&plan)) {
                slot.count(Counter::Armed, 1);
            } else {
                slot.count(Counter::ArmFailures, 1);
                self.state.detectors[index].disarm();
            }
        }
    }
}
