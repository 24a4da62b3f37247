use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{SimulatedCounts, SimulatedSharing};

/// What the same accesses do after a change of the data's layout: `carom simulate --what-if`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimulatedWhatIf {
    /// The changes. They are simulated together.
    pub changes: Vec<SimulatedChange>,
    /// Of all accesses, with the changes.
    pub total: SimulatedCounts,
    /// Of the accesses of each of `references`, with the changes.
    pub references: Vec<SimulatedCounts>,
    /// Accesses to bytes that lie apart afterwards: each was simulated as several, as the changed program would make them.
    pub cut_accesses: u64,
}

/// A change, and what became of the objects that it is about.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimulatedChange {
    /// The change, as in `pad:stats+8:64`.
    pub change: String,
    /// Objects whose layout changes: blocks of one allocation are several.
    pub objects: usize,
    /// Invalidations of lines with bytes of them.
    pub before: SimulatedSharing,
    /// The same with the changes.
    pub after: SimulatedSharing,
}
