#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::num::NonZero;

use carom_base::{Addr, ThreadId};
use carom_base_sim::{Machine, Placement, Sharing};
use carom_base_stream::text;
use carom_store::{CacheInfo, Importer, MachineInfo, Manifest, Recording};

use super::{MachineChoice, SimulateFindings, SimulateStudy};
use crate::{Study, recording::Recordings};

/// Two cores with one line of 64 bytes in each of two sets.
const TINY: &str = "cores_per_socket = 2\nl1 = {size = 128, ways = 1}";

fn study() -> SimulateStudy {
    let machine = MachineChoice::Given("tiny".into(), Machine::parse(TINY).unwrap());
    SimulateStudy { machine, ..SimulateStudy::default() }
}

fn simulated(study: &SimulateStudy, accesses: &str, machine: MachineInfo) -> SimulateFindings {
    let dir = tempfile::tempdir().unwrap();
    let mut importer = Importer::create(dir.path(), Manifest { machine, ..Manifest::default() }).unwrap();
    text::parse(accesses).unwrap().iter().for_each(|record| importer.record(record));
    importer.finish().unwrap();
    let recording = Recording::open(dir.path()).unwrap();
    study.study(&mut Recordings::new(std::slice::from_ref(&recording)))
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
