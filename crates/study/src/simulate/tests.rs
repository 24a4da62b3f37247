#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::{num::NonZero, sync::Arc};

use carom_base::{Addr, ThreadId};
use carom_base_sim::{Machine, Placement, Sharing};
use carom_base_stream::text;
use carom_store::{CacheInfo, Importer, MachineInfo, Manifest, Recording, StreamFrame};

use super::{
    Against, MachineChoice, Matched, Online, Order, Outcome, Place, SimulateFindings, SimulateStudy,
};
use crate::{Study, recording::Recordings};

/// Two cores with one line of 64 bytes in each of two sets.
const TINY: &str = "cores_per_socket = 2\nl1 = {size = 128, ways = 1}";

fn study() -> SimulateStudy {
    let machine = MachineChoice::Given("tiny".into(), Machine::parse(TINY).unwrap());
    SimulateStudy { machine, ..SimulateStudy::default() }
}

fn simulated(study: &SimulateStudy, accesses: &str, machine: MachineInfo) -> SimulateFindings {
    with_recordings(accesses, machine, |recordings| study.study(recordings))
}

fn with_recordings<R>(accesses: &str, machine: MachineInfo, ask: impl FnOnce(&mut Recordings<'_>) -> R) -> R {
    let dir = tempfile::tempdir().unwrap();
    let mut importer = Importer::create(dir.path(), Manifest { machine, ..Manifest::default() }).unwrap();
    text::parse(accesses).unwrap().iter().for_each(|record| importer.record(record));
    importer.finish().unwrap();
    let recording = Recording::open(dir.path()).unwrap();
    ask(&mut Recordings::new(std::slice::from_ref(&recording)))
}

/// Thread 1 reads the word beside the one that thread 0 writes: of its three loads of the line the first is cold, and the other
/// two follow a store that took the line.
#[test]
fn false_sharing_is_told_by_instruction_line_and_core() {
    let found = simulated(
        &study(),
        "0 store 8 @0x1000 0x10\n1 load 8 @0x1008 0x20\n0 store 8 @0x1000 0x10\n1 load 8 @0x1008 0x20\n\
         0 store 8 @0x1000 0x10\n1 load 8 @0x1008 0x20\n",
        MachineInfo::default(),
    );
    assert_eq!(
        (found.name.as_str(), found.problem.as_deref(), found.damage.as_deref()),
        ("tiny", None, None)
    );
    let [writer, reader] = &found.sites[..] else { panic!("{:?}", found.sites) };
    assert_eq!((reader.path[0].address, writer.path[0].address), (0x20, 0x10));
    assert_eq!((reader.counts.l1.cold, reader.counts.l1.coherence), (1, 2));
    assert_eq!(writer.counts.caused, Sharing { true_sharing: 0, false_sharing: 2 });
    assert_eq!(reader.counts.received, writer.counts.caused);
    let [line] = &found.lines[..] else { panic!("{:?}", found.lines) };
    assert_eq!((line.address, line.sharing.false_sharing, line.pairs.len()), (Addr(0x1000), 2, 1));
    let (stored, accessed) = (&line.pairs[0].stored, &line.pairs[0].accessed);
    assert_eq!((stored.offset, stored.width, accessed.offset, accessed.width), (0, 8, 8, 8));
    assert_eq!(found.cores, [[ThreadId(0)], [ThreadId(1)]]);
    assert_eq!(found.invalidations[(0, 1)].false_sharing, 2);
    assert!(found.coherence_cycles(&found.total) <= found.cycles(&found.total));
}

/// Threads of one core never take lines from each other.
#[test]
fn threads_run_where_they_are_placed() {
    let accesses = "0 store 8 @0x1000 0x10\n1 store 8 @0x1000 0x20\n0 store 8 @0x1000 0x10\n";
    let together = SimulateStudy { placement: Placement::Listed(vec![1, 1]), ..study() };
    let found = simulated(&together, accesses, MachineInfo::default());
    assert_eq!(found.total.caused.total(), 0);
    assert_eq!(found.cores, [vec![], vec![ThreadId(0), ThreadId(1)]]);
    let beyond = SimulateStudy { placement: Placement::Listed(vec![2]), ..study() };
    let found = simulated(&beyond, accesses, MachineInfo::default());
    assert_eq!(found.problem.as_deref(), Some("core 2 is not one of the machine's 2"));
}

/// Processes have addresses of their own: what one writes at an address, the other one does not read there.
#[test]
fn processes_do_not_share_addresses() {
    let found = simulated(
        &study(),
        "0.0 store 8 @0x1000 0x10\n1.1 store 8 @0x1000 0x10\n0.0 store 8 @0x1000 0x10\n",
        MachineInfo::default(),
    );
    assert_eq!((found.total.caused.total(), found.sites.len(), found.lines.len()), (0, 2, 0));
}

/// Fed with a recording's frames, one by one, a simulation has found what one of the whole recording finds. Two processes, whose
/// threads begin as the accesses come.
#[test]
fn what_is_simulated_meanwhile_is_what_is_simulated_afterwards() {
    let turn = |process: u32, thread: u32, kind: &str| {
        format!("{process}.{thread} {kind} 8 @{:#x} {:#x}\n", 0x1000 + 8 * thread, 0x10 * (thread + 1))
    };
    let round = turn(0, 0, "store") + &turn(0, 1, "load") + &turn(1, 2, "rmw") + &turn(0, 3, "store");
    with_recordings(&round.repeat(50), MachineInfo::default(), |recordings| {
        let whole = recordings.manifests()[0].0.clone();
        let frames: Vec<StreamFrame> = recordings.rows().collect();
        let process = |frame: &StreamFrame| {
            let thread = frame.decode().unwrap().thread;
            whole.threads[thread.0 as usize].process
        };
        let frames = frames.into_iter().map(|frame| (process(&frame), frame));
        let online = Online::new(study(), &whole.machine, frames).unwrap().study(recordings);
        let offline = SimulateStudy { cores: Some(16), ..study() }.study(recordings);
        assert_eq!((online.total, online.cores.clone()), (offline.total, offline.cores.clone()));
        assert!(online.invalidations == offline.invalidations && online.total.caused.total() > 50);
        let sites = |found: &SimulateFindings| {
            let sites = found.sites.iter().map(|site| (site.path[0].address, site.counts));
            sites.collect::<Vec<_>>()
        };
        assert_eq!(sites(&online), sites(&offline));
    });
}

/// Three threads need three cores; `--cores` decides otherwise.
#[test]
fn there_is_a_core_for_each_thread_unless_asked_otherwise() {
    let accesses = "0 load 8 @0 1\n1 load 8 @0 1\n2 load 8 @0 1\n";
    assert_eq!(simulated(&study(), accesses, MachineInfo::default()).machine.cores(), 3);
    let two = SimulateStudy { cores: Some(2), ..study() };
    let found = simulated(&two, accesses, MachineInfo::default());
    assert_eq!((found.machine.cores(), found.cores[0].len()), (2, 2));
}

#[test]
fn the_machine_is_that_of_the_recording() {
    let cache = |level, kib: u64, kind: &str| CacheInfo {
        level,
        kind: kind.into(),
        bytes: kib << 10,
        line_bytes: 64,
        ways: 8,
        ..CacheInfo::default()
    };
    let caches = vec![cache(1, 48, "data"), cache(1, 32, "instruction"), cache(2, 512, "unified")];
    let info = MachineInfo { cpu_model: "Ship of Theseus".into(), caches, ..MachineInfo::default() };
    let recorded = SimulateStudy::default();
    let found = simulated(&recorded, "0 load 8 @0 1\n", info);
    assert_eq!(found.name, "Ship of Theseus");
    assert_eq!((found.machine.l1.bytes, found.machine.l2.map(|l2| l2.bytes)), (48 << 10, Some(512 << 10)));
    let unknown = simulated(&recorded, "0 load 8 @0 1\n", MachineInfo::default());
    assert_eq!((unknown.name.as_str(), unknown.machine.l1.bytes), ("a common machine", 32 << 10));
}

/// Two threads store 32 times each, one after the other. In turns of 16 the line is taken three times; once, where a lock has them
/// do it one after the other.
#[test]
fn threads_take_turns_as_their_locks_let_them() {
    let stores = |thread: u32| format!("{thread} store 8 @0x1000 0x10\n").repeat(32);
    let free = ["0 create @1\n1 start @1\n", &stores(0), &stores(1)].concat();
    let locked = [
        "0 create @1\n1 start @1\n0 lock @9\n",
        &stores(0),
        "0 unlock @9\n1 lock @9\n",
        &stores(1),
        "1 unlock @9\n",
    ]
    .concat();
    let taken = |order, text: &str| {
        let found = simulated(&SimulateStudy { order, ..study() }, text, MachineInfo::default());
        assert_eq!(found.order, order);
        (found.total.caused.total(), found.matched)
    };
    assert_eq!(taken(Order::Recorded, &free), (1, None));
    assert_eq!(taken(Order::Synchronised, &free), (3, Some(Matched { all: 2, unmatched: 0 })));
    assert_eq!(taken(Order::Synchronised, &locked), (1, Some(Matched { all: 6, unmatched: 0 })));
    // Who had the lock was killed.
    let killed = locked.replace("0 unlock @9\n", "");
    assert_eq!(taken(Order::Synchronised, &killed), (1, Some(Matched { all: 5, unmatched: 1 })));
}

/// Two threads that each make 100 accesses in a row, five times.
#[test]
fn turns_are_told_by_their_length() {
    let turn = |thread: u64| format!("{thread} load 8 @{} 1\n", 4096 * (thread + 1)).repeat(100);
    let accesses = [turn(0), turn(1)].concat().repeat(5);
    assert_eq!(simulated(&study(), &accesses, MachineInfo::default()).turn, Some(100));
    assert_eq!(simulated(&study(), &turn(0), MachineInfo::default()).turn, None);
}

/// Two threads, each of which stores to every word of a page in turn.
#[test]
fn findings_do_not_depend_on_the_number_of_threads_that_simulate() {
    let accesses: String = (0..512)
        .map(|word| format!("0 store 8 @{0} {1}\n1 rmw 8 @{0} {2}\n", 8 * word, word % 7, 100 + word % 5))
        .collect();
    let with = |threads| {
        let study = SimulateStudy { threads: NonZero::new(threads), ..study() };
        format!("{:?}", simulated(&study, &accesses, MachineInfo::default()))
    };
    assert_eq!(with(2), with(0));
}

/// Lines of 128 bytes have 64 parts too.
#[test]
fn long_lines_are_cut_into_words() {
    let machine =
        Machine::parse("line_bytes = 128\ncores_per_socket = 2\nl1 = {size = 1024, ways = 2}").unwrap();
    let study =
        SimulateStudy { machine: MachineChoice::Given("long".into(), machine), ..SimulateStudy::default() };
    let accesses = "0 store 8 @0x1000 1\n1 load 8 @0x1070 2\n0 store 8 @0x1000 1\n";
    let found = simulated(&study, accesses, MachineInfo::default());
    assert_eq!((found.problem.as_deref(), found.total.caused.false_sharing), (None, 1));
    let accessed = &found.lines[0].pairs[0].accessed;
    assert_eq!((accessed.offset, accessed.width), (0x70, 8));
}

fn changed(change: &str, accesses: &str) -> SimulateFindings {
    let study = SimulateStudy { changes: vec![change.parse().unwrap()], ..study() };
    simulated(&study, accesses, MachineInfo::default())
}

/// Two words of one line, each of which one thread stores to: once they lie apart, nothing is taken any more.
#[test]
fn false_sharing_ends_where_data_is_moved_apart() {
    let accesses = "0 store 8 @0x1000 0x10\n1 store 8 @0x1008 0x20\n".repeat(10);
    for change in ["pad:0x1000+8:64", "align:0x1000/8:64"] {
        let found = changed(change, &accesses);
        assert_eq!(found.total.caused.false_sharing, 19);
        let what_if = found.what_if.unwrap().unwrap();
        assert_eq!(
            (what_if.total.caused.total(), what_if.total.l1.total(), what_if.cut),
            (0, 2, 0),
            "{change}"
        );
        assert_eq!(what_if.total.accesses(), found.total.accesses());
        let [one] = &what_if.changes[..] else { panic!("{what_if:?}") };
        assert_eq!((one.objects, one.before.total(), one.after.total()), (1, 19, 0));
        let taken = |of: &dyn Fn(usize) -> u64| (0..2).map(of).sum::<u64>();
        assert_eq!(taken(&|at| found.sites[at].counts.caused.total()), 19);
        assert_eq!(taken(&|at| what_if.sites[at].caused.total()), 0);
    }
    // Another border helps nothing: both words are behind it.
    let beside = changed("pad:0x1000+4:64", &"0 store 4 @0x1008 1\n1 store 4 @0x100c 2\n".repeat(10));
    assert_eq!(beside.what_if.unwrap().unwrap().total.caused.total(), 19);
}

/// An access to bytes that lie apart afterwards is one to each part.
#[test]
fn accesses_are_cut_where_their_bytes_lie_apart() {
    let found = changed("pad:0x1000+8:64", "0 load 16 @0x1000 1\n0 load 8 @0x1000 1\n");
    let what_if = found.what_if.unwrap().unwrap();
    assert_eq!((what_if.cut, what_if.total.loads, what_if.total.l1.total()), (1, 3, 2));
}

#[test]
fn what_cannot_be_changed_is_refused_with_the_reason() {
    let accesses = "0 store 8 @0x1000 0x10\n";
    let refused = |change| changed(change, accesses).what_if.unwrap().unwrap_err();
    assert!(
        refused("pad:stats+8:64")
            .starts_with("no object or field that the program was seen to use is called `stats`")
    );
    assert_eq!(refused("pad:0x1000+64:64"), "`0x1000` has 64 bytes, and none at 64");
    assert_eq!(
        refused("align:0x1000:64"),
        "the size of the elements of `0x1000` is not known: align:0x1000/BYTES:64 tells it"
    );
}

/// Half of the accesses are kept: of the instruction at 0x20 what matters, of the one at 0x30 nothing.
#[test]
fn a_reduced_trace_is_compared_by_reference() {
    let kept = "0 store 8 @0x1000 0x10\n1 load 8 @0x1000 0x20\n";
    let lost = "0 store 8 @0x1040 0x11\n1 load 8 @0x1040 0x30\n";
    let full = with_recordings(&[kept, lost].concat().repeat(10), MachineInfo::default(), |recordings| {
        study().references(recordings).unwrap()
    });
    let against = Some(Against { full: Arc::new(full), top: 10 });
    let reduced = SimulateStudy { against, ..study() };
    let found = simulated(&reduced, &kept.repeat(10), MachineInfo::default()).comparison.unwrap();
    assert_eq!((found.full.loads, found.reduced.loads, found.reduced.stores), (20, 10, 10));
    let [misses, taken, true_sharing, false_sharing] = &found.metrics[..] else { panic!("{found:?}") };
    assert_eq!(
        (misses.full, misses.reduced, misses.coverage, misses.false_positives()),
        (18, 9, Some(0.5), 0)
    );
    assert_eq!(misses.selected[0].place, Place::Instruction(None, 0x20));
    assert_eq!((taken.coverage, true_sharing.coverage, false_sharing.coverage), (Some(0.5), Some(0.5), None));
}

/// Two words of one line by two threads, and a third one beside them that only one thread uses.
#[test]
fn each_layout_is_tried_by_itself() {
    let accesses = "0 store 8 @0x1000 1\n1 store 8 @0x1008 2\n0 store 8 @0x1010 1\n".repeat(10);
    let layouts = [&["pad:0x1000+8:64"][..], &["pad:0x1010:64"], &["pad:stats:64"]];
    let layouts = layouts.map(|layout| layout.iter().map(|change| change.parse().unwrap()).collect());
    let tried = with_recordings(&accesses, MachineInfo::default(), |recordings| {
        study().try_each(recordings, &layouts).unwrap()
    });
    assert_eq!((tried.machine.as_str(), tried.accesses), ("tiny", 30));
    let [apart, beside, unknown] = &tried.outcomes[..] else { panic!("{tried:?}") };
    // The word behind the border goes with it, and is still shared falsely.
    assert_eq!(apart, &Ok(Outcome { before: 20, after: 19 }));
    // What stays on the old line is taken as before.
    assert_eq!(beside, &Ok(Outcome { before: 20, after: 19 }));
    assert!(unknown.as_ref().unwrap_err().contains("`stats`"));
    let both = vec!["pad:0x1000+8:64".parse().unwrap(), "pad:0x1000+16:64".parse().unwrap()];
    let tried = with_recordings(&accesses, MachineInfo::default(), |recordings| {
        study().try_each(recordings, &[both]).unwrap()
    });
    // Both changes are of one object, whose line is counted once.
    assert_eq!(tried.outcomes, [Ok(Outcome { before: 20, after: 0 })]);
}
