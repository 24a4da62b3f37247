use std::fs;
use std::io;
use std::path::Path;

use crate::chunk::Kind;
use crate::error::StoreError;
use crate::manifest::MANIFEST_NAME;
use crate::read::Recording;
use crate::replace::next_name;
use crate::series::runs_of;

/// What a host that was killed leaves: the files that it shared with the agents.
const SESSION_NAME: &str = "session";

/// Removes the recording in `dir`, or all of the series there, and the directory where nothing else lies in it. Returns
/// whether it is gone.
///
/// Only files of a recording are removed: people put reports and notes beside them. The manifest goes last, so that a removal
/// that was interrupted can be repeated.
///
/// # Errors
/// There is no recording, or a file cannot be removed.
pub fn remove(dir: &Path) -> Result<bool, StoreError> {
    let runs = runs_of(dir);
    if runs.is_empty() {
        return remove_recording(dir);
    }
    // From the last on: what is left of an interrupted removal is still a series.
    for run in runs.iter().rev() {
        remove_recording(run)?;
    }
    remove_dir(dir)
}

fn remove_recording(dir: &Path) -> Result<bool, StoreError> {
    let manifest = Recording::open(dir)?.manifest().clone();
    if !manifest.complete {
        let session = dir.join(SESSION_NAME);
        gone(&session, fs::remove_dir_all(&session))?;
    }
    let generated = manifest.processes.iter().flat_map(|process| &process.generated);
    for path in generated.filter(|file| file.is_copy()).map(|file| dir.join(&file.path)) {
        gone(&path, fs::remove_file(&path))?;
    }
    let tables = Kind::all().map(Kind::file_name);
    for name in tables.chain([MANIFEST_NAME]) {
        for path in [dir.join(next_name(name)), dir.join(name)] {
            gone(&path, fs::remove_file(&path))?;
        }
    }
    remove_dir(dir)
}

/// Returns whether it was empty.
fn remove_dir(dir: &Path) -> Result<bool, StoreError> {
    match fs::remove_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
        removed => gone(dir, removed).map(|()| true),
    }
}

/// What is not there need not be removed.
fn gone(path: &Path, removed: io::Result<()>) -> Result<(), StoreError> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io(path, error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GeneratedInfo, Manifest, ProcessInfo, Writer, fresh_dir};

    #[test]
    fn a_recording_goes_with_its_directory() {
        let parent = tempfile::tempdir().unwrap();
        let dir = fresh_dir(parent.path(), "app").unwrap();
        let path = |path: &str| GeneratedInfo { path: path.to_owned(), bytes: 0 };
        let elsewhere = parent.path().join("perf-7.map");
        fs::write(&elsewhere, "").unwrap();
        let generated = vec![path("code-0.map"), path(elsewhere.to_str().unwrap()), path("../perf-7.map")];
        let process = ProcessInfo { generated, ..ProcessInfo::default() };
        let manifest = Manifest { processes: vec![process], ..Manifest::default() };
        Writer::create(&dir, manifest.clone()).unwrap().finish(manifest).unwrap();
        crate::store_names(&dir, &[]).unwrap();
        fs::write(dir.join("code-0.map"), "").unwrap();
        fs::create_dir(dir.join(SESSION_NAME)).unwrap();
        fs::write(dir.join(SESSION_NAME).join("settings"), "").unwrap();
        assert!(remove(&dir).unwrap());
        assert!(!dir.exists() && elsewhere.exists());
    }

    #[test]
    fn a_series_goes_with_all_its_runs() {
        let parent = tempfile::tempdir().unwrap();
        let dir = fresh_dir(parent.path(), "app").unwrap();
        for number in 1..=3 {
            Writer::create(&crate::run_dir(&dir, number), Manifest::default()).unwrap();
        }
        assert!(remove(&dir).unwrap());
        assert!(!dir.exists());
    }

    #[test]
    fn what_others_put_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        Writer::create(dir.path(), Manifest::default()).unwrap();
        fs::write(dir.path().join("notes"), "mine").unwrap();
        assert!(!remove(dir.path()).unwrap());
        let left: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["notes"]);
    }

    #[test]
    fn what_is_no_recording_stays() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("samples.bin"), "mine").unwrap();
        let refused = remove(dir.path()).unwrap_err().to_string();
        assert!(refused.ends_with("not a profile of carom: it has no manifest.json"), "{refused}");
        assert!(dir.path().join("samples.bin").exists());
    }
}
