//! Recordings on disk: format, writer, reader, checker.
//!
//! A recording is a directory `PROGRAM.N.carom/` with a `manifest.json` ([`Manifest`]: what ran, where, how
//! it was observed) and one append-only file per kind of row ([`Row`]). Such a file is a sequence of
//! self-framed chunks, so it can be read while it is being written and after it has been cut short anywhere.
//! `docs/format.md` has every byte.
//!
//! ```
//! use carom_base::{Addr, Nanos, ProcessId, StackId};
//! use carom_store::{HeapObject, Manifest, Recording, Writer, fresh_dir};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let parent = tempfile::tempdir()?;
//! # let parent = parent.path();
//! let dir = fresh_dir(parent, "app")?;
//! let object = HeapObject {
//!     process: ProcessId(0), base: Addr(0x1000), size: 64, site: StackId::NONE, seen: Nanos(7),
//! };
//! let mut writer = Writer::create(&dir, Manifest::default())?;
//! writer.push(&[object]);
//! writer.finish(Manifest { complete: true, ..Manifest::default() })?;
//!
//! let recording = Recording::open(&dir)?;
//! let mut objects = recording.rows::<HeapObject>();
//! assert_eq!(objects.next().transpose()?, Some(object));
//! assert!(objects.next().is_none() && !objects.truncated());
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod check;
mod checks;
mod chunk;
mod error;
mod fresh;
#[doc(hidden)]
pub mod fuzzing;
mod import;
mod manifest;
mod read;
mod remove;
mod replace;
mod rows;
mod rules;
mod series;
mod simulated;
mod tables;
mod write;

pub use check::check;
pub use checks::store_checks;
pub use chunk::{Kind, MAX_PAYLOAD_BYTES};
pub use error::{Damage, StoreError};
pub use fresh::fresh_dir;
pub use import::Importer;
pub use manifest::{
    Aside, CacheInfo, Costs, CpuInfo, Delivery, EngineInfo, Exit, FileInfo, FrameInfo, GeneratedInfo, Leaves,
    MANIFEST_NAME, MachineInfo, Manifest, MappingInfo, ModuleInfo, ParameterInfo, PmuCount, ProcessInfo,
    RemedyCheck, RemedyChecks, ReuseInfo, SCHEMA, SampleMeans, SegmentInfo, SeriesInfo, SharedMappingInfo,
    SimulatedCache, SimulatedCounts, SimulatedInfo, ThreadCounters, ThreadCounts, ThreadInfo, TraceInfo,
    TraceMode, UsageInfo, Warning, Watch,
};
pub use read::{Recording, Rows, Spread};
pub use remove::remove;
pub use rows::{
    About, CounterRow, FootprintRow, FrameTotals, HeapObject, InstructionCounts, MAX_FRAMES, Name,
    PlaceCounts, Question, Row, Stack, StreamFrame,
};
pub use rules::{MAX_VIOLATIONS, Rule, Violation};
pub use series::{run_dir, runs_of};
pub use simulated::replace_accesses;
pub use write::{Full, Writer, store_instructions, store_names, store_places};
