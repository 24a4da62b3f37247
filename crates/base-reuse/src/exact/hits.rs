//! The counts of one thread's accesses to places that are in the [top](super::top).

use super::{
    histogram::{Column, HALF, Histogram},
    top::DEPTH,
};

/// Reuses by distance. The earlier use is the thread's own.
#[derive(Clone, Debug)]
pub(super) struct Hits {
    time: Histogram,
    /// By stack distance, and by kind.
    stack: [[u64; HALF]; DEPTH],
}

impl Hits {
    pub const NONE: Self = Self { time: Histogram::EMPTY, stack: [[0; HALF]; DEPTH] };

    #[inline(always)]
    pub fn add(&mut self, distance: u8, time: u64, column: Column) {
        self.stack[usize::from(distance) % DEPTH][column.in_half()] += 1;
        self.time.add(time, column, 1);
    }

    /// Adds all of them, each with this weight, to counts by time distance and by stack distance.
    pub fn give(&self, time: &mut Histogram, stack: &mut Histogram, weight: u64) {
        self.time.give(time, weight);
        for (distance, counts) in (0..).zip(&self.stack) {
            for (column, count) in Column::all().zip(counts) {
                stack.add(distance, column, count * weight);
            }
        }
    }
}
