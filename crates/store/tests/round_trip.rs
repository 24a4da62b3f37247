//! What is written is read.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use carom_base::{Ip, Nanos, ProcessId, ReuseCell, ReuseEvent, Sample, SharingEvent, StackId};
use carom_store::{
    FootprintRow, HeapObject, MAX_FRAMES, Manifest, Name, Recording, Row, Stack, StreamFrame, Writer, check,
    store_names,
};
use common::{any_cell, any_event, any_name, any_object, any_reuse, any_sample, any_stack, small};
use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

/// A recording written by `rows`, and the directory that holds it.
fn record(rows: impl FnOnce(&mut Writer)) -> (TempDir, Recording) {
    let parent = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(parent.path(), Manifest::default()).unwrap();
    rows(&mut writer);
    writer.finish(Manifest { complete: true, ..Manifest::default() }).unwrap();
    let recording = Recording::open(parent.path()).unwrap();
    (parent, recording)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn samples(rows in vec(any_sample(), 0..100)) {
        let (_dir, recording) = record(|writer| writer.push(&rows));
        prop_assert_eq!(recording.rows::<Sample>().collect::<Result<Vec<_>, _>>().unwrap(), rows);
    }

    #[test]
    fn memory(values in vec(any::<(u64, u64, u64)>(), 0..100)) {
        let row = |&(time, resident, reserved): &(u64, u64, u64)| FootprintRow { time: Nanos(time), resident, reserved };
        let rows: Vec<FootprintRow> = values.iter().map(row).collect();
        let (_dir, recording) = record(|writer| writer.push(&rows));
        prop_assert_eq!(recording.rows::<FootprintRow>().collect::<Result<Vec<_>, _>>().unwrap(), rows);
    }

    #[test]
    fn events(rows in vec(any_event(), 0..100)) {
        let (_dir, recording) = record(|writer| writer.push(&rows));
        prop_assert_eq!(recording.rows::<SharingEvent>().collect::<Result<Vec<_>, _>>().unwrap(), rows);
    }

    #[test]
    fn stacks(rows in vec(any_stack(), 0..100)) {
        let (_dir, recording) = record(|writer| writer.push(&rows));
        prop_assert_eq!(recording.rows::<Stack>().collect::<Result<Vec<_>, _>>().unwrap(), rows);
    }

    #[test]
    fn objects(rows in vec(any_object(), 0..100)) {
        let (_dir, recording) = record(|writer| writer.push(&rows));
        prop_assert_eq!(recording.rows::<HeapObject>().collect::<Result<Vec<_>, _>>().unwrap(), rows);
    }

    #[test]
    fn reuse(rows in vec(any_reuse(), 0..100)) {
        let (_dir, recording) = record(|writer| writer.push(&rows));
        prop_assert_eq!(recording.rows::<ReuseEvent>().collect::<Result<Vec<_>, _>>().unwrap(), rows);
    }

    #[test]
    fn names(rows in vec(any_name(), 0..100)) {
        let (_dir, recording) = record(|_| {});
        // Those that are stored last count.
        for names in [&rows[..rows.len() / 2], &rows] {
            store_names(recording.dir(), names).unwrap();
            let read = recording.rows::<Name>().collect::<Result<Vec<_>, _>>().unwrap();
            prop_assert_eq!(read, names);
        }
    }

    #[test]
    fn cells(rows in vec(any_cell(), 0..100)) {
        let (_dir, recording) = record(|writer| writer.push(&rows));
        prop_assert_eq!(recording.rows::<ReuseCell>().collect::<Result<Vec<_>, _>>().unwrap(), rows);
    }
}

#[test]
fn many_rows_take_many_chunks() {
    let one = small().samples[0];
    let mut rows = vec![one; 10_000];
    for (index, row) in rows.iter_mut().enumerate() {
        row.time.0 += index as u64;
    }
    let (_dir, recording) = record(|writer| writer.push(&rows));
    let bytes = std::fs::read(recording.dir().join("samples.chunks")).unwrap();
    let chunks = bytes.windows(4).filter(|window| window == b"CRMC").count();
    // A chunk is due at 64 KiB of rows in memory.
    let per_chunk = (64_usize << 10).div_ceil(size_of_val(&one));
    assert_eq!(chunks, rows.len().div_ceil(per_chunk));
    assert_eq!(recording.rows::<Sample>().collect::<Result<Vec<_>, _>>().unwrap(), rows);
}

#[test]
fn a_path_that_is_too_deep_is_cut_and_marked() {
    // The worst case for a chunk: one path of the most frames behind nearly a chunk of others, every
    // difference large.
    let deep = Stack {
        process: ProcessId(0),
        id: StackId(1),
        frames: (0..=MAX_FRAMES as u64).map(|i| Ip(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect(),
        truncated: false,
    };
    let short = Stack { frames: deep.frames[..1000].to_vec(), ..deep.clone() };
    let rows = [vec![short; 8], vec![deep.clone()]].concat();
    let (_dir, recording) = record(|writer| writer.push(&rows));
    let read = recording.rows::<Stack>().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(read[..8], rows[..8]);
    assert_eq!(read[8].frames, deep.frames[..MAX_FRAMES]);
    assert!(read[8].truncated);
}

#[test]
fn the_manifest_returns_with_its_files() {
    let small = small();
    let (_parent, dir) = small.write();
    let read = Recording::open(&dir).unwrap().manifest().clone();
    let names: Vec<_> = read.files.iter().map(|file| file.name.as_str()).collect();
    let rows = ["samples.chunks", "events.chunks", "stacks.chunks", "objects.chunks"];
    let others = ["reuse.chunks", "cells.chunks", "accesses.chunks", "memory.chunks", "counters.chunks"];
    assert_eq!(names, [&rows[..], &others].concat());
    assert_eq!(Manifest { files: Vec::new(), ..read }, small.manifest);
}

#[test]
fn exits_and_ids_read_as_the_report_writes_them() {
    let (_parent, dir) = small().write();
    let text = std::fs::read_to_string(dir.join("manifest.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["exit"], serde_json::json!({"code": 0}));
    assert_eq!(json["processes"][0]["exit"], serde_json::json!({"signal": 9}));
    assert_eq!(json["threads"][1]["id"], 1);
    assert_eq!(json["started"], 1_000_000_000_000_u64);
}

#[test]
fn numbers_that_json_cannot_write_cost_one_field() {
    let mut small = small();
    small.manifest.wall_s = f64::INFINITY;
    let (_parent, dir) = small.write();
    assert!(Recording::open(&dir).unwrap().manifest().wall_s.is_nan());
}

#[test]
fn the_small_recording_breaks_no_rule() {
    let (_parent, dir) = small().write();
    assert_eq!(check(&dir).unwrap(), []);
}

#[test]
fn a_recording_of_an_earlier_version_has_no_reuse_and_no_accesses() {
    let (_parent, dir) = small().write();
    let mut manifest = Recording::open(&dir).unwrap().manifest().clone();
    let later = [ReuseEvent::KIND, ReuseCell::KIND, StreamFrame::KIND, FootprintRow::KIND]
        .map(carom_store::Kind::file_name);
    manifest.files.retain(|file| !later.contains(&file.name.as_str()));
    std::fs::write(dir.join("manifest.json"), serde_json::to_string(&manifest).unwrap()).unwrap();
    for file in later {
        std::fs::remove_file(dir.join(file)).unwrap();
    }
    assert_eq!(check(&dir).unwrap(), []);
    let recording = Recording::open(&dir).unwrap();
    assert_eq!((recording.rows::<ReuseEvent>().count(), recording.rows::<ReuseCell>().count()), (0, 0));
}

#[test]
fn a_delivery_of_no_known_name_is_refused_and_none_is_the_default() {
    let (_parent, dir) = small().write();
    let file = dir.join("manifest.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let named = |name: &str| {
        let json = text.replace(r#""delivery": "sigtrap""#, &format!(r#""delivery": "{name}""#));
        std::fs::write(&file, json).unwrap();
        Recording::open(&dir).map(|recording| recording.manifest().engine.delivery)
    };
    assert_eq!(named("posix-timer").unwrap(), carom_store::Delivery::PosixTimer);
    assert_eq!(named("").unwrap(), carom_store::Delivery::Sigtrap);
    assert!(named("carrier-pigeon").is_err());
}

#[test]
fn names_fill_several_chunks() {
    let name = Name { answer: format!("{:?}", "x".repeat(1000)), ..small().names[0].clone() };
    let names = vec![name; 200];
    let (_dir, recording) = record(|_| {});
    assert_eq!(recording.rows::<Name>().count(), 0, "none were stored yet");
    store_names(recording.dir(), &names).unwrap();
    assert_eq!(recording.rows::<Name>().collect::<Result<Vec<_>, _>>().unwrap(), names);
    let bytes = std::fs::read(recording.dir().join(Name::KIND.file_name())).unwrap();
    assert!(bytes.windows(4).filter(|four| four == b"CRMC").count() > 2);
    // Nothing else is left behind.
    assert!(!recording.dir().join("names.chunks.new").exists());
}
