//! The effects of accesses on one stack, and on the others.

use carom_base::{Access, AccessKind};

use super::{
    grid::{Grid, Key},
    histogram::UNIT,
    holders::Holders,
    sieve::Sieve,
    sites::Sites,
    stack::{AHEAD, Now, Seen, Stack},
    tally::Tally,
};

/// From this number of places on, a stack's table is larger than a core's second-level cache, and prefetching pays.
const LARGE: usize = 1 << 15;

/// From this number on it is larger than the first-level cache, and prefetching pays if much of what is touched is
/// far.
const MIDDLING: usize = 1 << 13;

/// Consecutive accesses of one thread.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    pub grid: Grid,
    /// The number of the stack.
    pub holder: usize,
    /// The thread.
    pub who: u32,
    pub stack: &'a mut Stack,
    pub holders: &'a mut Holders,
    pub tally: &'a mut Tally,
    /// Where pairs are counted.
    pub sites: Option<&'a mut Sites>,
}

impl Walk<'_> {
    /// Every place is followed.
    #[inline(always)]
    pub fn all(&mut self, batch: &[Access]) {
        for batch in batch.chunks(AHEAD) {
            // Shorter ones have been prefetched already.
            if batch.len() == AHEAD {
                read_ahead(self.grid, self.stack, batch);
            }
            // Not by `for_each`, whose function would not be compiled for the caller's processor.
            for access in batch {
                self.each(access);
            }
        }
    }

    #[inline(always)]
    fn each(&mut self, access: &Access) {
        let now = tick(self.stack, self.who, access);
        match self.grid.only(access.addr.0, access.width) {
            Some(key) => self.one(key, now),
            None => self.several(access, now),
        }
    }

    #[inline(always)]
    fn one(&mut self, key: Key, now: Now<'_>) {
        if let Some(reuse) = self.stack.touch_again(key, now) {
            self.holders.settle(self.holder, self.stack, key, false, now.writes());
            return self.tally.record_again(reuse, now);
        }
        if let Some(reuse) = self.stack.touch_recent(key, now) {
            self.holders.settle(self.holder, self.stack, key, false, now.writes());
            return self.tally.record_reuse(reuse, now, UNIT, None);
        }
        match self.stack.touch_older(key, now, self.sites.as_deref_mut()) {
            Seen::Reuse(reuse) => {
                self.holders.settle(self.holder, self.stack, key, false, now.writes());
                self.tally.record_reuse(reuse, now, UNIT, self.sites.as_deref());
            }
            missed => self.missed(missed, key, now),
        }
    }

    #[inline(never)]
    fn missed(&mut self, missed: Seen, key: Key, now: Now<'_>) {
        self.holders.settle(self.holder, self.stack, key, true, now.writes());
        self.tally.miss(missed, UNIT);
    }

    #[cold]
    #[inline(never)]
    fn several(&mut self, access: &Access, now: Now<'_>) {
        self.grid.each(access.addr.0, access.width, |key| self.one(key, now));
    }

    /// Only places that pass the sieve are followed.
    pub fn some(&mut self, batch: &[Access], sieve: &mut Sieve) {
        let (mut touches, mut writes) = (batch.len() as u64, 0);
        let mut rest = batch;
        loop {
            let (skipped, counts) = sieve.skip(self.grid, rest);
            self.stack.clock += skipped as u64 + counts.doubles();
            writes += counts.writes();
            let Some((access, after)) = rest.get(skipped..).and_then(<[Access]>::split_first) else { break };
            rest = after;
            let now = tick(self.stack, self.who, access);
            let touched = self.followed(access, now, sieve);
            touches += touched - 1;
            writes += if now.writes() { touched } else { 0 };
        }
        self.tally.met(touches, writes);
    }

    /// An access to a place that is followed, or to several that may be. Returns how many there are.
    #[inline(never)]
    fn followed(&mut self, access: &Access, now: Now<'_>, sieve: &mut Sieve) -> u64 {
        let grid = self.grid;
        let mut touches = 0;
        grid.each(access.addr.0, access.width, |key| {
            touches += 1;
            let hash = Sieve::hash(grid.sampling_unit(key));
            if !sieve.passes(hash) {
                return;
            }
            let recent = self.stack.touch_recent(key, now).map(Seen::Reuse);
            let seen = recent.unwrap_or_else(|| self.stack.touch_older(key, now, self.sites.as_deref_mut()));
            self.holders.settle(self.holder, self.stack, key, !matches!(seen, Seen::Reuse(_)), now.writes());
            self.tally.record_sampled(seen, now, hash, sieve, self.sites.as_deref());
            if matches!(seen, Seen::First) {
                self.make_room(sieve);
            }
        });
        touches
    }

    /// If too many places are followed, reduces their number.
    fn make_room(&mut self, sieve: &mut Sieve) {
        let others: usize = self.holders.others().map(|other| other.len()).sum();
        if sieve.tighten(self.stack.len() + others) {
            let (sieve, grid) = (*sieve, self.grid);
            let keep = |key| sieve.passes(Sieve::hash(grid.sampling_unit(key)));
            self.stack.retain(keep);
            self.holders.others().for_each(|other| other.retain(keep));
        }
    }
}

/// Prefetches several places at once, if the tables are large.
#[inline(always)]
pub(super) fn read_ahead(grid: Grid, stack: &mut Stack, batch: &[Access]) {
    let was_far = stack.was_far();
    if stack.len() > LARGE || (stack.len() > MIDDLING && was_far) {
        stack.read_ahead(batch.iter().filter_map(|access| grid.only(access.addr.0, access.width)));
    }
}

/// The number of accesses that one instruction's access counts for: a read-modify-write is a load and a store.
#[inline(always)]
fn duration(kind: AccessKind) -> u64 {
    1 + u64::from(kind == AccessKind::ReadModifyWrite)
}

#[inline(always)]
fn tick<'a>(stack: &mut Stack, who: u32, access: &'a Access) -> Now<'a> {
    let begin = stack.clock;
    stack.clock += duration(access.kind);
    Now::new(begin, stack.clock, who, access)
}
