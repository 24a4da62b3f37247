//! The files of a recording, as the manifest lists them.

use std::fs;
use std::path::Path;

use carom_store::{FileInfo, Manifest, Recording, Rule, Violation, check};

use crate::common::{change, small};
use crate::{EVENTS, MANIFEST, OBJECTS, SAMPLES, STACKS};

/// Changes the files of the good recording, and expects these rules among the broken ones of a file.
fn expect_files(file: &str, rule: &Rule, change: impl FnOnce(&Path)) {
    let (_parent, dir) = small().write();
    change(&dir);
    let found = check(&dir).unwrap();
    let expected = Violation { file: file.to_owned(), row: None, rule: rule.clone() };
    assert!(found.contains(&expected), "{found:?}");
}

fn with_files(dir: &Path, change: impl FnOnce(&mut Vec<FileInfo>)) {
    let mut manifest: Manifest = Recording::open(dir).unwrap().manifest().clone();
    change(&mut manifest.files);
    fs::write(dir.join(MANIFEST), serde_json::to_string(&manifest).unwrap()).unwrap();
}

#[test]
fn a_file_of_no_recording() {
    let name = "../../etc/passwd".to_owned();
    expect_files(MANIFEST, &Rule::UnexpectedFile(name.clone()), |dir| {
        with_files(dir, |files| files.push(FileInfo { name, bytes: 1, crc32: 1 }));
    });
}

#[test]
fn a_file_listed_twice() {
    expect_files(MANIFEST, &Rule::UnexpectedFile(SAMPLES.to_owned()), |dir| {
        with_files(dir, |files| files.push(files[0].clone()));
    });
}

#[test]
fn a_file_that_is_not_listed() {
    expect_files(SAMPLES, &Rule::NotListed, |dir| with_files(dir, |files| drop(files.remove(0))));
}

#[test]
fn a_complete_recording_without_files() {
    expect_files(STACKS, &Rule::NotListed, |dir| with_files(dir, Vec::clear));
}

#[test]
fn a_file_that_was_cut() {
    let length = |dir: &Path| fs::metadata(dir.join(SAMPLES)).unwrap().len();
    let (_parent, dir) = small().write();
    let stated = length(&dir);
    expect_files(SAMPLES, &Rule::Length { stated, found: stated - 1 }, |dir| {
        let whole = fs::read(dir.join(SAMPLES)).unwrap();
        fs::write(dir.join(SAMPLES), &whole[..whole.len() - 1]).unwrap();
    });
    expect_files(SAMPLES, &Rule::Truncated, |dir| {
        let whole = fs::read(dir.join(SAMPLES)).unwrap();
        fs::write(dir.join(SAMPLES), &whole[..whole.len() - 1]).unwrap();
    });
}

#[test]
fn a_file_of_other_bytes() {
    // The manifest's word alone: the chunks are untouched.
    let (_parent, dir) = small().write();
    let found = Recording::open(&dir).unwrap().manifest().files[0].crc32;
    expect_files(SAMPLES, &Rule::Checksum { stated: !found, found }, |dir| {
        with_files(dir, |files| files[0].crc32 = !files[0].crc32);
    });
}

#[test]
fn a_chunk_of_other_bytes() {
    let (_parent, dir) = small().write();
    change(&dir.join(OBJECTS), 30, |byte| !byte);
    let text = check(&dir).unwrap().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(text.contains("chunk at byte 0: checksum mismatch"), "{text}");
}

#[test]
fn a_file_that_is_missing() {
    let (_parent, dir) = small().write();
    fs::remove_file(dir.join(EVENTS)).unwrap();
    let found = check(&dir).unwrap();
    assert!(found.iter().all(|v| v.file == EVENTS && matches!(v.rule, Rule::Unreadable(_))), "{found:?}");
    assert!(!found.is_empty());
}
