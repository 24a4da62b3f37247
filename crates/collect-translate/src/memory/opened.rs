//! The lanes of the process, for readers that have no lock.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::*};

use super::{LaneId, bank::ROW_BYTES};

/// The range of the lanes.
static LANES: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
/// The number of lanes that have been used.
static OPENED: AtomicU64 = AtomicU64::new(0);

/// Publishes the range of the lanes. Must be called before a thread is attached.
pub fn publish(lanes: &Range<u64>) {
    let [start, end] = &LANES;
    // ATOMICS: published by the release with which threads are allowed to attach.
    start.store(lanes.start, Relaxed);
    end.store(lanes.end, Relaxed);
}

/// Notes that a lane is used from now on.
pub fn open(lane: LaneId) {
    // ATOMICS: a number that only grows; each lane below it was opened before.
    OPENED.fetch_max(lane.index() as u64 + 1, Release);
}

/// Whether any lane has ever been used.
pub fn is_any() -> bool {
    OPENED.load(Relaxed) != 0
}

/// The start of the lane with this number, if it has ever been used.
pub fn base(index: u16) -> Option<u64> {
    let [start, _] = &LANES;
    let index = u64::from(index);
    (index < OPENED.load(Acquire)).then(|| start.load(Relaxed) + index * ROW_BYTES)
}

/// Whether an address lies in one of the lanes.
pub fn contains(address: u64) -> bool {
    let [start, end] = &LANES;
    (start.load(Relaxed)..end.load(Relaxed)).contains(&address)
}
