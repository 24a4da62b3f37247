//! The manifest.

use carom_base::{Cpu, Nanos, ProcessId, ThreadId};
use carom_store::{Rule, ThreadCounts};

use crate::common::small;
use crate::{LATE, MANIFEST, expect};

#[test]
fn negative_seconds() {
    expect(MANIFEST, &[Rule::BadNumber("started_unix_s")], |r| r.manifest.started_unix_s = -1.0);
}

#[test]
fn seconds_that_are_no_number() {
    // Read as no time at all, so that whatever comes more than the clock's slack after the start is outside.
    let end = small().manifest.threads[0].ended.unwrap();
    let outside = Rule::OutsideRun(end);
    expect(MANIFEST, &[Rule::BadNumber("wall_s"), outside.clone(), outside], |r| {
        r.manifest.wall_s = f64::NAN;
    });
}

#[test]
fn more_of_a_part_than_of_the_whole() {
    let counts = ThreadCounts {
        instructions: Some(10),
        branches: Some(5),
        branches_taken: Some(6),
        calls: Some(11),
        loads: Some(1_000),
        ..ThreadCounts::default()
    };
    let more = |part, whole| Rule::MoreThanWhole { thread: 1, part, whole };
    // A repeated string instruction has more loads than instructions, and whose bytes are not counted breaks nothing.
    expect(MANIFEST, &[more("branches taken", "branches"), more("calls", "instructions")], |r| {
        r.manifest.threads[1].counts = Some(counts);
    });
    expect(MANIFEST, &[], |r| {
        let running = &mut r.manifest.threads[1];
        (running.counts, running.ended) = (Some(counts), None);
    });
}

#[test]
fn a_budget_that_is_no_number() {
    expect(MANIFEST, &[Rule::BadNumber("budget_percent")], |r| {
        r.manifest.engine.budget_percent = f64::INFINITY;
    });
}

#[test]
fn complete_yet_cut_short() {
    expect(MANIFEST, &[Rule::CompleteYetCutShort], |r| r.manifest.cut_short = Some("disk full".to_owned()));
}

#[test]
fn a_processor_listed_twice() {
    expect(MANIFEST, &[Rule::CpuTwice(Cpu(1))], |r| {
        let cpu = r.manifest.machine.cpus[1];
        r.manifest.machine.cpus.push(cpu);
    });
}

#[test]
fn a_process_id_that_is_not_its_index() {
    expect(MANIFEST, &[Rule::IdIsNotIndex("process", 0)], |r| r.manifest.processes[0].id = ProcessId(3));
}

#[test]
fn a_process_that_is_its_own_parent() {
    expect(MANIFEST, &[Rule::BadParent(ProcessId(0))], |r| {
        r.manifest.processes[0].parent = Some(ProcessId(0));
    });
}

#[test]
fn a_parent_that_does_not_exist() {
    expect(MANIFEST, &[Rule::BadParent(ProcessId(7))], |r| {
        r.manifest.processes[0].parent = Some(ProcessId(7));
    });
}

#[test]
fn a_module_without_bytes() {
    expect(MANIFEST, &[Rule::EmptyRange("/usr/bin/app".to_owned())], |r| {
        let module = &mut r.manifest.processes[0].modules[0];
        module.high = module.low;
    });
}

#[test]
fn a_mapping_without_bytes() {
    expect(MANIFEST, &[Rule::EmptyRange("[heap]".to_owned())], |r| {
        r.manifest.processes[0].mappings[0].high = 0;
    });
}

#[test]
fn a_build_id_that_is_not_hexadecimal() {
    expect(MANIFEST, &[Rule::BadBuildId("/usr/bin/app".to_owned())], |r| {
        r.manifest.processes[0].modules[0].build_id = Some("0xAB".to_owned());
    });
}

#[test]
fn a_module_that_goes_before_it_comes() {
    expect(MANIFEST, &[Rule::EndsBeforeStart("/usr/bin/app".to_owned())], |r| {
        let module = &mut r.manifest.processes[0].modules[0];
        module.unloaded = Some(Nanos(module.loaded.0 - 1));
    });
}

#[test]
fn a_module_loaded_after_the_run() {
    expect(MANIFEST, &[Rule::OutsideRun(LATE)], |r| r.manifest.processes[0].modules[0].loaded = LATE);
}

#[test]
fn a_thread_id_that_is_not_its_index() {
    expect(MANIFEST, &[Rule::IdIsNotIndex("thread", 1)], |r| r.manifest.threads[1].id = ThreadId(0));
}

#[test]
fn a_thread_of_no_process() {
    // A third thread, so that no row is affected.
    expect(MANIFEST, &[Rule::UnknownProcess(ProcessId(1))], |r| {
        let mut thread = r.manifest.threads[0].clone();
        (thread.id, thread.process) = (ThreadId(2), ProcessId(1));
        r.manifest.threads.push(thread);
    });
}

#[test]
fn a_stack_upside_down() {
    expect(MANIFEST, &[Rule::EmptyRange("thread 0".to_owned())], |r| r.manifest.threads[0].stack_high = 1);
}

#[test]
fn a_thread_that_ends_before_it_begins() {
    expect(MANIFEST, &[Rule::EndsBeforeStart("thread 0".to_owned())], |r| {
        let thread = &mut r.manifest.threads[0];
        thread.ended = Some(Nanos(thread.started.0 - 1));
    });
}

#[test]
fn a_thread_before_the_run() {
    expect(MANIFEST, &[Rule::OutsideRun(Nanos(1))], |r| r.manifest.threads[0].started = Nanos(1));
}
