use schemars::JsonSchema;
use serde::Serialize;

use crate::model::Real;

/// A reduced trace beside the full one: `carom simulate --compare`. The measures are those of Marathe, Mueller and de Supinski
/// (sections 4.1 and 8), of all cores together.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimulatedComparison {
    /// Loads and stores of the full trace; a read-modify-write is one of each.
    pub full: SimulatedVolume,
    /// Those of the reduced trace, whose simulation the rest of `simulate` is.
    pub reduced: SimulatedVolume,
    /// The most source lines that were selected by each metric.
    pub top: usize,
    /// By metric.
    pub metrics: Vec<SimulatedMetric>,
    /// Whether true and false sharing can be told apart.
    pub split: SimulatedSplit,
}

/// Accesses of a trace.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SimulatedVolume {
    /// Accesses that read.
    pub loads: u64,
    /// Accesses that write.
    pub stores: u64,
}

/// The source lines that the reduced trace ranks first by one metric.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimulatedMetric {
    /// `coherence_load_misses`, `invalidations`, `true_sharing` or `false_sharing`; the last three by the store that caused them.
    pub name: String,
    /// In the full trace, all source lines together.
    pub full: u64,
    /// In the reduced trace, all source lines together.
    pub reduced: u64,
    /// What the selected source lines have in the full trace, as a part of what as many of its own have; null where these have
    /// nothing.
    pub coverage: Option<Real>,
    /// Selected source lines that have nothing in the full trace.
    pub false_positives: usize,
    /// The selected source lines, the one that has most in the reduced trace first.
    pub selected: Vec<SimulatedSelected>,
}

/// A source line that the reduced trace ranks high.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimulatedSelected {
    /// Source file, where known.
    pub file: Option<String>,
    /// Source line, where known.
    pub line: Option<u32>,
    /// The instruction's address in its file, in hexadecimal, where no line is known.
    pub address: Option<String>,
    /// In the reduced trace.
    pub reduced: u64,
    /// In the full trace.
    pub full: u64,
}

/// False sharing of the source lines that were selected for it, as a part of all invalidations.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SimulatedSplit {
    /// In the reduced trace.
    pub reduced: Real,
    /// In the full trace.
    pub full: Real,
    /// In the full trace, of all source lines.
    pub inherent: Real,
    /// Whether the program has so little false sharing that a reduced trace cannot tell it from true sharing.
    pub inherently_low: bool,
    /// Whether `reduced` and `full` are within a factor of two.
    pub similar: bool,
}
