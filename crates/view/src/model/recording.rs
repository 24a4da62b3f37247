//! What every recording command reports: program, processes, threads, engine, quality.

use schemars::JsonSchema;
use serde::Serialize;

use super::Real;

/// The program that was recorded.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Program {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Runs that the report is on, as one (`carom reuse --runs`): processes, threads and `exit` are the first's, `wall_s`
    /// is that of the longest.
    pub runs: u32,
    /// How it ended; null where nobody saw its end.
    pub exit: Option<Exit>,
    /// Wall-clock time from start to end, in seconds.
    pub wall_s: Real,
    /// True when every process was recorded to its end.
    pub complete: bool,
    /// Why the recording stops before the program's end, where it does.
    pub cut_short: Option<String>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It returned or called exit with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

/// A process of the run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Process {
    /// Number in this report.
    pub id: u32,
    /// The kernel's number.
    pub pid: u32,
    /// Id of the process that forked or spawned it.
    pub parent: Option<u32>,
    /// The name of the host on which it ran; null where it is not known or tells nothing (`localhost`).
    pub host: Option<String>,
    /// Its arguments.
    pub argv: Vec<String>,
    /// How it ended; null where nobody saw its end.
    pub exit: Option<Exit>,
    /// Whether it was observed.
    pub coverage: ProcessCoverage,
}

/// Whether a process was observed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProcessCoverage {
    /// True when the agent ran in it.
    pub profiled: bool,
    /// Why not, where it did not.
    pub reason: Option<String>,
}

/// A thread of the run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Thread {
    /// Number in this report.
    pub id: u32,
    /// Id of its process.
    pub process: u32,
    /// The kernel's number.
    pub tid: u32,
    /// Its name as the kernel had it last; may be empty and need not be unique.
    pub name: String,
    /// CPU time consumed, in nanoseconds.
    pub cpu_ns: u64,
}

/// What observed the accesses.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Engine {
    /// `burst`, `translate` or `pmu`.
    pub name: String,
    /// Why this engine was used.
    pub reason: String,
    /// What a sample stands for: `thread time`, `N accesses`, `N to M accesses` where the period followed the program,
    /// `N loads or M stores` where these are sampled apart, or `nothing` where everything is counted and nothing sampled.
    pub sample_means: String,
    /// From one sample to the next, in `period_unit`, on average; 0 where nothing is sampled. Where loads and
    /// stores have different periods, the shorter of the two; where the period followed the program, the shortest that it
    /// could be (`quality.periods` has those that it was).
    pub period: u64,
    /// Loads from one sampled load to the next, on average; null where loads are not sampled by number.
    pub load_period: Option<u64>,
    /// Stores from one sampled store to the next, on average; null where stores are not sampled by number.
    pub store_period: Option<u64>,
    /// Unit of `period`.
    pub period_unit: PeriodUnit,
    /// How samples reach the agent.
    pub delivery: EngineDelivery,
    /// The agent's share of the program's CPU time that it tries to stay under, in percent; null where it keeps to
    /// none. Some of what it spends cannot be seen from within and is charged at a price that was calibrated or estimated.
    pub budget_percent: Option<Real>,
    /// What watches for sharing; null where nothing does.
    pub watch: Option<EngineWatch>,
    /// Watchpoints per thread: registers of 8 bytes each, or one line in software; 0 where there are none.
    pub watchpoints: u32,
    /// Slots of the bulletin board on which threads publish what they wrote.
    pub board_slots: u32,
    /// Which accesses a trace keeps, where it keeps only some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<ReducedTrace>,
}

/// Which accesses a reduced trace keeps.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReducedTrace {
    /// How it was reduced.
    pub mode: ReducedMode,
    /// Loads that took no longer are left out: ticks of the time-stamp counter, without the cost of timing.
    pub latency: u32,
    /// Of long loads and stores together, one in this number was kept; 1 in other modes than `lossy`.
    pub sample: u32,
    /// The probability with which a store was kept; null where `sample` says it.
    pub stores: Option<Real>,
    /// The instructions whose loads were timed; null where all loads were.
    pub instructions: Option<u64>,
}

/// How a trace was reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReducedMode {
    /// Long loads and stores, one in a number of both.
    Lossy,
    /// The same, of those that an Itanium 2 would have tracked (model).
    LossyItanium,
    /// All long loads of instructions that a first run had found, and stores by chance.
    Targeted,
    /// Long loads alone.
    Loads,
}

/// What a period is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeriodUnit {
    /// Nanoseconds of thread CPU time.
    Ns,
    /// Accesses.
    Accesses,
}

/// What watches lines that other threads have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EngineWatch {
    /// The processor's debug registers, up to four of 8 bytes.
    Registers,
    /// Translated code, which looks its accesses up: one whole line at a time.
    Software,
}

/// How samples reach the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EngineDelivery {
    /// perf_event_open with `sigtrap=1`.
    Sigtrap,
    /// perf_event_open with F_SETSIG.
    Setsig,
    /// POSIX CPU timers: at most CONFIG_HZ samples a second, no watchpoints.
    PosixTimer,
    /// By the program's own translated code: no signals.
    Inline,
    /// A replayed recording.
    Replay,
}

impl EngineDelivery {
    /// A few words for people.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Sigtrap => "perf events, synchronous signals",
            Self::Setsig => "perf events, F_SETSIG signals",
            Self::PosixTimer => "POSIX CPU timers, no watchpoints",
            Self::Inline => "samples taken by the translated code",
            Self::Replay => "replayed recording",
        }
    }
}

/// Where the program ran.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Machine {
    /// The processor's name.
    pub cpu_model: String,
    /// Logical processors online.
    pub logical_cpus: u32,
    /// The kernel's release.
    pub kernel: String,
    /// The hypervisor, where there is one.
    pub hypervisor: Option<String>,
}

/// Counts that say how far the numbers can be trusted. Everything that was lost has a count of its own.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Quality {
    /// Samples of both kinds: `last_instruction` + `step`.
    pub samples: u64,
    /// Samples of the instruction before each interrupt: weighted by time, they find and rank lines.
    pub last_instruction: u64,
    /// Samples of an instruction picked at random: weighted by execution, they give populations.
    pub step: u64,
    /// Times that a thread was seen to touch a line that another had written.
    pub events: u64,
    /// Records lost because a buffer was full.
    pub dropped: u64,
    /// Samples of instructions that may have touched memory but whose address is not known: `skipped`
    /// without the reason `not-an-access`.
    pub unattributed: u64,
    /// The periods that were in force, the shortest first; more than one where the period followed the program. Empty where
    /// no sample was kept.
    pub periods: Vec<PeriodInForce>,
    /// Samples without an address, by reason.
    pub skipped: Vec<Skipped>,
    /// Left out to stay within the budget: samples by execution (`share` by time), watchpoints (`share` by accesses), or
    /// samples (`reuse`). The others weigh more instead.
    pub budget_skipped: u64,
    /// Published addresses that found their slot on the board taken.
    pub collisions: u64,
    /// Watchpoints set.
    pub watchpoints_armed: u64,
    /// Watchpoints that trapped.
    pub watchpoint_traps: u64,
    /// Threads that ran without being sampled.
    pub unprofiled_threads: u64,
    /// What this engine never sees, in any run.
    pub not_covered: Vec<NotCovered>,
    /// What the reader should know before trusting the numbers.
    pub warnings: Vec<Warning>,
}

/// A period, and the samples that were drawn with it.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct PeriodInForce {
    /// The period, in units of the engine's `period_unit`.
    pub period: u64,
    /// Samples.
    pub samples: u64,
}

/// Samples without an address, for one reason.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Skipped {
    /// The reason, stable, in kebab case.
    pub reason: String,
    /// The reason in a few words.
    pub text: String,
    /// Samples.
    pub samples: u64,
}

/// A part of the program's run that is not observed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NotCovered {
    /// Stable, in kebab case: `before-main`, `kernel`.
    pub code: String,
    /// What, in a few words.
    pub text: String,
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Warning {
    /// Stable, in kebab case.
    pub code: String,
    /// What, why, and what to do about it.
    pub text: String,
}
