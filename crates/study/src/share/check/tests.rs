#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use carom_base::{AccessKind::Store, Ip, Line, ProcessId, StackId};
use carom_store::{EngineInfo, RemedyCheck, ThreadCounts, ThreadInfo};

use super::*;
use crate::{
    recording::{NamedBytes, NoNames},
    share::{
        analyse,
        testing::{Event, Synthetic},
    },
    symbols::{ArrayObject, Frame, ObjectKind},
};

/// Objects side by side in line 0, each with its first byte, its size and its name.
struct SideBySide(ObjectKind, &'static [(u64, u64, &'static str)]);

impl Names for SideBySide {
    fn call_path(&mut self, process: ProcessId, ip: Ip, stack: StackId) -> Vec<Frame> {
        NoNames.call_path(process, ip, stack)
    }

    fn object(&mut self, process: ProcessId, at: Addr) -> DataObject {
        let of = self.1.iter().find(|(start, size, _)| (*start..start + size).contains(&at.0));
        let Some((start, size, name)) = of else { return NoNames.object(process, at) };
        let allocation = NoNames.call_path(process, Ip(1), StackId(0));
        let (name, size) = ((*name).to_owned(), Some(*size));
        let offset = at.line().start().0 as i64 - *start as i64;
        DataObject { kind: self.0, name, offset, size, declared: None, allocation }
    }

    fn field(&mut self, _: ProcessId, _: Addr, _: u32) -> Option<String> {
        None
    }

    fn layout(&mut self, _: ProcessId, _: Line) -> Vec<NamedBytes> {
        Vec::new()
    }
}

/// Two threads store to words of their own, at these offsets of line 0.
fn two_words(one: u64, other: u64) -> Synthetic {
    let event = move |number: u64| {
        let (at, after) = if number.is_multiple_of(2) { (one, other) } else { (other, one) };
        let threads = if number.is_multiple_of(2) { (0, 1) } else { (1, 0) };
        let event = Event::new(threads.0, threads.1).earlier_at(at, 8).later(Store, after, 8);
        event.class_false(true).at_ms(number)
    };
    Synthetic::new(2).events((0..40).map(event))
}

fn layout(input: &Synthetic, names: &mut dyn Names) -> Result<String, Check> {
    let found = analyse(input, names);
    let changes = asked(&found.objects[0], &found.lines, names)?;
    Ok(changes.iter().map(Change::to_string).collect::<Vec<_>>().join(" "))
}

/// The object begins at byte 16 of the line.
#[test]
fn fields_are_padded_where_they_lie_in_their_object() {
    let mut stats = SideBySide(ObjectKind::Global, &[(16, 48, "stats")]);
    assert_eq!(layout(&two_words(16, 40), &mut stats).unwrap(), "pad:stats+24:64");
}

#[test]
fn variables_and_blocks_begin_lines_by_their_names() {
    let of = |kind, objects: &'static _| layout(&two_words(8, 32), &mut SideBySide(kind, objects)).unwrap();
    assert_eq!(of(ObjectKind::Global, &[(8, 8, "hits"), (32, 8, "misses")]), "pad:hits:64 pad:misses:64");
    const BLOCK: &str = "24-byte block allocated in start";
    assert_eq!(of(ObjectKind::Heap, &[(8, 24, BLOCK), (32, 24, BLOCK)]), format!("pad:{BLOCK}:64"));
}

#[test]
fn elements_are_aligned() {
    let names = &mut SideBySide(ObjectKind::Global, &[(0, 64, "counts")]);
    let mut found = analyse(&two_words(0, 8), names);
    let element = "struct count".to_owned();
    let of = Parts::Elements(ArrayObject { base: Addr(0), name: None, element, element_bytes: 8 });
    let padding = Padding { at_line_offsets: vec![8], fields: Vec::new(), of };
    found.objects[0].remedy = Remedy::Pad(padding);
    let changes = asked(&found.objects[0], &found.lines, names).unwrap();
    assert_eq!(changes.iter().map(Change::to_string).collect::<Vec<_>>(), ["align:counts/8:64"]);
}

#[test]
fn parts_of_one_size_are_aligned_all_along() {
    let names = &mut SideBySide(ObjectKind::Global, &[(0, 256, "buckets")]);
    let mut input = Synthetic::new(2);
    for line in [0, 64, 128] {
        input.events.extend(two_words(line, line + 32).events);
    }
    let found = analyse(&input, names);
    let changes = asked(&found.objects[0], &found.lines, names).unwrap();
    assert_eq!(changes.iter().map(Change::to_string).collect::<Vec<_>>(), ["align:buckets/32:64"]);
}

/// No size parts both lines.
#[test]
fn parts_without_names_are_padded_on_all_lines() {
    let names = &mut SideBySide(ObjectKind::Heap, &[(0, 256, "block")]);
    let mut input = two_words(16, 24);
    input.events.extend(two_words(88, 96).events);
    let found = analyse(&input, names);
    let mut changes = asked(&found.objects[0], &found.lines, names).unwrap();
    changes.sort_by_key(Change::to_string);
    let changes: Vec<_> = changes.iter().map(Change::to_string).collect();
    assert_eq!(changes, ["pad:block+24:64", "pad:block+96:64"]);
}

#[test]
fn what_no_layout_ends_is_not_checked() {
    let mut stats = SideBySide(ObjectKind::Global, &[(16, 48, "stats")]);
    // Both threads store to the same word.
    assert_eq!(layout(&two_words(16, 16), &mut stats), Err(Check::NotOfLayout));
    let mut found = analyse(&two_words(16, 40), &mut stats);
    let (at_line_offsets, fields) = (Vec::new(), Vec::new());
    found.objects[0].remedy = Remedy::Pad(Padding { at_line_offsets, fields, of: Parts::Pieces });
    assert_eq!(asked(&found.objects[0], &found.lines, &mut stats), Err(Check::NotOfLayout));
}

#[test]
fn what_has_no_name_cannot_be_checked() {
    let unknown = layout(&two_words(16, 40), &mut NoNames).unwrap_err();
    assert!(matches!(unknown, Check::Unchecked(why) if why.contains("which object")));
}

/// What a recording with this outcome of `pad:stats+24:64` says of the remedy.
fn check(before: u64, after: u64, problem: Option<&str>) -> Option<Check> {
    checked_of(Vec::new(), before, after, problem)
}

/// The same of one with these threads.
fn checked_of(counted: Vec<ThreadInfo>, before: u64, after: u64, problem: Option<&str>) -> Option<Check> {
    let mut stats = SideBySide(ObjectKind::Global, &[(16, 48, "stats")]);
    let mut found = analyse(&two_words(16, 40), &mut stats);
    let changes = vec!["pad:stats+24:64".to_owned()];
    let check = RemedyCheck { changes, before, after, problem: problem.map(str::to_owned) };
    let checks =
        RemedyChecks { machine: "tiny".into(), accesses: 800, loads_and_stores: 1000, checks: vec![check] };
    let mut engine = EngineInfo::default();
    engine.costs_ns.transfer = 50;
    let manifest = Manifest { checks: Some(checks), engine, threads: counted, ..Manifest::default() };
    add_checks(&mut found, &[(&manifest, Offsets::default())], &mut stats);
    found.objects[0].check.clone()
}

#[test]
fn a_layout_helps_where_it_lowers_the_transfers() {
    let simulated = |before, after| match check(before, after, None) {
        Some(Check::Simulated(simulated)) => simulated,
        other => panic!("{other:?}"),
    };
    let good = simulated(1_000_000, 200_000);
    assert!(good.helps());
    // 800,000 transfers of 50 ns.
    assert_eq!(good.worth_s(), Some(0.04));
    assert!(simulated(100, 95).helps() && !simulated(100, 96).helps() && !simulated(100, 130).helps());
    assert_eq!(simulated(100, 130).worth_s(), Some(0.0));
}

/// 5,000 loads and stores took 500 ms: 1,000 of them took 100 ms, of which one of two threads could wait 50 ms, as 1,000,000 transfers
/// take.
#[test]
fn threads_wait_no_longer_than_others_use_the_line() {
    let threads = || {
        [(3000, 300), (2000, 200)]
            .map(|(loads, ms)| {
                let counts = ThreadCounts {
                    loads: Some(loads),
                    translated_ns: ms * 1_000_000,
                    ..ThreadCounts::default()
                };
                ThreadInfo { counts: Some(counts), ..ThreadInfo::default() }
            })
            .to_vec()
    };
    let simulated = |before| match checked_of(threads(), before, 0, None) {
        Some(Check::Simulated(simulated)) => simulated,
        other => panic!("{other:?}"),
    };
    let (some, too_many) = (simulated(900_000), simulated(10_000_000));
    assert_eq!(some.waiting, Some(Waiting { cpu_s: 0.1, threads: 2 }));
    assert_eq!((some.worth_s(), some.is_waiting_in_turn()), (Some(0.045), false));
    assert_eq!((too_many.worth_s(), too_many.is_waiting_in_turn()), (Some(0.05), true));
}

#[test]
fn few_transfers_say_nothing_and_problems_are_told() {
    let unchecked = |check| match check {
        Some(Check::Unchecked(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(unchecked(check(FEWEST - 1, 0, None)).contains("only 29 times"));
    assert_eq!(unchecked(check(0, 0, Some("no such object"))), "no such object");
}

#[test]
fn without_a_check_nothing_is_said() {
    let mut stats = SideBySide(ObjectKind::Global, &[(16, 48, "stats")]);
    let mut found = analyse(&two_words(16, 40), &mut stats);
    let other = RemedyChecks::default();
    for checks in [None, Some(other)] {
        let manifest = Manifest { checks, ..Manifest::default() };
        add_checks(&mut found, &[(&manifest, Offsets::default())], &mut stats);
        assert_eq!(found.objects[0].check, None);
    }
}
