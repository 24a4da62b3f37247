//! `carom doctor`: what this machine and this user can do, and what to do about the rest.

mod convert;
pub mod model;
#[cfg(test)]
mod tests;
pub mod text;

use std::path::PathBuf;

use carom_base_sys::probe::Facts;
pub use model::Report;

/// Arguments of `carom doctor`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// Write the answer as JSON to FILE, `-` for standard output, instead of as text
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Examines this machine. Takes some milliseconds; leaves nothing behind.
pub fn run() -> Report {
    Report::new(&Facts::here())
}

impl Report {
    /// The JSON document, ending in a newline.
    ///
    /// # Errors
    /// None that is known; serde_json may state one.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|json| json + "\n")
    }
}
