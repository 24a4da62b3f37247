//! Where a counter is.

use super::code::Code;
use crate::decode::block::Sums;

/// One counter of one thread.
#[derive(Clone, Copy)]
pub struct Place<'c> {
    /// Which arena.
    pub arena: usize,
    /// Its code.
    pub code: &'c Code,
    /// The counter's number there.
    pub id: u64,
}

impl Place<'_> {
    /// The counts that one unit stands for.
    pub fn sums(&self) -> Option<Sums> {
        self.code.counters().get(self.id as usize).map(|counter| counter.sums())
    }
}
