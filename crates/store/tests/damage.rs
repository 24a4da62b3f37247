//! Recordings that were cut short, changed, or made by a stranger.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use std::fs;
use std::path::Path;

use carom_base::Sample;
use carom_store::{
    Damage, Kind, MANIFEST_NAME, Recording, Row, Rows, StoreError, Writer, check, fuzzing::decode_chunks,
};
use common::{change, small};

/// The samples that can be read, and whether the file ends in part of a chunk.
fn samples(dir: &Path) -> (Vec<Sample>, bool) {
    let mut rows = Recording::open(dir).unwrap().rows::<Sample>();
    let read = rows.by_ref().map(Result::unwrap).collect();
    (read, rows.truncated())
}

/// Where chunks end in a file, from 0: positions of the magic, and the end.
fn boundaries(bytes: &[u8]) -> Vec<usize> {
    let starts = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"CRMC"));
    starts.chain([bytes.len()]).collect()
}

#[test]
fn cut_anywhere_a_recording_yields_what_is_whole() {
    let small = small();
    let (_parent, dir) = small.write();
    let file = dir.join(Sample::KIND.file_name());
    let whole = fs::read(&file).unwrap();
    let boundaries = boundaries(&whole);
    assert_eq!(boundaries.len(), 4, "three samples in three chunks");
    for length in 0..=whole.len() {
        fs::write(&file, &whole[..length]).unwrap();
        let complete = boundaries.iter().filter(|end| (1..=length).contains(*end)).count();
        let (read, truncated) = samples(&dir);
        assert_eq!(read, small.samples[..complete], "cut to {length} bytes");
        assert_eq!(truncated, !boundaries.contains(&length), "cut to {length} bytes");
        // The manifest says how long the file was.
        assert_eq!(check(&dir).unwrap().is_empty(), length == whole.len(), "cut to {length} bytes");
    }
}

#[test]
fn every_flipped_bit_is_found() {
    let small = small();
    let (_parent, dir) = small.write();
    flip_every_bit(&dir, &small.stacks);
    flip_every_bit(&dir, &small.objects);
    flip_every_bit(&dir, &small.samples);
    flip_every_bit(&dir, &small.events);
    flip_every_bit(&dir, &small.reuse);
    flip_every_bit(&dir, &small.cells);
    flip_every_bit(&dir, &small.names);
    assert_eq!(check(&dir).unwrap(), []);
}

/// Flips the bits of a table one after the other, each of which must be found.
fn flip_every_bit<R: Row + PartialEq>(dir: &Path, written: &[R]) {
    let name = R::KIND.file_name();
    let file = dir.join(name);
    let whole = fs::read(&file).unwrap();
    for bit in 0..whole.len() * 8 {
        change(&file, bit / 8, |byte| byte ^ (1 << (bit % 8)));
        assert!(!check(dir).unwrap().is_empty(), "bit {bit} of {name}");
        // Without the manifest's word: either an error, or part of a chunk at the end. Never other rows.
        assert!(notices(Recording::open(dir).unwrap().rows(), written), "bit {bit} of {name}");
        fs::write(&file, &whole).unwrap();
    }
}

/// True when the reader says that something is wrong. Rows that it yields must be among `written`.
fn notices<R: Row + PartialEq>(mut rows: Rows<R>, written: &[R]) -> bool {
    let mut errors = 0;
    for row in rows.by_ref() {
        match row {
            Ok(row) => assert!(written.contains(&row)),
            Err(_) => errors += 1,
        }
    }
    errors > 0 || rows.truncated()
}

#[test]
fn a_flipped_bit_in_the_manifest_never_panics() {
    let (_parent, dir) = small().write();
    let file = dir.join(MANIFEST_NAME);
    let whole = fs::read(&file).unwrap();
    let mut refused = 0;
    // One bit of each byte, another one each time: all bits of all bytes take minutes.
    for at in 0..whole.len() {
        change(&file, at, |byte| byte ^ (1 << (at % 8)));
        refused += usize::from(check(&dir).is_err());
        fs::write(&file, &whole).unwrap();
    }
    assert!(refused > 0);
}

#[test]
fn a_damaged_chunk_costs_its_own_rows_only() {
    let small = small();
    let (_parent, dir) = small.write();
    let file = dir.join(Sample::KIND.file_name());
    let boundaries = boundaries(&fs::read(&file).unwrap());
    // The last byte of the first chunk's payload.
    change(&file, boundaries[1] - 1, |byte| !byte);
    let read: Vec<_> = Recording::open(&dir).unwrap().rows::<Sample>().collect();
    assert!(
        matches!(&read[0], Err(StoreError::Damaged { offset: 0, damage: Damage::Checksum, .. })),
        "{:?}",
        read[0]
    );
    assert_eq!(read[1].as_ref().unwrap(), &small.samples[1]);
    assert_eq!(read[2].as_ref().unwrap(), &small.samples[2]);
    assert_eq!(read.len(), 3);
}

#[test]
fn a_growing_recording_is_read_as_it_grows() {
    let small = small();
    let parent = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(parent.path(), small.manifest.clone()).unwrap();
    let mut rows = Recording::open(parent.path()).unwrap().rows::<Sample>();
    assert!(rows.next().is_none() && !rows.truncated());
    for sample in &small.samples {
        writer.push(&[*sample]);
        assert!(rows.next().is_none(), "still in the writer's buffer");
        writer.flush();
        assert_eq!(rows.next().unwrap().unwrap(), *sample);
        assert!(rows.next().is_none() && !rows.truncated());
    }
}

#[test]
fn a_chunk_that_is_being_written_is_read_once_it_is_whole() {
    let small = small();
    let (_parent, dir) = small.write();
    let file = dir.join(Sample::KIND.file_name());
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..10]).unwrap();
    let mut rows = Recording::open(&dir).unwrap().rows::<Sample>();
    assert!(rows.next().is_none() && rows.truncated());
    fs::write(&file, &whole).unwrap();
    assert_eq!(rows.map(Result::unwrap).collect::<Vec<_>>(), small.samples);
}

#[test]
fn what_is_no_file_is_refused() {
    let (_parent, dir) = small().write();
    let file = dir.join(Sample::KIND.file_name());
    fs::remove_file(&file).unwrap();
    let mut rows = Recording::open(&dir).unwrap().rows::<Sample>();
    assert!(matches!(rows.next(), Some(Err(StoreError::Io { .. }))), "missing");
    assert!(rows.next().is_none(), "said once");
    // A socket stands for everything that could block a reader, such as a pipe.
    let _socket = std::os::unix::net::UnixListener::bind(&file).unwrap();
    assert!(matches!(
        Recording::open(&dir).unwrap().rows::<Sample>().next(),
        Some(Err(StoreError::Io { .. }))
    ));
}

#[test]
fn other_schemas_are_refused_by_number() {
    let (_parent, dir) = small().write();
    // A schema of the future need not have a single field of today's.
    fs::write(dir.join(MANIFEST_NAME), r#"{"schema": 999, "everything": "else"}"#).unwrap();
    assert!(matches!(Recording::open(&dir), Err(StoreError::Schema { found: 999, .. })));
    fs::write(dir.join(MANIFEST_NAME), r#"{"schema": 1}"#).unwrap();
    assert!(matches!(Recording::open(&dir), Err(StoreError::Manifest { .. })));
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014): SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[test]
fn random_bytes_decode_to_something_or_nothing() {
    let mut state = 1;
    for _ in 0..2000 {
        let length = next(&mut state) % 300;
        let bytes: Vec<u8> = (0..length).map(|_| next(&mut state) as u8).collect();
        decode_chunks(&bytes);
        // The same as the payload of an honest header; the decoder mends the checksum.
        let mut chunk = b"CRMC\x01".to_vec();
        chunk.extend([1 + (next(&mut state) % Kind::all().count() as u64) as u8, 0, 0]);
        chunk.extend(((next(&mut state) % 8) as u32).to_le_bytes());
        chunk.extend([bytes.len() as u32; 2].map(u32::to_le_bytes).as_flattened());
        chunk.extend([0; 4]);
        chunk.extend(&bytes);
        decode_chunks(&chunk);
    }
}

#[test]
fn mutilated_chunks_decode_to_something_or_nothing() {
    let (_parent, dir) = small().write();
    let streams: Vec<_> = Kind::all().map(|kind| fs::read(dir.join(kind.file_name())).unwrap()).collect();
    let (mut rows, mut errors) = (0, 0);
    let mut state = 2;
    for round in 0..4000 {
        let mut bytes = streams[round % streams.len()].clone();
        for _ in 0..=next(&mut state) % 4 {
            let at = next(&mut state) as usize % bytes.len();
            bytes[at] = next(&mut state) as u8;
        }
        let found = decode_chunks(&bytes);
        rows += found.rows;
        errors += found.errors;
    }
    // The test reaches both the columns and the refusals, or it shows nothing.
    assert!(rows > 1000 && errors > 1000, "{rows} rows, {errors} errors");
}
