//! All caches of one kind at one granularity.

use carom_base::{Access, AccessKind, Scope};

use super::{
    config::Sampling,
    grid::{Grid, Key},
    histogram::UNIT,
    holders::Holders,
    sieve::Sieve,
    sites::Sites,
    stack::{Now, Seen, Stack},
    tally::Tally,
};

/// From so many places on, a stack's table is larger than a core's caches, and is worth reading ahead in.
const LARGE: usize = 1 << 15;

/// How many accesses are read ahead for.
const AHEAD: usize = 32;

/// The caches of all threads ([`Scope::Private`]), or of all domains ([`Scope::Shared`]).
#[derive(Debug)]
pub(super) struct Layer {
    scope: Scope,
    grid: Grid,
    pub pairs: bool,
    sampled: bool,
    sieve: Sieve,
    holders: Holders,
}

/// Whose accesses they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// The number of the stack.
    pub holder: usize,
    /// The thread.
    pub who: u32,
}

impl Layer {
    pub fn new(scope: Scope, granularity: u32, pairs: bool, sampling: Sampling) -> Self {
        let grid = Grid::new(granularity);
        Self {
            scope,
            grid,
            pairs,
            sampled: sampling != Sampling::All,
            sieve: Sieve::new(sampling),
            holders: Holders::new(grid),
        }
    }

    pub fn scope(&self) -> Scope {
        self.scope
    }

    pub fn granularity(&self) -> u32 {
        self.grid.granularity()
    }

    pub fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// The part of the places that is followed.
    pub fn rate(&self) -> f64 {
        self.sieve.rate()
    }

    /// Forgets a stack.
    pub fn end(&mut self, holder: usize) {
        self.holders.end(holder);
    }

    /// Accesses of one thread in a row.
    pub fn accesses(
        &mut self,
        origin: Origin,
        batch: &[Access],
        tally: &mut Tally,
        sites: Option<&mut Sites>,
    ) {
        let mut stack = self.holders.take(origin.holder);
        let sites = sites.filter(|_| self.pairs);
        match (self.sampled, sites) {
            (true, sites) => self.some(origin, &mut stack, batch, tally, sites),
            (false, Some(sites)) => {
                self.all(origin, &mut stack, batch, tally, |access| sites.number(access.ip));
            }
            (false, None) => self.all(origin, &mut stack, batch, tally, |_| 0),
        }
        self.holders.put(origin.holder, stack);
    }

    /// Every place is followed.
    fn all(
        &mut self,
        origin: Origin,
        stack: &mut Stack,
        batch: &[Access],
        tally: &mut Tally,
        mut site: impl FnMut(&Access) -> u32,
    ) {
        for batch in batch.chunks(AHEAD) {
            if stack.len() > LARGE {
                self.read_ahead(stack, batch);
            }
            for access in batch {
                let now = tick(stack, origin.who, access, site(access));
                match self.grid.only(access.addr.0, access.width) {
                    Some(key) => self.one(origin.holder, stack, key, &now, tally),
                    None => self.several(origin.holder, stack, access, &now, tally),
                }
            }
        }
    }

    #[inline(always)]
    fn one(&mut self, holder: usize, stack: &mut Stack, key: Key, now: &Now, tally: &mut Tally) {
        match stack.touch_recent(key, now) {
            Some(reuse) => {
                self.holders.settle(holder, stack, key, false, now.writes());
                tally.record_reuse(&reuse, now, UNIT);
            }
            None => self.one_older(holder, stack, key, now, tally),
        }
    }

    #[inline(never)]
    fn one_older(&mut self, holder: usize, stack: &mut Stack, key: Key, now: &Now, tally: &mut Tally) {
        let seen = stack.touch_older(key, now);
        self.holders.settle(holder, stack, key, !matches!(seen, Seen::Reuse(_)), now.writes());
        tally.record(&seen, now, UNIT);
    }

    #[cold]
    #[inline(never)]
    fn several(&mut self, holder: usize, stack: &mut Stack, access: &Access, now: &Now, tally: &mut Tally) {
        let grid = self.grid;
        grid.each(access.addr.0, access.width, |key| self.one(holder, stack, key, now, tally));
    }

    /// Places that pass the sieve are followed.
    fn some(
        &mut self,
        origin: Origin,
        stack: &mut Stack,
        batch: &[Access],
        tally: &mut Tally,
        mut sites: Option<&mut Sites>,
    ) {
        let (grid, sieve) = (self.grid, self.sieve);
        let (mut touches, mut writes) = (batch.len() as u64, 0);
        let mut clock = stack.clock;
        for access in batch {
            let begin = clock;
            clock += duration(access.kind);
            writes += u64::from(access.kind.writes());
            let only = grid.only(access.addr.0, access.width);
            if only.is_some_and(|key| !sieve.passes(Sieve::hash(grid.sampling_unit(key)))) {
                continue;
            }
            let site = sites.as_mut().map_or(0, |sites| sites.number(access.ip));
            let now = Now::new(begin, clock, origin.who, site, access);
            let more = self.followed(origin.holder, stack, access, &now, tally) - 1;
            touches += more;
            writes += if now.writes() { more } else { 0 };
        }
        stack.clock = clock;
        tally.met(touches, writes);
    }

    /// An access to a place that is followed, or to several that may be. How many there are.
    #[inline(never)]
    fn followed(
        &mut self,
        holder: usize,
        stack: &mut Stack,
        access: &Access,
        now: &Now,
        tally: &mut Tally,
    ) -> u64 {
        let grid = self.grid;
        let mut touches = 0;
        grid.each(access.addr.0, access.width, |key| {
            touches += 1;
            let hash = Sieve::hash(grid.sampling_unit(key));
            if !self.sieve.passes(hash) {
                return;
            }
            let recent = stack.touch_recent(key, now).map(Seen::Reuse);
            let seen = recent.unwrap_or_else(|| stack.touch_older(key, now));
            self.holders.settle(holder, stack, key, !matches!(seen, Seen::Reuse(_)), now.writes());
            tally.record_sampled(seen, now, hash, self.sieve.rate(), self.sieve.weight());
            if matches!(seen, Seen::First) {
                self.make_room(stack);
            }
        });
        touches
    }

    /// If too many places are followed, fewer are from now on.
    fn make_room(&mut self, stack: &mut Stack) {
        let others: usize = self.holders.others().map(|other| other.len()).sum();
        if self.sieve.tighten(stack.len() + others) {
            let (sieve, grid) = (self.sieve, self.grid);
            let keep = |key| sieve.passes(Sieve::hash(grid.sampling_unit(key)));
            stack.retain(keep);
            self.holders.others().for_each(|other| other.retain(keep));
        }
    }

    /// So that the memory of several places is on its way at once.
    #[inline(never)]
    fn read_ahead(&self, stack: &Stack, batch: &[Access]) {
        let mut read = 0;
        for access in batch {
            if let Some(key) = self.grid.only(access.addr.0, access.width) {
                read ^= stack.touch_ahead(key);
            }
        }
        std::hint::black_box(read);
    }
}

/// Accesses that one instruction's access is: a read-modify-write is a load and a store.
#[inline(always)]
fn duration(kind: AccessKind) -> u64 {
    1 + u64::from(kind == AccessKind::ReadModifyWrite)
}

#[inline(always)]
fn tick(stack: &mut Stack, who: u32, access: &Access, site: u32) -> Now {
    let begin = stack.clock;
    stack.clock += duration(access.kind);
    Now::new(begin, stack.clock, who, site, access)
}
