//! One folder per question: recordings in, a value out ([`Study`]).
#![forbid(unsafe_code)]

pub mod count;
mod estimate;
pub mod recording;
pub mod reuse;
pub mod share;
mod study;
pub mod symbols;
pub mod widths;

pub use estimate::Estimate;
pub use study::Study;
