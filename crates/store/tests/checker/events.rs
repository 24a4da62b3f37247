//! Events of sharing.

use carom_base::{AccessKind, Addr, Cpu, Nanos, SharingClass, StackId, ThreadId};
use carom_store::Rule;

use crate::{EVENTS, LATE, expect};

#[test]
fn an_event_of_no_thread() {
    expect(EVENTS, &[Rule::UnknownThread(ThreadId(5))], |r| r.events[0].thread = ThreadId(5));
}

#[test]
fn an_event_with_no_earlier_thread() {
    expect(EVENTS, &[Rule::UnknownThread(ThreadId(5))], |r| r.events[0].earlier.thread = ThreadId(5));
}

#[test]
fn an_event_between_a_thread_and_itself() {
    expect(EVENTS, &[Rule::SameThread(ThreadId(0))], |r| r.events[0].thread = ThreadId(0));
}

#[test]
fn an_event_after_the_run() {
    expect(EVENTS, &[Rule::OutsideRun(LATE)], |r| r.events[0].time = LATE);
}

#[test]
fn an_event_on_no_processor() {
    expect(EVENTS, &[Rule::UnknownCpu(Cpu(9))], |r| r.events[0].earlier.cpu = Cpu(9));
}

#[test]
fn an_event_with_an_unknown_stack() {
    expect(EVENTS, &[Rule::UnknownStack(StackId(9))], |r| r.events[0].earlier.stack = StackId(9));
}

#[test]
fn an_event_of_no_bytes() {
    expect(EVENTS, &[Rule::ZeroWidth], |r| r.events[0].later.width = 0);
}

#[test]
fn weights_that_are_none() {
    for weight in [0.0, -1.0, f32::INFINITY] {
        expect(EVENTS, &[Rule::BadWeight(weight)], |r| r.events[0].weight = weight);
    }
}

#[test]
fn an_earlier_access_that_only_reads() {
    expect(EVENTS, &[Rule::EarlierDoesNotWrite], |r| r.events[0].earlier.access.kind = AccessKind::Load);
}

#[test]
fn an_earlier_access_that_came_later() {
    expect(EVENTS, &[Rule::EarlierIsLater], |r| {
        let event = &mut r.events[0];
        event.earlier.time = Nanos(event.time.0 + 1);
    });
}

#[test]
fn accesses_to_different_lines() {
    expect(EVENTS, &[Rule::DifferentLines], |r| r.events[0].later.addr = Addr(0x5040));
}

#[test]
fn false_sharing_of_common_bytes() {
    // The write ends at 0x5008: a read from 0x5007 on meets its last byte.
    expect(EVENTS, &[Rule::WrongClass], |r| r.events[0].later.addr = Addr(0x5007));
}

#[test]
fn true_sharing_of_different_bytes() {
    expect(EVENTS, &[Rule::WrongClass], |r| r.events[0].class = SharingClass::True);
}

#[test]
fn a_watched_chunk_says_nothing_about_the_class() {
    expect(EVENTS, &[], |r| {
        r.events[0].exact = false;
        r.events[0].class = SharingClass::True;
    });
}

#[test]
fn a_split_access_is_on_both_of_its_lines() {
    expect(EVENTS, &[], |r| {
        let event = &mut r.events[0];
        (event.earlier.access.addr, event.later.addr) = (Addr(0x503c), Addr(0x5044));
    });
}
