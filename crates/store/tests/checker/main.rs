//! The checker finds each way to break a rule, and nothing else.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod accesses;
#[path = "../common/mod.rs"]
mod common;
mod events;
mod files;
mod manifest;
mod memory;
mod names;
mod reuse;
mod samples;
mod stacks;

use carom_base::{Nanos, ReuseCell, ReuseEvent, Sample, SharingEvent, ThreadId};
use carom_store::{
    CounterRow, FootprintRow, HeapObject, Name, Row, Rule, Stack, StreamFrame, Violation, check,
};
use common::{Small, small};

const MANIFEST: &str = "manifest.json";
const SAMPLES: &str = Sample::KIND.file_name();
const EVENTS: &str = SharingEvent::KIND.file_name();
const STACKS: &str = Stack::KIND.file_name();
const OBJECTS: &str = HeapObject::KIND.file_name();
const REUSE: &str = ReuseEvent::KIND.file_name();
const CELLS: &str = ReuseCell::KIND.file_name();
const ACCESSES: &str = StreamFrame::KIND.file_name();
const MEMORY: &str = FootprintRow::KIND.file_name();
const COUNTERS: &str = CounterRow::KIND.file_name();
const NAMES: &str = Name::KIND.file_name();

/// Changes the good recording, and expects exactly these broken rules of one file: of row 0, or of no row in
/// the manifest.
fn expect(file: &str, rules: &[Rule], change: impl FnOnce(&mut Small)) {
    let mut small = small();
    change(&mut small);
    let (_parent, dir) = small.write();
    let row = (file != MANIFEST).then_some(0);
    let expected: Vec<_> =
        rules.iter().map(|rule| Violation { file: file.to_owned(), row, rule: rule.clone() }).collect();
    assert_eq!(check(&dir).unwrap(), expected);
}

/// A thousand seconds into the run of one second.
const LATE: Nanos = Nanos(2_000_000_000_000);

#[test]
fn a_flood_is_cut_off() {
    let mut small = small();
    small.samples = vec![Sample { thread: ThreadId(9), ..small.samples[0] }; 1500];
    let (_parent, dir) = small.write();
    assert_eq!(check(&dir).unwrap().len(), 1000);
}
