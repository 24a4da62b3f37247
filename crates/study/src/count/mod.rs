//! Exact counts: how many instructions, loads, stores and so on each thread executed.
//!
//! Nothing is estimated here. Only coverage limits the numbers: code that ran natively was not counted.

mod coherence;
mod coverage;
mod event;
mod kept;
mod limit;
mod places;
mod pmu;
mod predict;
mod quantity;
mod regression;
mod series;
mod simulated;
#[cfg(test)]
mod tests;
mod tracepoint;

use carom_base::{ProcessId, ThreadId};
use carom_store::{Manifest, ThreadInfo};

pub use carom_study_stats::{Fit, Growth, GrowthLaw, GrowthTerm, Model, Prediction, growth};
pub use coherence::{Coherence, CoreTraffic, coherence};
pub use coverage::{Coverage, Leave};
pub use event::Event;
pub use limit::{Bound, EventLimit, Judgement};
pub use places::{Grain, Place, PlaceSums, Places, places};
pub use predict::{Doubt, Forecast, HeldOut, Indicator, LEAST_SIZES, PredictError, predict};
pub use quantity::{Basis, Quantity, Use};
pub use regression::{Law, Parameter, Regression, regression};
pub use series::{InRuns, in_runs};
pub use simulated::{CacheEvent, Simulated, simulate_caches};

use crate::Study;
use crate::recording::{Offsets, Recordings};

/// How much of what each thread executed.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountStudy;

impl Study for CountStudy {
    type Findings = CountFindings;

    fn study(&self, recordings: &mut Recordings<'_>) -> CountFindings {
        analyse(recordings.manifests())
    }
}

/// The counts of one run or of several.
#[derive(Clone, Debug, PartialEq)]
pub struct CountFindings {
    /// Every event, in the order of [`Event::ALL`].
    pub events: Vec<EventCounts>,
    /// How much of the run the counts cover.
    pub coverage: Coverage,
    /// Threads that ran without the agent.
    pub unprofiled_threads: u64,
}

/// One event in every thread and process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventCounts {
    /// Which.
    pub event: Event,
    /// All threads together; `None` where no thread counted it.
    pub total: Option<u64>,
    /// By thread, in order of id; `None` where it was not counted there.
    pub threads: Vec<Option<u64>>,
    /// By process, in order of id; `None` where no thread of it counted it.
    pub processes: Vec<Option<u64>>,
}

/// Adds up what the threads of all `recordings` counted, numbered through by the offsets beside them.
pub fn analyse<'a>(recordings: impl IntoIterator<Item = (&'a Manifest, Offsets)>) -> CountFindings {
    let recordings: Vec<_> = recordings.into_iter().collect();
    let mut processes = 0;
    let mut threads: Vec<(ProcessId, ThreadId, &ThreadInfo)> = Vec::new();
    for (manifest, by) in &recordings {
        processes += manifest.processes.len();
        threads.extend(
            manifest.threads.iter().map(|thread| (by.process(thread.process), by.thread(thread.id), thread)),
        );
    }
    threads.sort_by_key(|(_, id, _)| *id);
    let counts = |event: Event| {
        let mut by_process = vec![None; processes];
        let by_thread: Vec<Option<u64>> = threads
            .iter()
            .map(|(process, _, thread)| {
                let value = thread.counts.as_ref().and_then(|counts| event.of(counts));
                if let Some(sum) = by_process.get_mut(process.0 as usize) {
                    *sum = plus(*sum, value);
                }
                value
            })
            .collect();
        let total = by_thread.iter().copied().fold(None, plus);
        EventCounts { event, total, threads: by_thread, processes: by_process }
    };
    CountFindings {
        events: Event::ALL.map(counts).into(),
        coverage: Coverage::of(
            threads.iter().map(|(_, _, thread)| *thread),
            recordings.iter().flat_map(|(manifest, _)| &manifest.processes),
        ),
        unprofiled_threads: recordings
            .iter()
            .flat_map(|(manifest, _)| &manifest.processes)
            .fold(0, |sum, process| sum.saturating_add(process.unprofiled_threads)),
    }
}

/// The sum of the values that were counted. They come from memory that the program could have overwritten, so that the sum
/// may not fit.
fn plus(sum: Option<u64>, value: Option<u64>) -> Option<u64> {
    match (sum, value) {
        (Some(sum), Some(value)) => Some(sum.saturating_add(value)),
        (sum, value) => sum.or(value),
    }
}
