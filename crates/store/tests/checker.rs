//! The checker finds each way to break a rule, and nothing else.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use std::fs;
use std::path::Path;

use carom_base::{
    AccessKind, Addr, CellClass, Cpu, LogBin, Nanos, ProcessId, ReuseCell, ReuseOutcome, SampleOutcome,
    Scope, SharingClass, StackId, ThreadId,
};
use carom_store::{FileInfo, Kind, Manifest, Recording, Rule, ThreadCounts, Violation, check};
use common::{Small, change, small};

const MANIFEST: &str = "manifest.json";
const SAMPLES: &str = Kind::Sample.file_name();
const EVENTS: &str = Kind::SharingEvent.file_name();
const STACKS: &str = Kind::Stack.file_name();
const OBJECTS: &str = Kind::HeapObject.file_name();
const REUSE: &str = Kind::ReuseEvent.file_name();
const CELLS: &str = Kind::ReuseCell.file_name();

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

/// A thousand seconds into the run of one second.
const LATE: Nanos = Nanos(2_000_000_000_000);

// The manifest.

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

// The files.

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

// Stacks and objects.

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

// Samples.

#[test]
fn a_sample_of_no_thread() {
    expect(SAMPLES, &[Rule::UnknownThread(ThreadId(2))], |r| r.samples[0].thread = ThreadId(2));
}

#[test]
fn a_sample_on_no_processor() {
    expect(SAMPLES, &[Rule::UnknownCpu(Cpu(2))], |r| r.samples[0].cpu = Cpu(2));
}

#[test]
fn a_sample_after_the_run() {
    expect(SAMPLES, &[Rule::OutsideRun(LATE)], |r| r.samples[0].time = LATE);
}

#[test]
fn a_sample_with_an_unknown_stack() {
    expect(SAMPLES, &[Rule::UnknownStack(StackId(9))], |r| r.samples[0].stack = StackId(9));
}

#[test]
fn a_sample_with_the_stack_of_another_process() {
    // Thread 0 moves to a second process, which has no stacks: its sample refers to nothing.
    let id = small().stacks[0].id;
    expect(SAMPLES, &[Rule::UnknownStack(id)], |r| {
        let other = carom_store::ProcessInfo { id: ProcessId(1), ..Default::default() };
        r.manifest.processes.push(other);
        r.manifest.threads[0].process = ProcessId(1);
        r.reuse.clear();
    });
}

fn sampled(r: &mut Small) -> &mut carom_base::Access {
    match &mut r.samples[0].outcome {
        SampleOutcome::Access(access) => access,
        SampleOutcome::Skipped(..) => unreachable!("the first sample is an access"),
    }
}

#[test]
fn a_sampled_access_of_no_bytes() {
    expect(SAMPLES, &[Rule::ZeroWidth], |r| sampled(r).width = 0);
}

#[test]
fn a_sampled_access_past_the_end_of_memory() {
    expect(SAMPLES, &[Rule::AddressWraps], |r| sampled(r).addr = Addr(u64::MAX));
}

// Sharing events.

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

// Sampled uses.

fn later(r: &mut Small) -> &mut carom_base::Touch {
    r.reuse[0].later.as_mut().unwrap()
}

#[test]
fn a_use_by_no_thread() {
    expect(REUSE, &[Rule::UnknownThread(ThreadId(5))], |r| r.reuse[0].earlier.thread = ThreadId(5));
    expect(REUSE, &[Rule::UnknownThread(ThreadId(5))], |r| later(r).thread = ThreadId(5));
}

#[test]
fn a_reuse_outside_the_run_on_no_processor_with_an_unknown_stack_of_no_bytes() {
    expect(REUSE, &[Rule::OutsideRun(LATE)], |r| later(r).time = LATE);
    expect(REUSE, &[Rule::UnknownCpu(Cpu(9))], |r| later(r).cpu = Cpu(9));
    expect(REUSE, &[Rule::UnknownStack(StackId(9))], |r| r.reuse[0].earlier.stack = StackId(9));
    expect(REUSE, &[Rule::ZeroWidth], |r| later(r).access.width = 0);
}

#[test]
fn a_use_of_no_weight() {
    expect(REUSE, &[Rule::BadWeight(0.0)], |r| r.reuse[0].weight = 0.0);
    expect(REUSE, &[], |r| {
        r.reuse[0] = carom_base::ReuseEvent {
            outcome: ReuseOutcome::Replaced,
            later: None,
            weight: 0.0,
            ..r.reuse[0]
        };
    });
}

#[test]
fn a_reuse_without_the_access_that_reused() {
    expect(REUSE, &[Rule::OutcomeAndAccess(ReuseOutcome::Reused)], |r| r.reuse[0].later = None);
    expect(REUSE, &[Rule::OutcomeAndAccess(ReuseOutcome::Invalidated)], |r| {
        r.reuse[0].outcome = ReuseOutcome::Invalidated;
        r.reuse[0].later = None;
    });
}

#[test]
fn a_reuse_before_the_use_or_elsewhere() {
    expect(REUSE, &[Rule::EarlierIsLater], |r| later(r).time = Nanos(r.manifest.started.0 + 50));
    expect(REUSE, &[Rule::DifferentLines], |r| later(r).access.addr = Addr(0x5040));
}

#[test]
fn a_thread_reuses_in_its_own_cache_what_it_used_itself() {
    expect(REUSE, &[Rule::OtherThread(ThreadId(1))], |r| r.reuse[0].scope = Scope::Private);
    expect(CELLS, &[Rule::OtherThread(ThreadId(1))], |r| r.cells[0].scope = Scope::Private);
    // What the threads of a domain share, either may reuse.
    expect(REUSE, &[], |r| later(r).thread = ThreadId(0));
}

#[test]
fn only_another_threads_write_invalidates() {
    expect(REUSE, &[Rule::InvalidatedByLoad], |r| r.reuse[0].outcome = ReuseOutcome::Invalidated);
    expect(REUSE, &[Rule::SameThread(ThreadId(0))], |r| {
        r.reuse[0].outcome = ReuseOutcome::Invalidated;
        later(r).access.kind = AccessKind::Store;
        later(r).thread = ThreadId(0);
    });
    expect(REUSE, &[], |r| {
        r.reuse[0].outcome = ReuseOutcome::Invalidated;
        later(r).access.kind = AccessKind::ReadModifyWrite;
    });
}

// Counts of the exact mode.

#[test]
fn a_count_of_no_thread_or_of_nothing() {
    expect(CELLS, &[Rule::UnknownThread(ThreadId(5))], |r| r.cells[0].thread = ThreadId(5));
    expect(CELLS, &[Rule::EmptyCell], |r| r.cells[0].count = 0);
}

#[test]
fn pairs_counted_together_have_no_address() {
    let at = small().cells[0].at;
    expect(CELLS, &[Rule::AddressOfRest(at)], |r| r.cells[0].pair = Some(ReuseCell::REST));
    expect(CELLS, &[], |r| {
        r.cells[0].pair = Some(ReuseCell::REST);
        r.cells[0].at = Addr(0);
    });
}

#[test]
fn places_are_powers_of_two() {
    for granularity in [0, 48] {
        expect(CELLS, &[Rule::BadGranularity(granularity)], |r| r.cells[0].granularity = granularity);
    }
}

#[test]
fn bins_exist_and_only_reuses_have_one() {
    // 60 bits behind the five that are kept, 32 bins each, and the first 64: there is no bin 1920.
    expect(CELLS, &[Rule::BadBin(LogBin(1920))], |r| r.cells[0].bin = LogBin(1920));
    expect(CELLS, &[], |r| r.cells[0].bin = LogBin(1919));
    expect(CELLS, &[Rule::BadBin(LogBin(1))], |r| r.cells[0].class = CellClass::First);
}

#[test]
fn a_flood_is_cut_off() {
    let mut small = small();
    small.samples = vec![carom_base::Sample { thread: ThreadId(9), ..small.samples[0] }; 1500];
    let (_parent, dir) = small.write();
    assert_eq!(check(&dir).unwrap().len(), 1000);
}
