use serde::{Deserialize, Serialize};

use super::plain;

/// What observed the accesses, and with which settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineInfo {
    /// `pmu`, `burst`, `translate`.
    pub name: String,
    /// Why this one.
    pub reason: String,
    /// How samples are taken: by interrupts (`sigtrap`, `setsig`, `posix-timer`), or `inline`, by the code itself.
    pub delivery: String,
    /// Thread CPU time between two samples of a thread, in nanoseconds; 0 where samples do not go by time.
    pub period_ns: u64,
    /// Loads between two sampled ones; 0 where loads are not sampled by number.
    pub load_period: u64,
    /// Stores between two sampled ones; 0 where stores are not sampled by number.
    pub store_period: u64,
    /// The share of the program's time that observation may take, in percent.
    #[serde(deserialize_with = "plain::null_is_nan")]
    pub budget_percent: f64,
    /// The most instructions that one burst steps over.
    pub max_steps: u32,
    /// What watches for sharing: `registers`, the processor's; `software`, translated code; empty where nothing does.
    pub watch: String,
    /// Watchpoints in use per thread: so many registers, or the one line that code watches.
    pub watchpoints: u32,
    /// Slots of the bulletin board.
    pub board_slots: u32,
    /// What a sample stands for: `thread time`, `accesses`, or `nothing` where none are taken.
    pub sample_means: String,
    /// What observation costs on this machine.
    pub costs_ns: Costs,
}

/// Costs calibrated at the start, in nanoseconds each. Those of signals include the delivery, which a handler cannot
/// see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Costs {
    /// One timer interrupt.
    pub timer: u64,
    /// One single-step trap.
    pub step: u64,
    /// One watchpoint trap.
    pub trap: u64,
    /// Moving one watchpoint.
    pub modify: u64,
    /// One line's way from a core to another that contends for it; 0 where that was not measured.
    pub transfer: u64,
    /// One load from memory; 0 where that was not measured.
    pub memory: u64,
}
