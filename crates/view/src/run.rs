//! What a report needs to know about a run besides the findings: plain values that the caller fills in.

use carom_base::{ProcessId, ThreadId};

/// One recording of one program.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInfo {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Runs of it that the report is on: end and threads are the first's, the wall-clock time that of the longest.
    pub runs: u32,
    /// How it ended.
    pub exit: ExitStatus,
    /// Wall-clock time from start to end, in seconds.
    pub wall_s: f64,
    /// True when every process was recorded to its end.
    pub complete: bool,
    /// Why the recording stops before the program's end, where it does.
    pub cut_short: Option<String>,
    /// Every process that was met, in order of id.
    pub processes: Vec<ProcessInfo>,
    /// Every thread that was met, in order of id.
    pub threads: Vec<ThreadInfo>,
    /// What observed the accesses.
    pub engine: EngineInfo,
    /// Where the program ran.
    pub machine: MachineInfo,
    /// What the reader should know before trusting the numbers.
    pub warnings: Vec<WarningInfo>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// It returned or called exit with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// It was still running, or nobody saw its end.
    Unknown,
}

/// A process of the recording.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessInfo {
    /// Number in this recording.
    pub id: ProcessId,
    /// The kernel's number.
    pub pid: u32,
    /// The process that forked or spawned it.
    pub parent: Option<ProcessId>,
    /// The name of the host on which it ran, where it is known.
    pub host: Option<String>,
    /// Its arguments.
    pub argv: Vec<String>,
    /// How it ended.
    pub exit: ExitStatus,
    /// Whether it was observed.
    pub coverage: Coverage,
}

/// Whether a process was observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// From its start (of `main`) to its end.
    Profiled,
    /// It ran without the agent, for this reason (`statically linked`, `setuid`, …).
    Unprofiled(String),
}

/// A thread of the recording.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadInfo {
    /// Number in this recording.
    pub id: ThreadId,
    /// The process it belongs to.
    pub process: ProcessId,
    /// The kernel's number.
    pub tid: u32,
    /// Its name as the kernel had it last; may be empty and need not be unique.
    pub name: String,
    /// CPU time consumed, in nanoseconds.
    pub cpu_ns: u64,
}

/// What observed the accesses.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineInfo {
    /// `burst`, `translate` or `pmu`.
    pub name: String,
    /// Why this engine: the automatic choice with its cause, or that the user asked for it.
    pub reason: String,
    /// What a sample stands for.
    pub sample_means: SampleMeans,
    /// Thread CPU time between samples, in nanoseconds, where a sample stands for that.
    pub period_ns: u64,
    /// How samples reach the agent.
    pub delivery: Delivery,
    /// The agent's share of the program's CPU time that it tries to stay under, in percent, where there is one.
    pub budget_percent: Option<f64>,
    /// What watches for sharing, where anything does.
    pub watch: Option<Watch>,
    /// Watchpoints per thread; 0 where there are none, 1 in software.
    pub watchpoints: u32,
    /// Slots of the bulletin board.
    pub board_slots: u32,
}

/// What a sample stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleMeans {
    /// An amount of thread CPU time (`burst`).
    ThreadTime,
    /// Numbers of accesses (`pmu`, `translate`).
    Accesses {
        /// Loads that a sampled load stands for; 0 where loads are not sampled.
        loads: u64,
        /// Stores that a sampled store stands for; 0 where stores are not sampled.
        stores: u64,
    },
    /// Nothing is sampled: everything is counted (`translate`).
    Nothing,
}

/// What watches lines that other threads have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// The processor's debug registers: 8 bytes each.
    Registers,
    /// Translated code itself: one whole line at a time.
    Software,
}

/// How a sample reaches the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// perf_event_open with `sigtrap=1` (kernel 5.13 and later).
    Sigtrap,
    /// perf_event_open with F_SETSIG, on older kernels.
    Setsig,
    /// POSIX CPU timers, where perf_event_open is denied: at most CONFIG_HZ samples a second, no watchpoints.
    PosixTimer,
    /// By the program's own translated code: no signals.
    Inline,
    /// A replayed recording.
    Replay,
}

/// Where a program ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineInfo {
    /// The processor's name.
    pub cpu_model: String,
    /// Logical processors online.
    pub logical_cpus: u32,
    /// The kernel's release.
    pub kernel: String,
    /// The hypervisor, where there is one.
    pub hypervisor: Option<String>,
}

/// A warning, for programs (`code`) and for people (`text`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarningInfo {
    /// Stable, in kebab case.
    pub code: String,
    /// A sentence or two: what, why, and what to do about it.
    pub text: String,
}
