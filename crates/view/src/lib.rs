//! The report: model, terminal text, HTML, JSON, CSV, SARIF.
//!
//! Findings and a [`RunInfo`] go in; [`share::report`], [`count::report`] or [`reuse::report`] turns them into a
//! [`model::Report`], and the renderers ([`text`], [`web`], [`csv`], [`sarif`], [`json`]) turn that into strings. Nothing here
//! prints or touches a file.
#![forbid(unsafe_code)]

pub mod count;
pub mod csv;
mod debug_info;
pub mod diff;
mod issue;
mod json;
pub mod model;
mod named;
pub mod per_phase;
pub mod phases;
pub mod profile;
mod recording;
pub mod reuse;
mod run;
pub mod sarif;
mod section;
pub mod share;
pub mod simulate;
pub mod text;
pub mod web;
pub mod widths;
mod words;

pub use run::RunInfo;
pub use words::{command_line, size, thousands};

pub use json::json;

// The sample recordings of the tests are shared with the integration tests and the example, which see this
// crate under its public name.
#[cfg(test)]
extern crate self as carom_view;
#[cfg(test)]
#[path = "../tests/sample/mod.rs"]
mod sample;
