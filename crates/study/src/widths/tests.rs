use carom_base::{Access, AccessKind, Addr, Cpu, Ip, Nanos, Population, ProcessId, Skip, StackId, ThreadId};
use carom_store::{Manifest, ProcessInfo, Recording, ThreadCounters, ThreadInfo, Writer};

use super::*;

/// A recording of one thread that lost a record, with a sample of each of these widths, and one without an address.
fn recorded(widths: &[u32]) -> (tempfile::TempDir, Recording) {
    let counters = ThreadCounters { dropped_records: 1, ..ThreadCounters::default() };
    let manifest = Manifest {
        processes: vec![ProcessInfo::default()],
        threads: vec![ThreadInfo {
            id: ThreadId(0),
            process: ProcessId(0),
            counters,
            ..ThreadInfo::default()
        }],
        ..Manifest::default()
    };
    let sample = |outcome| Sample {
        thread: ThreadId(0),
        time: Nanos(1),
        cpu: Cpu(0),
        population: Population::Step,
        part: 0,
        outcome,
        stack: StackId(0),
        doublings: 0,
    };
    let access = |&width| Access { ip: Ip(1), addr: Addr(64), width, kind: AccessKind::Load };
    let mut samples: Vec<Sample> =
        widths.iter().map(|width| sample(SampleOutcome::Access(access(width)))).collect();
    samples.push(sample(SampleOutcome::Skipped(Ip(1), Skip::AddressLost)));
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(dir.path(), manifest.clone()).unwrap();
    writer.push(&samples);
    writer.finish(manifest).unwrap();
    let recording = Recording::open(dir.path()).unwrap();
    (dir, recording)
}

/// Two recordings: 8, 8 and 1 byte, and 8 and 4 bytes. The samples without an address have no width.
#[test]
fn samples_of_all_recordings_are_counted_by_width() {
    let (_one, first) = recorded(&[8, 8, 1]);
    let (_other, second) = recorded(&[8, 4]);
    let both = [first, second];
    let found = WidthsStudy.study(&mut Recordings::new(&both));
    assert_eq!(found.samples, BTreeMap::from([(1, 1), (4, 1), (8, 3)]));
    assert_eq!(found.losses.counters.dropped_records, 2);
}
