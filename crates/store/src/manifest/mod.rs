//! `manifest.json`: what ran, where, and how it was observed.
//!
//! Fields may be added, with a default; readers ignore what they do not know. Anything else raises
//! [`SCHEMA`].

#[macro_use]
mod named;
mod checks;
mod counts;
mod engine;
mod file;
mod machine;
mod plain;
mod process;
mod reuse;
mod series;
mod simulated;
mod thread;
mod trace;
mod usage;

use carom_base::Nanos;
use serde::{Deserialize, Serialize};

pub use checks::{RemedyCheck, RemedyChecks};
pub use counts::{Leaves, ThreadCounts};
pub use engine::{Costs, Delivery, EngineInfo, SampleMeans, Watch};
pub use file::MANIFEST_NAME;
pub(crate) use file::{open_regular, read, write};
pub use machine::{CacheInfo, CpuInfo, MachineInfo};
pub use process::{
    Aside, Exit, GeneratedInfo, MappingInfo, ModuleInfo, ProcessInfo, SegmentInfo, SharedMappingInfo,
};
pub use reuse::ReuseInfo;
pub use series::{ParameterInfo, SeriesInfo};
pub use simulated::{SimulatedCache, SimulatedCounts, SimulatedInfo};
pub use thread::{FrameInfo, ThreadCounters, ThreadInfo};
pub use trace::{TraceInfo, TraceMode};
pub use usage::{PmuCount, UsageInfo};

/// The version of the manifest and of what its files mean. Readers refuse higher ones.
pub const SCHEMA: u32 = 6;

/// Everything about a recording that is not a row. The default has this carom's versions and is empty
/// otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`] of the carom that wrote it.
    pub schema: u32,
    /// Version of the carom that wrote it.
    pub version: String,
    /// The subcommand that recorded, such as `share`.
    pub command: String,
    /// The questions that it answers (`share`, `reuse`, `count`); empty where `command` names the only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
    /// The profiled program and its arguments, as given.
    pub argv: Vec<String>,
    /// The program's short name: the last part of its path.
    pub program: String,
    /// When the recording began, in seconds since 1970-01-01 UTC.
    #[serde(deserialize_with = "plain::null_is_nan")]
    pub started_unix_s: f64,
    /// The same instant on the clock of the rows.
    #[serde(with = "plain")]
    pub started: Nanos,
    /// Seconds from `started` to the end of the recording: no row is later.
    #[serde(deserialize_with = "plain::null_is_nan")]
    pub wall_s: f64,
    /// How the program ended.
    pub exit: Exit,
    /// True once everything that was observed has been written, and `wall_s`, `exit` and `files` are final.
    pub complete: bool,
    /// Why the recording ends before the program did, where it does.
    pub cut_short: Option<String>,
    /// How accesses were observed.
    pub engine: EngineInfo,
    /// How reuse was looked for, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reuse: Option<ReuseInfo>,
    /// What the program used, where it ran without carom in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageInfo>,
    /// Its place in a series of runs, where it is one of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesInfo>,
    /// Whose caches were simulated on its accesses, where some were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SimulatedInfo>,
    /// The counters of the kernel that were read while the program ran, by name, in the order of their numbers in rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<String>,
    /// What a simulation said of the remedies in its report, where one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<RemedyChecks>,
    /// Where.
    pub machine: MachineInfo,
    /// The MPI rank, where there is one.
    pub rank: Option<u32>,
    /// Every process, in the order of its id, which is its index.
    pub processes: Vec<ProcessInfo>,
    /// Every thread, in the order of its id, which is its index.
    pub threads: Vec<ThreadInfo>,
    /// Memory that processes may share, in order of its ids. Segments that were met too late have no entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<SegmentInfo>,
    /// What the reader of a report must know about the whole recording.
    pub warnings: Vec<Warning>,
    /// The files of rows as they were when the recording was finished; empty before.
    pub files: Vec<FileInfo>,
}

impl Default for Manifest {
    fn default() -> Self {
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: String::new(),
            questions: Vec::new(),
            argv: Vec::new(),
            program: String::new(),
            started_unix_s: 0.0,
            started: Nanos(0),
            wall_s: 0.0,
            exit: Exit::Unknown,
            complete: false,
            cut_short: None,
            engine: EngineInfo::default(),
            reuse: None,
            usage: None,
            series: None,
            simulated: None,
            counters: Vec::new(),
            checks: None,
            machine: MachineInfo::default(),
            rank: None,
            processes: Vec::new(),
            threads: Vec::new(),
            segments: Vec::new(),
            warnings: Vec::new(),
            files: Vec::new(),
        }
    }
}

impl Manifest {
    /// Whether it answers this question: `share`, `reuse` or `count`.
    pub fn asks(&self, question: &str) -> bool {
        if self.questions.is_empty() {
            self.command == question
        } else {
            self.questions.iter().any(|q| q == question)
        }
    }
}

/// Something that limits what the recording can say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// A stable name for programs, such as `no-watchpoints`.
    pub code: String,
    /// The problem, its likely cause and the remedy, for people.
    pub text: String,
}

/// One file of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Its name in the recording's directory.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// CRC-32 (IEEE 802.3) of the whole file.
    pub crc32: u32,
}
