//! Step samples in order of time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use carom_base::{Access, Nanos, ProcessId, ThreadId};

use super::extent::lines;
use super::tally::LineKey;

/// Step samples held back so as to put them in order of time: the rings of different threads are emptied one
/// after the other. At 1,000 samples per second and 64 threads this is a second; it takes 5 MB.
const REORDER: usize = 1 << 16;

/// A sampled access, and what it stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub thread: ThreadId,
    pub process: ProcessId,
    pub time: Nanos,
    /// The core, or the processor where the recording does not know cores.
    pub core: u32,
    pub access: Access,
    /// Accesses, or 1.
    pub accesses: f64,
    /// Operations: a read-modify-write is one.
    pub operations: f64,
}

impl Step {
    /// The first line that the access touches. A second one is ignored, as by older tools.
    pub fn line(&self) -> LineKey {
        (self.process, lines(self.access).0)
    }
}

/// Puts a window of samples in order: by time, then by arrival.
#[derive(Default)]
pub(super) struct InOrder {
    waiting: BinaryHeap<Reverse<Waiting>>,
    arrived: u64,
}

struct Waiting {
    order: (Nanos, u64),
    step: Step,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.cmp(&other.order)
    }
}

impl InOrder {
    /// Takes one in, and gives the earliest once there are enough.
    pub fn push(&mut self, step: Step) -> Option<Step> {
        self.waiting.push(Reverse(Waiting { order: (step.time, self.arrived), step }));
        self.arrived += 1;
        if self.waiting.len() > REORDER { self.pop() } else { None }
    }

    /// Gives the earliest.
    pub fn pop(&mut self) -> Option<Step> {
        self.waiting.pop().map(|Reverse(waiting)| waiting.step)
    }
}
