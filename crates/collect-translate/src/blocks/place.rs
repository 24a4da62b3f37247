//! Where a counter is.

use super::code::Code;
use crate::{decode::block::Sums, probes::counter::Counter};

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
    /// The loads and stores among which samples are drawn for one unit. Of a block that begins a superblock these are its own and
    /// then those of the blocks behind it, which an execution may not reach.
    pub fn slots(&self) -> Option<Sums> {
        let own = self.code.counters().get(self.id as usize)?;
        let all = [own].into_iter().chain(self.code.followers_of(self.id)).map(Counter::sums);
        Some(all.fold(Sums::default(), |slots, block| Sums {
            loads: slots.loads + block.loads,
            stores: slots.stores + block.stores,
            ..slots
        }))
    }
}
