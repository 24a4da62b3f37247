//! Live blocks by address: found from any byte of them.

use std::{
    ops::Range,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use super::{
    HolderLock,
    lock::{Guard, Shut},
    shard::{BLOCK_GRANULES, Key, LEVELS, Object, Shard, level},
};

/// Parts with a lock each: enough that two threads seldom need the same one.
const SHARDS: usize = 64;

/// A look-up met a part of the table that a hook was changing, and found nothing elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

/// All live blocks.
///
/// Blocks are divided by size into levels, each 256 times as coarse as the one before, and hashed by level and
/// by where they begin ([`Key`]). So a block has one place, whatever its size, and the one around an address is
/// found by a walk over at most 256 neighbouring places in each level that is in use: about a microsecond.
pub struct BlockTable {
    shards: [HolderLock<Shard>; SHARDS],
    /// Bit l is set once a block of level l was entered.
    levels: AtomicU32,
    /// How many blocks there may be, by a hash of where they begin.
    counts: [AtomicU32; COUNTS],
}

/// Most blocks that are freed are not here, and that shall be found out at once.
const COUNTS: usize = 1 << 10;

impl BlockTable {
    /// An empty table.
    pub const fn new() -> Self {
        Self {
            shards: [const { HolderLock::new(Shard::new()) }; SHARDS],
            levels: AtomicU32::new(0),
            counts: [const { AtomicU32::new(0) }; COUNTS],
        }
    }

    #[inline(always)]
    fn count(&self, base: u64) -> &AtomicU32 {
        // The fraction of the golden ratio (Knuth 6.4).
        const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
        &self.counts[(base.wrapping_mul(MULTIPLIER) >> u32::BITS) as usize % COUNTS]
    }

    /// False where certainly no block begins at `base`.
    #[inline(always)]
    pub fn may_have(&self, base: u64) -> bool {
        self.count(base).load(Relaxed) != 0
    }

    fn shard(&self, key: Key) -> &HolderLock<Shard> {
        &self.shards[(key.hash() >> 58) as usize % SHARDS]
    }

    fn lock(&self, key: Key) -> Option<Guard<'_, Shard>> {
        match self.shard(key).lock() {
            Ok(shard) => Some(shard),
            Err(Shut::Mine) => None,
            Err(Shut::Others) => {
                // This part is lost, and no thread may wait for it again.
                super::stop();
                None
            }
        }
    }

    fn levels(&self) -> impl Iterator<Item = u32> {
        let used = self.levels.load(Relaxed);
        (0..LEVELS).filter(move |level| used >> level & 1 == 1)
    }

    /// Enters a block. One that cannot be entered stays unknown.
    pub fn insert(&self, object: Object) {
        let key = Key::at(level(object.size), object.base);
        let bit = 1 << key.level;
        // Mostly read: a write each time would have all threads fight for the line.
        if self.levels.load(Relaxed) & bit == 0 {
            self.levels.fetch_or(bit, Relaxed);
        }
        if let Some(mut shard) = self.lock(key) {
            // Too many, where it takes the place of one that was freed unseen, does no harm.
            self.count(object.base).fetch_add(1, Relaxed);
            shard.insert(object);
        }
    }

    /// Removes the block at `base`.
    pub fn remove(&self, base: u64) -> Option<Object> {
        let removed = self.levels().find_map(|level| {
            let key = Key::at(level, base);
            self.lock(key)?.remove(key, base)
        })?;
        self.count(base).fetch_sub(1, Relaxed);
        Some(removed)
    }

    /// A block that has a byte in `range`: the last one of the lowest level. Signal-safe.
    ///
    /// # Errors
    /// [`Busy`]: it may exist.
    pub fn find(&self, range: Range<u64>) -> Result<Option<Object>, Busy> {
        let mut busy = false;
        for level in self.levels() {
            match self.find_in(level, &range) {
                Ok(None) => {}
                Err(Busy) => busy = true,
                found => return found,
            }
        }
        if busy { Err(Busy) } else { Ok(None) }
    }

    fn find_in(&self, level: u32, range: &Range<u64>) -> Result<Option<Object>, Busy> {
        let last = Key::at(level, range.end.saturating_sub(1)).granule;
        let first = Key::at(level, range.start).granule.saturating_sub(BLOCK_GRANULES);
        let mut busy = false;
        for block in (first / BLOCK_GRANULES..=last / BLOCK_GRANULES).rev() {
            let start = block * BLOCK_GRANULES;
            let Some(shard) = self.shard(Key { level, granule: start }).try_lock() else {
                busy = true;
                continue;
            };
            let granules = first.max(start)..=last.min(start + BLOCK_GRANULES - 1);
            let touches = |o: &Object| o.base < range.end && o.size > range.start.saturating_sub(o.base);
            let found = granules.rev().filter_map(|granule| shard.get(Key { level, granule })).find(touches);
            if found.is_some() {
                return Ok(found);
            }
        }
        if busy { Err(Busy) } else { Ok(None) }
    }

    /// In a forked child: what another thread of the parent was changing starts over.
    pub fn after_fork(&self) {
        for shard in &self.shards {
            shard.after_fork(Shard::new());
        }
    }
}

#[cfg(test)]
mod tests;
