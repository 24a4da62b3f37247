//! Stacks and heap objects.

use carom_base::{Nanos, ProcessId, StackId};
use carom_store::{Rule, Violation, check};

use crate::common::small;
use crate::{OBJECTS, STACKS, expect};

#[test]
fn a_stack_of_no_process() {
    expect(STACKS, &[Rule::UnknownProcess(ProcessId(4))], |r| {
        let extra = carom_store::Stack { process: ProcessId(4), ..r.stacks[0].clone() };
        r.stacks.insert(0, extra);
    });
}

#[test]
fn a_stack_with_the_id_of_none() {
    expect(STACKS, &[Rule::StackIsNone], |r| {
        let extra = carom_store::Stack { id: StackId::NONE, ..r.stacks[0].clone() };
        r.stacks.insert(0, extra);
    });
}

#[test]
fn a_stack_without_frames() {
    let id = small().stacks[0].id;
    expect(STACKS, &[Rule::StackIsEmpty(id)], |r| r.stacks[0].frames.clear());
}

#[test]
fn a_stack_stored_twice() {
    let mut small = small();
    small.stacks.push(small.stacks[0].clone());
    let (_parent, dir) = small.write();
    let rule = Rule::StackTwice(small.stacks[0].id);
    assert_eq!(check(&dir).unwrap(), [Violation { file: STACKS.to_owned(), row: Some(1), rule }]);
}

#[test]
fn an_object_of_no_process() {
    // Nor does that process have the stack.
    let site = small().objects[0].site;
    expect(OBJECTS, &[Rule::UnknownProcess(ProcessId(1)), Rule::UnknownStack(site)], |r| {
        r.objects[0].process = ProcessId(1);
    });
}

#[test]
fn an_object_past_the_end_of_memory() {
    expect(OBJECTS, &[Rule::AddressWraps], |r| r.objects[0].size = u64::MAX);
}

#[test]
fn an_object_seen_before_the_run() {
    expect(OBJECTS, &[Rule::OutsideRun(Nanos(0))], |r| r.objects[0].seen = Nanos(0));
}

#[test]
fn an_object_from_an_unknown_site() {
    expect(OBJECTS, &[Rule::UnknownStack(StackId(9))], |r| r.objects[0].site = StackId(9));
}
