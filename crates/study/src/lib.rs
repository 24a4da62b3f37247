//! A folder for each question: recordings in, a value out ([`Study`]). [`recording`] and [`symbols`] serve all.
#![forbid(unsafe_code)]

pub mod count;
pub mod diff;
mod estimate;
pub mod phases;
pub mod recording;
pub mod reuse;
pub mod share;
pub mod simulate;
mod study;
pub mod symbols;
pub mod widths;

pub use estimate::Estimate;
pub use study::{Study, StudyOfWindow};
