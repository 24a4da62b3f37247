//! Replay: an engine that takes its accesses from a stream, recorded or written by hand, and feeds them to detectors.
//!
//! ```
//! use carom_base::SharingClass;
//! use carom_base_detect::Config;
//! use carom_base_replay::{Sampling, Sharing, replay};
//! use carom_base_stream::text;
//!
//! let stream = text::parse("
//!     0 store 8 @0x1000    # thread 0 writes the first word of a line,
//!     1 load  8 @0x1008    # thread 1 reads the second
//! ")?;
//! let mut sharing = Sharing::new(Config::default(), Sampling::Every);
//! replay(&stream, &mut sharing);
//! assert_eq!(sharing.events().first().map(|event| event.class), Some(SharingClass::False));
//! # Ok::<(), text::TextError>(())
//! ```
//!
//! The same stream gives the same result each time: detectors that draw at random take a seed. So a detector can be
//! tested with a stream whose answer is known, and a recorded stream can be analysed again with other settings.
//!
//! - [`Sharing`]: which threads write what others use (`carom-base-detect`);
//! - [`ExactReuse`] and [`SampledReuse`]: how far apart reuses are (`carom-base-reuse`);
//! - [`Counts`]: how much each thread reads and writes.
#![forbid(unsafe_code)]

mod counts;
mod engine;
mod exact_reuse;
mod sampled_reuse;
mod sampling;
mod sharing;

pub use counts::{Counts, ThreadCounts};
pub use engine::{Detector, Engine, Step, replay, replay_in_domains};
pub use exact_reuse::ExactReuse;
pub use sampled_reuse::SampledReuse;
pub use sampling::Sampling;
pub use sharing::Sharing;
