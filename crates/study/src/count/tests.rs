use carom_store::{Leaves, ProcessInfo, ThreadCounts};

use super::*;

fn thread(id: u32, process: u32, instructions: u64, loads: Option<u64>) -> ThreadInfo {
    let counts = ThreadCounts {
        instructions: Some(instructions),
        loads,
        translated_ns: 90,
        native_ns: 10,
        leaves: Leaves { foreign_code: 2, ..Leaves::default() },
        ..ThreadCounts::default()
    };
    ThreadInfo {
        id: ThreadId(id),
        process: ProcessId(process),
        cpu_ns: 100,
        counts: Some(counts),
        ..ThreadInfo::default()
    }
}

fn manifest(threads: Vec<ThreadInfo>, processes: usize) -> Manifest {
    Manifest { threads, processes: vec![ProcessInfo::default(); processes], ..Manifest::default() }
}

fn of(findings: &CountFindings, event: Event) -> &EventCounts {
    findings.events.iter().find(|counts| counts.event == event).unwrap()
}

#[test]
fn threads_and_processes_add_up_and_gaps_stay_gaps() {
    let uncounted = ThreadInfo { counts: None, ..thread(2, 1, 0, None) };
    let run = manifest(vec![thread(0, 0, 1_000, Some(300)), thread(1, 0, 200, None), uncounted], 2);
    let findings = analyse([(&run, Offsets::default())]);
    let instructions = of(&findings, Event::Instructions);
    assert_eq!(instructions.total, Some(1_200));
    assert_eq!(instructions.threads, [Some(1_000), Some(200), None]);
    assert_eq!(instructions.processes, [Some(1_200), None]);
    let loads = of(&findings, Event::Loads);
    assert_eq!((loads.total, &*loads.threads), (Some(300), &[Some(300), None, None][..]));
    assert_eq!(of(&findings, Event::BranchesTaken).total, None, "nobody counted it: that is not 0");
    // Two threads of 90 + 10 ns, and one of 100 ns that was not counted: 180 of 300 ns.
    assert_eq!((findings.coverage.translated_ns, findings.coverage.native_ns), (180, 120));
    assert_eq!((findings.coverage.fraction(), findings.coverage.uncounted_threads), (Some(0.6), 1));
    assert_eq!(findings.coverage.leaves[0], (Leave::ForeignCode, 4));
}

#[test]
fn coverage_is_the_worse_of_books_and_witness() {
    let mut witnessed = thread(0, 0, 1_000, None);
    // 20 of the 90 ns that the books have were spent in native code.
    let counts = witnessed.counts.as_mut().unwrap();
    (counts.ticks, counts.unbooked_ns) = (10, 20);
    let alone = analyse([(&manifest(vec![witnessed.clone()], 1), Offsets::default())]).coverage;
    assert_eq!((alone.books(), alone.witness(), alone.fraction()), (Some(0.9), Some(0.7), Some(0.7)));
    let unwitnessed = analyse([(&manifest(vec![thread(0, 0, 1_000, None)], 1), Offsets::default())]).coverage;
    assert_eq!((unwitnessed.witness(), unwitnessed.fraction()), (None, Some(0.9)));
    // The process went on for another 100 ns natively.
    let mut run = manifest(vec![witnessed], 1);
    run.processes[0].aside = Some(carom_store::Aside { unseen_ns: 100, ..Default::default() });
    assert_eq!(analyse([(&run, Offsets::default())]).coverage.fraction(), Some(0.35));
}

#[test]
fn several_recordings_are_numbered_through() {
    let one = manifest(vec![thread(0, 0, 1, None)], 1);
    let other = manifest(vec![thread(0, 0, 20, None), thread(1, 0, 300, None)], 1);
    let by = Offsets { process: 1, thread: 1, cpu: 0 };
    // The order of the recordings does not matter: ids decide.
    let findings = analyse([(&other, by), (&one, Offsets::default())]);
    let instructions = of(&findings, Event::Instructions);
    assert_eq!(instructions.threads, [Some(1), Some(20), Some(300)]);
    assert_eq!(instructions.processes, [Some(1), Some(320)]);
}

#[test]
fn values_that_the_program_scribbled_over_do_not_overflow() {
    let run = manifest(vec![thread(0, 0, u64::MAX, None), thread(1, 9, 1, None)], 1);
    let findings = analyse([(&run, Offsets::default())]);
    assert_eq!(of(&findings, Event::Instructions).total, Some(u64::MAX));
    assert_eq!(analyse([]).coverage.fraction(), None);
}
