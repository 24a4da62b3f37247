use carom_base_stream::text;
use carom_store::{CacheInfo, Importer, MachineInfo, Manifest, Recording, SimulatedCounts};

use super::{Simulated, simulate_caches};
use crate::recording::Recordings;

/// Two sets of one line in L1, no other caches.
fn tiny() -> MachineInfo {
    let l1 = CacheInfo {
        level: 1,
        kind: "data".into(),
        bytes: 128,
        line_bytes: 64,
        ways: 1,
        sets: 2,
        cpus: vec![0],
    };
    MachineInfo { cpu_model: "tiny".into(), caches: vec![l1], ..MachineInfo::default() }
}

fn simulated(accesses: &str) -> Simulated {
    let dir = tempfile::tempdir().unwrap();
    let mut importer =
        Importer::create(dir.path(), Manifest { machine: tiny(), ..Manifest::default() }).unwrap();
    text::parse(accesses).unwrap().iter().for_each(|record| importer.record(record));
    importer.finish().unwrap();
    let recording = Recording::open(dir.path()).unwrap();
    simulate_caches(&mut Recordings::new(std::slice::from_ref(&recording)), None).unwrap()
}

/// Lines 0x1000 and 0x1080 share a set of the tiny machine. The load of 0x1000 is cold, the store to 0x1080 is cold and takes its
/// place, the atomic on 0x1000 misses again, and counts as a store; the last load hits.
#[test]
fn loads_and_stores_are_told_apart() {
    let found =
        simulated("0 load 8 @0x1000 1\n0 store 8 @0x1080 2\n0 atomic 8 @0x1000 3\n0 load 8 @0x1008 4\n");
    let [only] = found.threads[..] else { panic!("{found:?}") };
    assert_eq!((only.l1_load_misses, only.l1_store_misses), (1, 2));
    assert_eq!((only.llc_load_misses, only.llc_store_misses), (1, 2));
    // One page.
    assert_eq!((only.dtlb_load_misses, only.dtlb_store_misses, only.page_walks), (1, 0, 1));
    assert_eq!((only.coherence_misses, only.invalidations), (0, 0));
    let caches: Vec<&str> = found.info.caches.iter().map(|cache| cache.name.as_str()).collect();
    assert_eq!((found.info.machine.as_str(), caches), ("tiny", vec!["l1", "dtlb", "stlb"]));
}

/// Two threads write two words of one line in turn: from the second store on each takes the line from the other.
#[test]
fn invalidations_belong_to_the_thread_that_stores() {
    let found = simulated(
        "0 store 8 @0x1000 1\n1 store 8 @0x1008 2\n0 store 8 @0x1000 1\n1 store 8 @0x1008 2\n0 store 8 @0x1000 1\n",
    );
    let of = |thread: &SimulatedCounts| {
        let SimulatedCounts { l1_store_misses, coherence_misses, store_transfers, bus_transactions, .. } =
            *thread;
        let invalidations = (thread.invalidations, thread.false_invalidations);
        (l1_store_misses, coherence_misses, store_transfers, bus_transactions, invalidations)
    };
    let [first, second] = &found.threads[..] else { panic!("{found:?}") };
    // The first miss of the first thread comes from memory; all others from the other core.
    assert_eq!(of(first), (3, 2, 2, 3, (2, 2)));
    assert_eq!(of(second), (2, 1, 2, 2, (2, 2)));
    // A page that both use is in the TLB of each.
    assert!(found.threads.iter().all(|thread| thread.dtlb_store_misses == 1));
}
