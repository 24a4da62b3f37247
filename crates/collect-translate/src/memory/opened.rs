//! Which lanes there are, for readers that have no lock.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::*};

use super::{LANE_BYTES, LaneId};

/// Where the lanes begin and end.
static LANES: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
/// Lanes that were used so far.
static OPENED: AtomicU64 = AtomicU64::new(0);

/// The lanes of the process lie there. To be called before a thread is attached.
pub fn publish(lanes: &Range<u64>) {
    let [start, end] = &LANES;
    // ATOMICS: published by the release of whoever lets threads be attached.
    start.store(lanes.start, Relaxed);
    end.store(lanes.end, Relaxed);
}

/// A lane is used from now on.
pub fn open(lane: LaneId) {
    // ATOMICS: a number that only grows, each lane below which was opened before.
    OPENED.fetch_max(lane.index() as u64 + 1, Release);
}

/// Where the lane of this number begins, if it was ever used.
pub fn base(index: u16) -> Option<u64> {
    let [start, _] = &LANES;
    let index = u64::from(index);
    (index < OPENED.load(Acquire)).then(|| start.load(Relaxed) + index * LANE_BYTES)
}

/// Whether an address lies in one of them.
pub fn contains(address: u64) -> bool {
    let [start, end] = &LANES;
    (start.load(Relaxed)..end.load(Relaxed)).contains(&address)
}
