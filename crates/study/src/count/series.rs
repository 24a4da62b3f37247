//! Several runs of one command.

use carom_store::Manifest;
use carom_study_stats::Moments;

use super::Quantity;

/// A quantity in the runs that know it.
#[derive(Clone, Debug, PartialEq)]
pub struct InRuns {
    /// Which.
    pub quantity: Quantity,
    /// The value of each run that knows it, in their order.
    pub values: Vec<f64>,
    /// Their mean and variance.
    pub moments: Moments,
    /// Of an event of a PMU, the part of the time for which it had a counter.
    pub time_share: Option<f64>,
}

/// Every quantity that a run knows.
pub fn in_runs(runs: &[&Manifest]) -> Vec<InRuns> {
    let known = |quantity: Quantity| {
        let values = quantity.in_runs(runs.iter().copied());
        let moments = Moments::of(&values)?;
        let time_share = quantity.time_share(runs.iter().copied());
        Some(InRuns { quantity, values, moments, time_share })
    };
    Quantity::of_runs(runs.iter().copied()).into_iter().filter_map(known).collect()
}
