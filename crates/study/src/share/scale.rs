//! What one sample and one event count for.

use carom_base::{AccessKind, Population, Sample, SampleOutcome, SharingEvent};

use super::{Periods, ShareInput, Unit};

/// The weights of a recording's samples and events, in its unit.
#[derive(Clone, Copy)]
pub(super) struct Scale<'a> {
    pub input: &'a dyn ShareInput,
    pub unit: Unit,
}

impl<'a> Scale<'a> {
    /// Accesses, if the samples of any thread stand for accesses. Threads whose samples do not are then left out.
    pub fn of(input: &'a dyn ShareInput) -> Self {
        let by_accesses = input.threads().iter().any(|thread| input.periods(thread.id).is_some());
        Self { input, unit: if by_accesses { Unit::Accesses } else { Unit::Samples } }
    }

    /// How much sharing an event stands for; 0 for a broken record.
    pub fn event(self, event: &SharingEvent) -> f64 {
        let weight = f64::from(event.weight);
        let weight = if weight.is_finite() && weight > 0.0 { weight } else { 0.0 };
        match self.unit {
            Unit::Samples => weight,
            Unit::Accesses => {
                weight * self.input.periods(event.thread).map_or(0.0, |periods| periods.shortest())
            }
        }
    }

    /// The part of the whole that a sample adds to the shares of lines and sites; 0 for a sample of the other kind.
    pub fn sample(self, sample: &Sample) -> f64 {
        match (self.unit, sample.population) {
            (Unit::Samples, Population::LastInstruction) => 1.0,
            (Unit::Accesses, Population::Step) => {
                let one = |periods: Periods| match sample.outcome {
                    SampleOutcome::Access(access) => periods.accesses(access.kind),
                    SampleOutcome::Skipped(..) => periods.shortest(),
                };
                self.input.periods(sample.thread).map_or(0.0, |periods| one(periods) * sample.periods())
            }
            (Unit::Samples, Population::Step) | (Unit::Accesses, Population::LastInstruction) => 0.0,
        }
    }

    /// The accesses and operations that a step sample of one of this kind stands for; 1 where not known.
    ///
    /// A read-modify-write is drawn as its load or as its store, and the two need not have doubled their periods equally
    /// often: as the weight of either is multiplied by what its odds were divided by, the expected sum does not change.
    pub fn step(self, sample: &Sample, kind: AccessKind) -> (f64, f64) {
        let times = sample.periods();
        match (self.unit, self.input.periods(sample.thread)) {
            (Unit::Samples, _) => (1.0, 1.0),
            (Unit::Accesses, Some(periods)) => {
                (periods.accesses(kind) * times, periods.operations(kind) * times)
            }
            (Unit::Accesses, None) => (0.0, 0.0),
        }
    }

    /// When, as far as the uncertainty of shares depends on it.
    ///
    /// Samples by time are correlated in time as the program is, and their intervals must know. Accesses are each
    /// sampled with a probability that is known and independent of what the program does when, so that the program's
    /// own rhythm is no source of error: all of them are one block.
    pub fn time(self, sample: &Sample) -> u64 {
        match self.unit {
            Unit::Samples => sample.time.0,
            Unit::Accesses => 0,
        }
    }

    /// Whether the operands of one instruction are one sample: a timer meets an instruction, a count an access.
    pub fn by_instruction(self) -> bool {
        self.unit == Unit::Samples
    }
}
