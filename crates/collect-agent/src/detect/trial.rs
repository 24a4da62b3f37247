//! Runs parts of the translate engine alone, to measure their cost.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use carom_base_insn::Registers;
use carom_base_wire::{SlotHeader, Trial};
use carom_collect_translate::Batch;

use super::{Detector, Needs, Sample};
use crate::{session::Session, thread::State};

/// Keeps the compiler from removing sums that nothing reads.
static SUM: AtomicU64 = AtomicU64::new(0);

/// Has the engine work for no detector.
pub struct Trials(Trial);

impl Trials {
    /// Where a trial is asked for.
    pub fn make(session: &Session) -> Option<Box<dyn Detector>> {
        session.settings.trial.map(|trial| Box::new(Self(trial)) as Box<dyn Detector>)
    }
}

impl Detector for Trials {
    fn needs(&self) -> Needs {
        Needs {
            samples: self.0 == Trial::Samples,
            samples_can_be_early: true,
            stream: matches!(self.0, Trial::Stream | Trial::Checksums),
            nothing_else: self.0 == Trial::Translation,
            ..Needs::default()
        }
    }

    fn sampled(&self, _state: &mut State, _registers: &Registers<'_>, sample: &Sample) {
        SUM.fetch_add(sample.access.addr.0, Relaxed);
    }

    fn streamed(&self, _slot: &SlotHeader, batch: &Batch<'_>) {
        if self.0 == Trial::Checksums {
            let mut sum = 0u64;
            batch.for_each(|access| sum = sum.wrapping_add(access.addr.0));
            SUM.fetch_add(sum, Relaxed);
        }
    }
}
