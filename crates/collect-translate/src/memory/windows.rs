//! Windows: the counters of each thread beside one arena.

use std::{
    ops::Range,
    sync::atomic::{AtomicI64, Ordering},
};

use super::{FLOOR, REACH, bank::COLUMN_BYTES, lanes::LaneId};

/// The number of counters of one thread for one arena.
pub const COUNTERS_PER_ARENA: usize = (COLUMN_BYTES / COUNTER_BYTES) as usize;

/// The size of a counter.
pub const COUNTER_BYTES: u64 = 8;

/// The largest distance of counters from code. Less than 2 GiB, so that the lengths of an instruction and of the
/// counter never matter.
const COUNTER_REACH: u64 = REACH - COLUMN_BYTES;

/// The counters beside one arena: a window for each lane, in one column of a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// The offset from a lane to its window (modulo 2^64): counter `id` is `gs:[v + 8 * id]`.
    pub v: u64,
    start: u64,
}

impl Windows {
    /// The windows that begin at `start`, for lanes that begin at `lanes_start`.
    pub(super) const fn at(start: u64, lanes_start: u64) -> Self {
        Self { v: start.wrapping_sub(lanes_start), start }
    }

    /// The start of the first window.
    pub(super) const fn start(&self) -> u64 {
        self.start
    }

    /// The address of counter `id` (less than [`COUNTERS_PER_ARENA`]) of a lane.
    pub fn counter_address(&self, lane: LaneId, id: usize) -> *mut i64 {
        debug_assert!(id < COUNTERS_PER_ARENA);
        let address = self.start + lane.offset() + id as u64 * COUNTER_BYTES;
        std::ptr::with_exposed_provenance_mut(address as usize)
    }

    /// The value of a lane's counter; 0 for numbers that are too large.
    ///
    /// The lane must have been taken, and the windows must still be open. Its thread may be counting meanwhile.
    pub fn value(&self, lane: LaneId, id: usize) -> i64 {
        self.counter(lane, id).map_or(0, |counter| counter.load(Ordering::Relaxed))
    }

    /// Sets a counter of a lane to a value, as [`value`](Self::value) reads it. What its thread counts meanwhile may
    /// be lost, so either that thread itself calls this, or it does not run translated code.
    pub fn set(&self, lane: LaneId, id: usize, value: i64) {
        if let Some(counter) = self.counter(lane, id) {
            counter.store(value, Ordering::Relaxed);
        }
    }

    /// The sum of the first counters of a lane, each times its weight.
    pub fn weighted(&self, lane: LaneId, weights: &[i32]) -> i64 {
        let first = self.counter_address(lane, 0);
        let weights = weights.get(..weights.len().min(COUNTERS_PER_ARENA)).unwrap_or_default();
        let products = weights.iter().enumerate().map(|(id, &weight)| {
            // SAFETY: as in `counter`.
            let counter = unsafe { AtomicI64::from_ptr(first.wrapping_add(id)) };
            counter.load(Ordering::Relaxed).wrapping_mul(i64::from(weight))
        });
        products.fold(0, i64::wrapping_add)
    }

    // ATOMICS: relaxed throughout: a counter orders nothing, and translated code counts with plain instructions.
    fn counter(&self, lane: LaneId, id: usize) -> Option<&AtomicI64> {
        let place = (id < COUNTERS_PER_ARENA).then(|| self.counter_address(lane, id))?;
        // SAFETY: aligned; a lane that was taken once has its windows open until they are closed for good.
        Some(unsafe { AtomicI64::from_ptr(place) })
    }
}

/// Where the first of an arena's windows may begin: for every offset less than [`COLUMN_BYTES`] and every byte `a` of
/// `near`, `|v + offset - a| < COUNTER_REACH`. It begins at `v + lanes_start`.
pub(super) fn starts_within(near: &Range<u64>, lanes_start: u64) -> Range<u64> {
    let lowest = near.end.saturating_add(lanes_start).saturating_sub(COUNTER_REACH);
    let highest = near.start.saturating_add(lanes_start).saturating_add(COUNTER_REACH - COLUMN_BYTES);
    lowest.max(FLOOR)..highest.saturating_add(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::USER_END, *};

    proptest! {
        /// The contract of `starts_within`, at its extremes: the first and the last byte of the arena, the first
        /// and the last counter.
        #[test]
        fn every_counter_is_in_reach(start in FLOOR..USER_END - (16 << 20), lanes_start in (64u64 << 20)..48 << 30,
                                     shift in prop::sample::select(vec![0.0, 0.5, 1.0f64])) {
            let near = start..start + (16 << 20);
            let within = starts_within(&near, lanes_start);
            let room = within.end - within.start - 1;
            let first = within.start + (room as f64 * shift) as u64;
            let v = i128::from(first) - i128::from(lanes_start);
            for address in [near.start, near.end - 1] {
                for offset in [0, COLUMN_BYTES - 1] {
                    let distance = v + i128::from(offset) - i128::from(address);
                    prop_assert!(distance.unsigned_abs() < u128::from((2u64 << 30) - (1 << 20)), "{distance:#x}");
                }
            }
        }
    }

    #[test]
    fn windows_have_room_on_both_sides() {
        // 4 GiB of places for the start, minus the arena's 16 MiB and three times 1 MiB.
        let within = starts_within(&(0x5555_0000_0000..0x5555_0100_0000), 40 << 30);
        assert_eq!(within.end - within.start, (4 << 30) - (16 << 20) - (3 << 20) + 1);
    }
}
