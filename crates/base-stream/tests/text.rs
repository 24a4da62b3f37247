//! Streams as text and back.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use carom_base::{Access, AccessKind, Addr, Ip, Nanos, ProcessId, ThreadId};
use carom_base_stream::{Act, Event, Record, Streamed, Synchronisation, sort_by_time, text};
use proptest::prelude::*;

/// The complaint about the only wrong line.
fn complaint(text: &str) -> String {
    text::parse(text).expect_err("not a stream").to_string()
}

#[test]
fn every_mistake_is_named_with_its_line() {
    for (line, expected) in [
        ("7:", "the thread is missing"),
        ("0", "the event is missing"),
        ("0 load", "the width is missing"),
        ("0 load 8", "the address is missing"),
        ("x load 8 @0", "\"x\" is not a thread"),
        ("1. load 8 @0", "\"1.\" is not a thread"),
        ("4294967296 end", "\"4294967296\" is not a thread"),
        ("-1: 0 end", "\"-1:\" is not a time"),
        ("0 fetch 8 @0", "\"fetch\" is not a kind of event"),
        ("0 load +8 @0", "\"+8\" is not a width"),
        ("0 load 0x @0", "\"0x\" is not a width"),
        ("0 load 0 @0", "an access has at least one byte"),
        ("0 load 8 0x1000", "\"0x1000\" is not an address"),
        ("0 load 8 @1000h", "\"@1000h\" is not an address"),
        ("0 load 8 @0xfffffffffffffff8", "the access goes past the end of the address space"),
        ("0 load 8 @0 main", "\"main\" is not an instruction's address"),
        ("0 load 8 @0 1 2", "\"2\" is left over"),
        ("0 lock", "the address is missing"),
        ("0 lock 0x10", "\"0x10\" is not an address"),
        ("0 end 8", "\"8\" is left over"),
        ("1.0 end", "thread 0 was one of process 0 before"),
        ("3: 0 end", "thread 0 goes back in time"),
    ] {
        // Thread 0 of process 0 has been there at 5.
        let text = format!("# Three lines before it.\n\n5: 0 begin # here\n{line}\n");
        assert_eq!(complaint(&text), format!("line 4: {expected}"));
    }
}

/// The default time: one later than the line before, of whichever thread.
#[test]
fn times_go_on_by_one() {
    let records = text::parse("0 begin\n1 begin\n9: 0 end\n1 end\n1:2 end").map(|_| ());
    assert_eq!(records.unwrap_err().to_string(), "line 5: \"1:2\" is not a thread");
    let records = text::parse("0 begin\n1 begin\n9: 0 end\n1 end\n4: 2 end").unwrap();
    assert_eq!(records.iter().map(|record| record.time.0).collect::<Vec<_>>(), [0, 1, 9, 10, 4]);
    let mut sorted = records;
    sort_by_time(&mut sorted);
    assert_eq!(sorted.iter().map(|record| record.thread.0).collect::<Vec<_>>(), [0, 1, 2, 0, 1]);
}

#[test]
fn a_text_is_as_short_as_it_can_be() {
    let text = "0 begin\n0 store 8 @0x1000 0x401000\n1.3 load 64 @0x0\n7: 0 atomic 4 @0x10\n0 rmw 1 @0x11\n0 unlock @0x40\n0 end\n";
    assert_eq!(text::write(&text::parse(text).unwrap()), text);
}

fn event() -> impl Strategy<Value = Event> {
    let kind = prop::sample::select(vec![
        (AccessKind::Load, false),
        (AccessKind::Store, false),
        (AccessKind::ReadModifyWrite, false),
        (AccessKind::ReadModifyWrite, true),
    ]);
    let access =
        (any::<u64>(), any::<u64>(), 1..=u32::MAX, kind).prop_map(|(ip, addr, width, (kind, atomic))| {
            let addr = Addr(addr.min(u64::MAX - u64::from(width)));
            Event::Access(Streamed { access: Access { ip: Ip(ip), addr, width, kind }, atomic })
        });
    let synchronisation = (prop::sample::select(Act::ALL), any::<u64>())
        .prop_map(|(what, object)| Event::Synchronisation(Synchronisation { what, object: Addr(object) }));
    prop_oneof![8 => access, 2 => synchronisation, 1 => Just(Event::Begin), 1 => Just(Event::End)]
}

/// Records in which each thread belongs to one process, and is in the order of time.
fn records() -> impl Strategy<Value = Vec<Record>> {
    let step = prop_oneof![4 => Just(1u64), 1 => Just(0), 1 => 2..1u64 << 40];
    prop::collection::vec((0..5u32, step, event()), 0..60).prop_map(|all| {
        let mut now = 0;
        let record = |(thread, step, event): (u32, u64, Event)| {
            now += step;
            Record { process: ProcessId(thread / 2), thread: ThreadId(thread), time: Nanos(now), event }
        };
        all.into_iter().map(record).collect()
    })
}

proptest! {
    #[test]
    fn records_survive_the_way_through_text(records in records()) {
        let text = text::write(&records);
        prop_assert_eq!(text::parse(&text), Ok(records.clone()));
        // Whatever the input, the text is the same.
        let untidy = text.replace(' ', "\t  ").replace('\n', " # so\n\n");
        prop_assert_eq!(text::write(&text::parse(&untidy).unwrap()), text);
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in "([0-9x.:@# \n]|load|store|atomic|lock|end){0,60}") {
        if let Ok(records) = text::parse(&text) {
            prop_assert_eq!(text::parse(&text::write(&records)), Ok(records));
        }
    }
}
