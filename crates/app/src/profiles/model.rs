//! The list as JSON.

use serde::Serialize;

use super::profile::Profile;

/// The list.
#[derive(Serialize)]
pub struct List<'a> {
    /// Version of this document, raised when a key changes its meaning or goes away.
    schema: u32,
    /// The oldest first.
    profiles: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    /// Where it lies.
    dir: String,
    /// When the recording began, in seconds since 1970-01-01 UTC.
    started_unix_s: f64,
    /// How long it took.
    wall_s: f64,
    /// The subcommand that recorded.
    command: &'a str,
    /// The program and its arguments; `{NAME}` stands for the value of a parameter that varies.
    argv: &'a [String],
    /// The command that it is compared with, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<&'a [String]>,
    /// How many runs it has.
    runs: usize,
    /// What the profile takes on disk.
    bytes: u64,
    /// False while the program runs, and where carom was killed.
    complete: bool,
}

/// All profiles.
pub fn list(profiles: &[Profile]) -> List<'_> {
    List { schema: 1, profiles: profiles.iter().map(entry).collect() }
}

fn entry(profile: &Profile) -> Entry<'_> {
    let manifest = &profile.manifest;
    Entry {
        dir: profile.dir.display().to_string(),
        started_unix_s: manifest.started_unix_s,
        wall_s: manifest.wall_s,
        command: &manifest.command,
        argv: &profile.commands.argv,
        against: profile.commands.against.as_deref(),
        runs: profile.runs,
        bytes: profile.bytes,
        complete: manifest.complete,
    }
}
