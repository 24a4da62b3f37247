use serde::{Deserialize, Serialize};

use super::{plain, trace::TraceInfo};

named! {
    /// How samples reach the agent.
    Delivery {
        /// perf_event_open with `sigtrap=1` (kernel 5.13 and later). Recordings that ended before it was known have no name.
        #[default]
        #[serde(alias = "")]
        Sigtrap = "sigtrap",
        /// perf_event_open with F_SETSIG, on older kernels.
        Setsig = "setsig",
        /// POSIX CPU timers, where perf_event_open is denied: at most CONFIG_HZ samples a second, no watchpoints.
        PosixTimer = "posix-timer",
        /// By the program's own translated code: no signals.
        Inline = "inline",
    }
}

named! {
    /// What watches lines that other threads have written.
    Watch {
        /// Nothing, or, in older recordings, registers.
        #[default]
        Nothing = "",
        /// The processor's debug registers: 8 bytes each.
        Registers = "registers",
        /// Translated code itself: one whole line at a time.
        Software = "software",
    }
}

named! {
    /// What a sample stands for.
    SampleMeans {
        /// An amount of thread CPU time.
        #[default]
        #[serde(alias = "")]
        ThreadTime = "thread time",
        /// Numbers of accesses: the periods.
        Accesses = "accesses",
        /// Nothing is sampled: everything is counted.
        Nothing = "nothing",
    }
}

/// What observed the accesses, and with which settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineInfo {
    /// `pmu`, `burst`, `translate`.
    pub name: String,
    /// Why this one.
    pub reason: String,
    /// How samples are taken: by interrupts, or by the code itself.
    pub delivery: Delivery,
    /// Thread CPU time between two samples of a thread, in nanoseconds; 0 where samples do not go by time.
    pub period_ns: u64,
    /// Loads between two sampled ones; 0 where loads are not sampled by number.
    pub load_period: u64,
    /// Stores between two sampled ones; 0 where stores are not sampled by number.
    pub store_period: u64,
    /// How often the two periods above may be doubled to keep to the budget: each sample says how often they were
    /// ([`carom_base::Sample::doublings`]). 0 where they are fixed.
    pub doublings: u32,
    /// The share of the program's time that observation may take, in percent.
    #[serde(deserialize_with = "plain::null_is_nan")]
    pub budget_percent: f64,
    /// The most instructions that one burst steps over.
    pub max_steps: u32,
    /// What watches for sharing.
    pub watch: Watch,
    /// Watchpoints in use per thread: debug registers, or the one line that translated code watches.
    pub watchpoints: u32,
    /// Slots of the bulletin board.
    pub board_slots: u32,
    /// Heap allocations were followed.
    pub objects: bool,
    /// What a sample stands for.
    pub sample_means: SampleMeans,
    /// Which accesses were kept, where only some were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceInfo>,
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
