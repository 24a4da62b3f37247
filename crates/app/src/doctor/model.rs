//! `carom doctor --json`: what is serialised. Keys and ids are fixed; more may be added.

use schemars::JsonSchema;
use serde::Serialize;

/// The whole answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Report {
    /// What wrote this.
    pub carom: Carom,
    /// Always `doctor`.
    pub command: String,
    /// Whether carom can profile programs here, how and why: one to three sentences.
    pub verdict: String,
    /// What `--engine auto` takes; null where no engine works.
    pub engine: Option<Choice>,
    /// Every engine.
    pub engines: Vec<Engine>,
    /// Every facility that was looked at.
    pub facilities: Vec<Facility>,
    /// The machine and this user.
    pub machine: Machine,
}

/// What wrote a report.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Carom {
    /// Version of the program.
    pub version: String,
    /// Version of the JSON contract.
    pub schema: u32,
}

/// What `--engine auto` takes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Choice {
    /// The engine.
    pub name: String,
    /// `inline` (translate), `sigtrap`, `setsig` or `posix-timer`.
    pub delivery: String,
    /// Debug registers that watch, per thread; 0 where there are none.
    pub watchpoints: u32,
    /// Why.
    pub reason: String,
    /// What it means for the numbers.
    pub costs: String,
}

/// One engine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Engine {
    /// `pmu`, `translate`, `burst`.
    pub name: String,
    /// Whether this version of carom has it.
    pub in_this_version: bool,
    /// Whether this machine could run it.
    pub machine: Answer,
    /// Why, in words.
    pub text: String,
    /// Ways of sampling, best first; empty for other engines than `burst`.
    pub deliveries: Vec<Delivery>,
}

/// One way in which `burst` can sample.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Delivery {
    /// `sigtrap`, `setsig`, `posix-timer`.
    pub name: String,
    /// Whether it works here.
    pub support: Answer,
    /// Why not; null for yes.
    pub cause: Option<String>,
    /// What it means for the numbers.
    pub costs: String,
}

/// Three-valued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Works.
    Yes,
    /// Does not.
    No,
    /// Could not be told.
    Unknown,
}

/// One facility.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Facility {
    /// Its fixed name.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// Whether it works here.
    pub support: Answer,
    /// Why not; null for yes.
    pub cause: Option<String>,
    /// What would change it, where something would.
    pub remedy: Option<Remedy>,
    /// What else is worth knowing.
    pub note: Option<String>,
}

/// What to do.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Remedy {
    /// In words.
    pub text: String,
    /// The command to run, where one does it.
    pub command: Option<String>,
}

/// The machine and this user.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Machine {
    /// As `uname -r` prints it.
    pub kernel: String,
    /// Clock interrupts per second.
    pub tick_hz: Option<u32>,
    /// The processor's name.
    pub cpu: String,
    /// `GenuineIntel`, `AuthenticAMD`.
    pub cpu_vendor: String,
    /// Processor family.
    pub cpu_family: Option<u32>,
    /// Processor model.
    pub cpu_model: Option<u32>,
    /// Shadow stacks: `absent`, `available`, `active`.
    pub shadow_stack: String,
    /// Online logical processors.
    pub cpus: Vec<Cpu>,
    /// What virtualises the machine.
    pub hypervisor: Option<String>,
    /// The kind of container that this process seems to run in.
    pub container: Option<String>,
    /// Effective user id.
    pub uid: u32,
    /// Exempt from `kernel.perf_event_paranoid`: CAP_PERFMON or CAP_SYS_ADMIN.
    pub perfmon: bool,
    /// True where a seccomp filter is in force.
    pub seccomp: bool,
    /// The process that traces this one.
    pub tracer: Option<u32>,
    /// `kernel.perf_event_paranoid`.
    pub perf_event_paranoid: Option<i32>,
    /// `kernel.perf_event_max_sample_rate`, samples per second.
    pub perf_event_max_sample_rate: Option<u64>,
    /// `kernel.nmi_watchdog`.
    pub nmi_watchdog: Option<bool>,
    /// Mode of kernel lockdown.
    pub lockdown: Option<String>,
    /// `kernel.yama.ptrace_scope`.
    pub ptrace_scope: Option<u32>,
    /// Free bytes in the working directory.
    pub directory_free_bytes: Option<u64>,
    /// Size of `/dev/shm` in bytes.
    pub shared_memory_bytes: Option<u64>,
}

/// Where a logical processor sits.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Cpu {
    /// Its number.
    pub cpu: u32,
    /// Its core within the package.
    pub core: u32,
    /// Its package.
    pub package: u32,
    /// Its NUMA node.
    pub node: u32,
}
