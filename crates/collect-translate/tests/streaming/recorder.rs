//! Runs functions in Stream mode, and keeps the accesses that were handed over.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use carom_base::Access;
use carom_base_insn::Registers;
use carom_collect_translate::{Batch, BatchReader, DrawnAs, Mode, Observer, Totals};

use crate::support::{self, Function, heap};

/// The largest number of accesses of one run.
const ROOM: usize = 4_000_000;

/// The largest number of simultaneous runs.
const MOST: usize = 16;

/// The record of a run, shared with forked children. Observers must not allocate: the program may be doing so.
#[repr(C)]
struct Record {
    length: AtomicU64,
    stamped: AtomicU64,
    accesses: [Access; ROOM],
    stamps: [Stamp; ROOM],
}

/// The number of accesses before each reading of the time-stamp counter.
pub type Stamp = (usize, u64);

/// By the thread's name; the second half is for children.
static RECORDS: [AtomicU64; 2 * MOST] = [const { AtomicU64::new(0) }; 2 * MOST];
static IS_CHILD: AtomicBool = AtomicBool::new(false);

struct Recorder;

/// What writes a batch into a record.
struct Writing<'a> {
    record: *mut Record,
    length: &'a AtomicU64,
    stamped: &'a AtomicU64,
}

impl BatchReader for Writing<'_> {
    fn access(&mut self, access: &Access) {
        let index = self.length.fetch_add(1, Relaxed) as usize;
        assert!(index < ROOM);
        // SAFETY: as in `streamed`, and in its bounds.
        let accesses = unsafe { &raw mut (*self.record).accesses };
        // SAFETY: as above.
        unsafe { accesses.cast::<Access>().wrapping_add(index).write(*access) };
    }

    fn stamp(&mut self, time: u64) {
        let index = self.stamped.fetch_add(1, Relaxed) as usize;
        assert!(index < ROOM);
        // SAFETY: as in `streamed`, and in its bounds.
        let stamps = unsafe { &raw mut (*self.record).stamps };
        let stamp = (self.length.load(Relaxed) as usize, time);
        // SAFETY: as above.
        unsafe { stamps.cast::<Stamp>().wrapping_add(index).write(stamp) };
    }
}

impl Observer for Recorder {
    fn sampled(&self, _: &Registers<'_>, _: &Access, _: DrawnAs, _: f32) {}

    fn streamed(&self, name: u64, batch: &Batch<'_>) {
        let half = if IS_CHILD.load(Relaxed) { MOST } else { 0 };
        let record = RECORDS[half + name as usize].load(Acquire) as *mut Record;
        // SAFETY: mapped before the run began.
        let length = unsafe { &(*record).length };
        // SAFETY: as above.
        let stamped = unsafe { &(*record).stamped };
        batch.read(&mut Writing { record, length, stamped });
    }

    fn ending(&self, _: &mut dyn Iterator<Item = (u64, Totals)>) {}

    fn forking(&self) {
        heap::HEAP.lock();
    }

    fn forked(&self, child: bool) {
        heap::HEAP.unlock();
        if child {
            IS_CHILD.store(true, Relaxed);
        }
    }
}

/// The result of one function.
pub struct Run {
    pub result: u64,
    pub totals: Option<Totals>,
    pub accesses: Vec<Access>,
    pub stamps: Vec<Stamp>,
    /// The accesses of its child, if it made one.
    pub of_child: Vec<Access>,
}

fn map() -> u64 {
    // SAFETY: a new mapping.
    let place = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size_of::<Record>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    assert_ne!(place, libc::MAP_FAILED);
    place as u64
}

/// Accesses that were handed over of the thread `name` so far.
pub fn so_far(name: u64) -> u64 {
    let record = RECORDS[name as usize].load(Acquire) as *const Record;
    // SAFETY: never unmapped while there is a run.
    if record.is_null() { 0 } else { unsafe { (*record).length.load(Acquire) } }
}

/// Calls `function(a, b)` in the cache, in a thread of this name, of which there is one at a time.
pub fn stream_as(name: u64, function: Function, a: u64, b: u64) -> Run {
    let places = [name as usize, MOST + name as usize];
    for place in places {
        RECORDS[place].store(map(), Release);
    }
    support::begin(Mode::Stream, &Recorder);
    let (result, totals) = support::run_as(name, function, a, b);
    let [(accesses, stamps), (of_child, _)] = places.map(|place| {
        let record = RECORDS[place].swap(0, AcqRel) as *mut Record;
        // SAFETY: of this run, which is over.
        let length = unsafe { (*record).length.load(Acquire) } as usize;
        // SAFETY: as above.
        let stamped = unsafe { (*record).stamped.load(Acquire) } as usize;
        // SAFETY: as above.
        let first = unsafe { &raw const (*record).accesses }.cast::<Access>();
        // SAFETY: so many were written.
        let accesses = unsafe { std::slice::from_raw_parts(first, length) }.to_vec();
        // SAFETY: as above.
        let first = unsafe { &raw const (*record).stamps }.cast::<Stamp>();
        // SAFETY: as above.
        let stamps = unsafe { std::slice::from_raw_parts(first, stamped) }.to_vec();
        // SAFETY: nobody knows it any more.
        unsafe { libc::munmap(record.cast(), size_of::<Record>()) };
        (accesses, stamps)
    });
    Run { result, totals, accesses, stamps, of_child }
}
