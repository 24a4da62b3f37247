//! The layout of the files that the agent in the profiled process and the host share.
//!
//! - `settings`: the agents' orders, written by the host before the program starts ([`Settings`]).
//! - `control`: one page of values that change while the program runs ([`Control`]).
//! - `common`: the bulletin boards of memory that processes share ([`CommonHeader`]), written by the host, mapped by all
//!   agents.
//! - `PID.STARTED.N.seg`: a [`SegmentHeader`] and slots of one [`SlotHeader`] and one ring each. The agent maps
//!   it; the host only reads and writes it as a file, so nothing that the program does to it can hurt the host.
//! - `PID.STARTED.journal`: text lines about the process and those that it forked ([`journal`]).
//! - `PID.STARTED.cells`: records of counts ([`Record::Cell`]), appended: more at a time than a ring holds.
//! - `PID.STARTED.accesses`: all accesses, where they are kept, as frames of a stream (`carom-base-stream`), appended.
//! - `PID.STARTED.counts`: counts by instruction, where they are asked for ([`InstructionRecord`]), appended.
//!
//! Every number is little-endian as on x86-64. **Bump [`VERSION`] with every change** of a layout, a counter's
//! meaning or a record: both sides refuse another version.
//!
//! | version | what changed |
//! | --- | --- |
//! | 1 | the first |
//! | 2 | engine and access periods in the control page; exact counts and coverage in a slot; the line `engine` |
//! | 3 | reuse: settings, records of sampled uses and of counts, `.cells` files, counters |
//! | 4 | `.accesses` files; in the control page, what watches for sharing, and when to observe |
//! | 5 | in the control page, trials of the engine's parts |
//! | 6 | memory shared between processes: the file `common`, the line `shared`, numbers among processes in slots and events |
//! | 7 | time that the timer finds against the books, and how a process that was left ended, in slots and segments |
//! | 8 | children of a fork write into their parent's journal |
//! | 9 | `.accesses` files are frames of a stream |
//! | 10 | what is asked for in the file `settings`, with a section for each detector |
//! | 11 | names of generated code and of variables on stacks |
//! | 12 | periods that follow the program: in the settings, in the control page, in records of samples |
//! | 15 | `.counts` files |
#![forbid(unsafe_code)]

mod common;
mod control;
mod counts;
pub mod journal;
mod record;
mod segment;
mod settings;

pub use carom_base::{Counter, Leave};
pub use common::{COMMON_BOARDS, COMMON_FILE, COMMON_PUBLISHERS, CommonHeader, MOST_SEGMENTS};
pub use control::{CONTROL_FILE, Control, MADE_BY_CLONE};
pub use counts::{COUNT_WORDS, Count, InstructionRecord, NOT_COUNTED};
pub use record::{DecodeError, MAX_RECORD_WORDS, MAX_STACK_FRAMES, Record, Stack, decode, encode};
pub use segment::{
    Fate, Left, RING_WORDS, SEGMENT_MAGIC, SLOT_BYTES, SLOT_HEADER_BYTES, STATE_OFFSET, SegmentHeader,
    SlotHeader, SlotSnapshot, SlotState, TAIL_OFFSET, slot_offset,
};
pub use settings::{
    DeliveryChoice, Domains, DomainsOf, Engine, MAPPED, ReuseMethod, ReuseSettings, SETTINGS_FILE, Settings,
    SettingsError, ShareSettings, TARGETS_FILE, Trial, WatchChoice, Window,
};

/// The version of everything in this crate.
pub const VERSION: u32 = 16;

/// A file whose inode names the calling process's PID namespace.
pub const PID_NAMESPACE: &std::ffi::CStr = c"/proc/self/ns/pid";

/// How the names begin of sanitizers' libraries that do not work behind the agent: AddressSanitizer ends a program in which
/// another library was loaded before it, ThreadSanitizer finds its own state changed. Host and agent refuse programs that
/// need one. Clang links both statically, where they do neither.
pub const SANITIZERS: [&[u8]; 2] = [b"libasan.so", b"libtsan.so"];

/// The environment variable that tells a new process where its session is.
pub const SESSION_VARIABLE: &str = "CAROM_SESSION";
