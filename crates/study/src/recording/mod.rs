//! The parts of recordings that every study reads: threads, losses, names, and several recordings as one.
//!
//! [`Recordings`] holds those of one report. [`Recorded`] stands for one on disk, [`Merged`] for all of them; both are
//! the [`Input`] of a study, and of any further trait by which a study asks for rows of its own.

mod cached;
mod heap;
mod input;
mod merge;
mod names;
mod offsets;
mod recorded;
mod segments;
mod set;
mod symbolised;
mod windowed;

pub use cached::CachedNames;
pub use input::{Input, Losses, ThreadEntry};
pub use merge::{Combine, Merged, MergedNames};
pub use names::{NamedBytes, Names, NoNames};
pub use offsets::Offsets;
pub use recorded::Recorded;
pub use set::Recordings;
pub use symbolised::RecordedNames;
pub use windowed::{Window, Windowed};

pub use carom_store::ThreadCounters;
