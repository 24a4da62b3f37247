//! The answer of `carom phases`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::Real;

/// The phases of a run, by how its memory grows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Phases {
    /// The memory that tells the phases.
    pub memory: PhaseMemory,
    /// The phases, in their order.
    pub phases: Vec<Phase>,
    /// The memory of the program and its children over time: at most some thousand moments, evenly chosen.
    pub trace: Vec<TracePoint>,
    /// How often the memory was read.
    pub readings: u64,
    /// The kernel's counters that were read with it (`--events`).
    pub counters: Vec<PhaseCounter>,
}

/// A counter of the kernel over time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PhaseCounter {
    /// The software event, or the tracepoint (`subsystem:event`).
    pub name: String,
    /// What one of it is: `s` for CPU time, or `times`.
    pub unit: String,
    /// All that it counted.
    pub total: Real,
    /// What it counted in each phase, in their order.
    pub by_phase: Vec<PhaseCount>,
    /// What it had counted since the program began: at most some thousand moments, evenly chosen of those at which that has changed.
    pub trace: Vec<CounterPoint>,
}

/// What a counter counted in one phase.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct PhaseCount {
    /// All of it.
    pub total: Real,
    /// In each second; null where the phase has no length, because the memory was read once.
    pub per_second: Real,
}

/// A counter at one moment.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct CounterPoint {
    /// When, in seconds from the first reading of the memory on; may be a little below 0.
    pub at_s: Real,
    /// What it had counted.
    pub count: Real,
}

/// Memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseMemory {
    /// What is in main memory (VmRSS).
    Resident,
    /// Reserved addresses (VmSize).
    Reserved,
}

/// A time in which memory grows at one speed.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Phase {
    /// Its beginning, in seconds from the first reading on.
    pub start_s: Real,
    /// Its end.
    pub end_s: Real,
    /// How fast memory grows, in bytes per second; below 0 where it shrinks.
    pub slope_bytes_per_s: Real,
    /// Memory at the beginning, by the line through the phase.
    pub first_bytes: Real,
    /// Memory at the end.
    pub last_bytes: Real,
    /// How far from the line memory is: the root of the mean square.
    pub deviation_bytes: Real,
}

/// Memory at one moment.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct TracePoint {
    /// When, in seconds from the first reading on.
    pub at_s: Real,
    /// Resident bytes.
    pub resident: u64,
    /// Reserved bytes.
    pub reserved: u64,
}
