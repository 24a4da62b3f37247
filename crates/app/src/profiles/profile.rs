//! Profiles as they lie on disk.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use carom_store::{Kind, MANIFEST_NAME, Manifest, Recording, StoreError, run_dir, runs_of};

use super::series::{self, Commands};
use crate::failure::Failure;

/// While a program runs, its manifest is renewed every two seconds: one that is older belongs to a recording that was killed.
const RENEWED: Duration = Duration::from_secs(10);

/// A profile, without its rows.
pub struct Profile {
    /// Where it lies, as the user would name it.
    pub dir: PathBuf,
    /// What it says of itself; of a series, what its last run says, from the beginning of the first.
    pub manifest: Manifest,
    /// Its command, and the one that it is compared with.
    pub commands: Commands,
    /// How many runs it has.
    pub runs: usize,
    /// What it takes on disk.
    pub bytes: u64,
}

impl Profile {
    /// Reads what a profile says of itself.
    ///
    /// # Errors
    /// It is none, or of a later version.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let runs = runs_of(dir);
        if runs.is_empty() {
            let manifest = Recording::open(dir)?.manifest().clone();
            let commands = Commands { argv: manifest.argv.clone(), against: None };
            return Ok(Self { dir: dir.to_owned(), manifest, commands, runs: 1, bytes: size(dir) });
        }
        let manifests = runs.iter().map(|run| Ok(Recording::open(run)?.manifest().clone()));
        let manifests: Vec<Manifest> = manifests.collect::<Result<_, StoreError>>()?;
        let commands = series::commands(&manifests);
        // A series is as complete as its last run.
        let mut manifest = manifests.last().cloned().unwrap_or_default();
        let started = manifests.first().map_or(manifest.started_unix_s, |first| first.started_unix_s);
        manifest.wall_s += manifest.started_unix_s - started;
        manifest.started_unix_s = started;
        Ok(Self { dir: dir.to_owned(), manifest, commands, runs: runs.len(), bytes: size(dir) })
    }

    /// Whether the program seems to run still.
    pub fn is_growing(&self) -> bool {
        let runs = runs_of(&self.dir);
        let dir = runs.last().unwrap_or(&self.dir);
        let renewed = fs::metadata(dir.join(MANIFEST_NAME)).and_then(|manifest| manifest.modified());
        let age = renewed.ok().and_then(|renewed| SystemTime::now().duration_since(renewed).ok());
        !self.manifest.complete && age.is_none_or(|age| age < RENEWED)
    }
}

/// The profiles at these places, the oldest first: each is a profile, or a directory that holds some. A profile that cannot be
/// read is left out with a complaint.
///
/// # Errors
/// A place is no directory, or cannot be read.
pub fn find(places: &[PathBuf]) -> Result<Vec<Profile>, Failure> {
    let mut found = Vec::new();
    for place in places {
        if is_profile(place) {
            found.push(place.clone());
            continue;
        }
        let entries = fs::read_dir(place).map_err(|error| at(place, &error))?;
        for entry in entries {
            let name = entry.map_err(|error| at(place, &error))?.file_name();
            let dir = if place == Path::new(".") { name.into() } else { place.join(name) };
            if is_profile(&dir) {
                found.push(dir);
            }
        }
    }
    let readable = |dir: &PathBuf| Profile::open(dir).inspect_err(|error| eprintln!("carom: {error}")).ok();
    let mut profiles: Vec<Profile> = found.iter().filter_map(readable).collect();
    profiles.sort_by(|one, other| one.manifest.started_unix_s.total_cmp(&other.manifest.started_unix_s));
    Ok(profiles)
}

/// Other tools have manifests too: that of a profile can be read, or lies beside tables.
fn is_profile(dir: &Path) -> bool {
    let has_tables = |dir: &Path| Kind::all().any(|kind| dir.join(kind.file_name()).is_file());
    let is_recording =
        |dir: &Path| dir.join(MANIFEST_NAME).is_file() && (has_tables(dir) || Recording::open(dir).is_ok());
    is_recording(dir) || is_recording(&run_dir(dir, 1))
}

fn at(place: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {error}", place.display()))
}

/// What the files in a directory take, also in those below it.
fn size(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(bytes).sum()
}
