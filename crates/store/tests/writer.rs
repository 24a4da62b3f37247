//! How recordings come to be.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use carom_base::{Sample, SharingEvent};
use carom_store::{MANIFEST_NAME, Manifest, Recording, Row, Stack, StoreError, Writer, check};
use common::small;

#[test]
fn a_recording_is_never_overwritten() {
    let (_parent, dir) = small().write();
    let before = fs::read(dir.join(MANIFEST_NAME)).unwrap();
    assert!(matches!(Writer::create(&dir, Manifest::default()), Err(StoreError::Exists(_))));
    assert_eq!(fs::read(dir.join(MANIFEST_NAME)).unwrap(), before);
    // Not even where only rows are left of it.
    fs::remove_file(dir.join(MANIFEST_NAME)).unwrap();
    assert!(matches!(Writer::create(&dir, Manifest::default()), Err(StoreError::Exists(_))));
}

#[test]
fn a_directory_with_other_files_is_fine() {
    let parent = tempfile::tempdir().unwrap();
    fs::write(parent.path().join("session-1"), "memory of the agent").unwrap();
    assert!(Writer::create(parent.path(), Manifest::default()).is_ok());
}

#[test]
fn only_the_owner_may_read() {
    let (_parent, dir) = small().write();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    for entry in fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn a_dropped_writer_leaves_a_recording_that_was_cut_short() {
    let small = small();
    let parent = tempfile::tempdir().unwrap();
    let start = Manifest { complete: false, threads: Vec::new(), ..small.manifest.clone() };
    let mut writer = Writer::create(parent.path(), start).unwrap();
    writer.push(&small.stacks);
    writer.push(&small.samples);
    drop(writer);
    let recording = Recording::open(parent.path()).unwrap();
    assert!(!recording.manifest().complete);
    assert_eq!(recording.rows::<Sample>().map(Result::unwrap).collect::<Vec<_>>(), small.samples);
    // The manifest has no threads yet: in a recording that was never finished this breaks no rule, nor does a
    // torn tail.
    let file = parent.path().join(Sample::KIND.file_name());
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(check(parent.path()).unwrap(), []);
}

#[test]
fn a_checkpoint_shows_rows_and_manifest() {
    let small = small();
    let parent = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(parent.path(), Manifest::default()).unwrap();
    writer.push(&small.events);
    writer.checkpoint(&small.manifest);
    let recording = Recording::open(parent.path()).unwrap();
    assert_eq!(recording.manifest(), &small.manifest);
    assert_eq!(recording.rows::<SharingEvent>().count(), 1);
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 2, "events and the manifest");
}

#[test]
fn stacks_are_on_disk_before_the_rows_that_refer_to_them() {
    let small = small();
    let parent = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(parent.path(), small.manifest.clone()).unwrap();
    writer.push(&small.stacks);
    // Enough samples that a chunk of them is written, while one stack is far from a chunk.
    writer.push(&vec![small.samples[0]; 2000]);
    let recording = Recording::open(parent.path()).unwrap();
    assert!(recording.rows::<Sample>().count() > 0);
    assert_eq!(recording.rows::<Stack>().count(), 1);
}
