use carom_base::{Nanos, ProcessId, SegmentId};
use serde::{Deserialize, Serialize};

use super::{Warning, plain};

/// How a process ended. In JSON: `{"code": 0}`, `{"signal": 9}` or `"unknown"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It returned or called exit, with this status.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It has not ended yet, or nobody saw it end.
    #[default]
    Unknown,
}

/// One process of the recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessInfo {
    /// Its number, which is its index in [`crate::Manifest::processes`].
    #[serde(with = "plain")]
    pub id: ProcessId,
    /// Its number in the kernel's eyes, in carom's PID namespace.
    pub pid: u32,
    /// The process that started it, where that one is in the recording.
    #[serde(with = "plain::option", default)]
    pub parent: Option<ProcessId>,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// How it ended, where that is known.
    pub exit: Option<Exit>,
    /// Why it ran unprofiled, where it did (32-bit, setuid, static, …).
    pub unprofiled: Option<String>,
    /// Threads that ran unprofiled, for example for want of session memory.
    #[serde(default)]
    pub unprofiled_threads: u64,
    /// CPU time of these, and of children that could not be profiled, in nanoseconds, as far as it is known.
    #[serde(default)]
    pub unprofiled_ns: u64,
    /// Since when, and why, it ran natively and unobserved, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aside: Option<Aside>,
    /// Executable and libraries, for symbols.
    pub modules: Vec<ModuleInfo>,
    /// Other mappings that a data address may lie in.
    pub mappings: Vec<MappingInfo>,
    /// Memory that other processes may share, where it was met here. The same addresses may be listed again later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<SharedMappingInfo>,
    /// Files in which it described code that it made while it ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generated: Vec<GeneratedInfo>,
    /// What the reader of a report must know about this process.
    pub warnings: Vec<Warning>,
}

/// A file in which a process described code that it made while it ran: a text for perf (`….map`), or a jitdump.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedInfo {
    /// Its path; one that is not absolute is in the recording's directory.
    pub path: String,
    /// Its length when the process had ended.
    pub bytes: u64,
}

impl GeneratedInfo {
    /// Whether it is a copy in the recording's own directory.
    pub fn is_copy(&self) -> bool {
        self.path.starts_with("code-") && !self.path.contains('/')
    }
}

/// A part of a shared segment at addresses of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedMappingInfo {
    /// Its first byte.
    pub low: u64,
    /// One past its last byte.
    pub high: u64,
    /// The segment.
    #[serde(with = "plain")]
    pub segment: SegmentId,
    /// Where the first byte lies in the segment.
    pub offset: u64,
    /// Whether the process may write there.
    pub writable: bool,
}

/// Memory that processes may share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentInfo {
    /// Its number.
    #[serde(with = "plain")]
    pub id: SegmentId,
    /// The file behind it, or the kernel's name for it, as in `/proc/PID/maps`.
    pub path: String,
    /// The file's device: major number times 2^20 plus minor number.
    pub device: u64,
    /// The file's number on that device; of a segment of System V its id.
    pub inode: u64,
}

/// A process went on natively and unobserved, because the program did what cannot be followed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aside {
    /// When.
    #[serde(with = "plain")]
    pub at: Nanos,
    /// What the program did, as a stable code: `seccomp`, `dispatch`, `tsc`, `traced`.
    pub code: String,
    /// What that forbids, where the code alone does not tell.
    pub detail: String,
    /// CPU time of the process until then, in nanoseconds.
    pub seen_ns: u64,
    /// CPU time of the process from then on, as far as it is known, in nanoseconds.
    pub unseen_ns: u64,
}

/// An executable or library while it is mapped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleInfo {
    /// Its file.
    pub path: String,
    /// The GNU build id in lower-case hexadecimal digits, where it has one.
    pub build_id: Option<String>,
    /// Address in memory minus the address that its program headers state, modulo 2^64.
    pub bias: u64,
    /// Its first byte in memory.
    pub low: u64,
    /// One past its last byte in memory.
    pub high: u64,
    /// When it was first seen.
    #[serde(with = "plain")]
    pub loaded: Nanos,
    /// When it was gone, where it went before the process did.
    #[serde(with = "plain::option", default)]
    pub unloaded: Option<Nanos>,
    /// Bytes from the beginning of its thread-local variables to the thread pointer, where that is the same in all threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<u64>,
}

/// A range of addresses with a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappingInfo {
    /// Its first byte.
    pub low: u64,
    /// One past its last byte.
    pub high: u64,
    /// The file behind it, or the kernel's name for it, such as `[heap]`.
    pub path: String,
}
