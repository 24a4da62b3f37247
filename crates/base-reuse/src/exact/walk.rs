//! The effects of accesses on one stack, and on the others.

use carom_base::{Access, Ip};

use super::{
    entry::Stamp,
    grid::{Grid, Key},
    histogram::UNIT,
    holders::Holders,
    moves::{Enter, Leave, Move, Run},
    sieve::Sieve,
    sites::Sites,
    stack::{AHEAD, Now, Reuse, Seen, Stack},
    table::Home,
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
    /// Every place is followed: moves of one run.
    #[inline(always)]
    pub fn moves(&mut self, run: Run, moves: &[Move]) {
        // The top has a clock of its own, which goes as fast while its thread runs.
        let ahead = self.stack.clock.wrapping_sub(run.begin);
        for moves in moves.chunks(AHEAD) {
            let entering = moves.iter().filter_map(|one| match one {
                Move::Enter(enter) => Some(enter.key),
                Move::Leave(_) => None,
            });
            read_ahead(self.stack, entering);
            // Not by `for_each`, whose function would not be compiled for the caller's processor.
            for one in moves {
                match one {
                    Move::Enter(enter) => self.enter(enter, ahead),
                    Move::Leave(leave) => self.leave(leave, ahead),
                }
            }
        }
        self.stack.clock = run.end.wrapping_add(ahead);
    }

    #[inline(always)]
    fn enter(&mut self, enter: &Enter, ahead: u64) {
        let Enter { key, begin, ip, addr, writes, above } = *enter;
        let begin = begin.wrapping_add(ahead);
        // When the access ended is told by the move with which the place leaves.
        let now = Now { begin, stamp: Stamp::new(begin, self.who, writes), ip, addr };
        match self.touch(key, now) {
            Seen::Reuse(reuse) => {
                let reuse = Reuse { stack: reuse.stack + u64::from(above), ..reuse };
                self.tally.record_reuse(reuse, now, UNIT, self.sites.as_deref());
            }
            missed => self.tally.miss(missed, UNIT),
        }
    }

    #[inline(always)]
    fn leave(&mut self, leave: &Leave, ahead: u64) {
        let Leave { key, end, ip, wrote, wrote_since } = *leave;
        let home = self.stack.home_of(key);
        if wrote_since {
            self.holders.settle(self.holder, self.stack, (key, home), false, true);
        }
        self.put_back(home, Stamp::new(end.wrapping_add(ahead), self.who, wrote), ip);
    }

    /// A touch of a place, which is taken out.
    #[inline(always)]
    fn touch(&mut self, key: Key, now: Now) -> Seen {
        let (seen, home) = self.stack.enter(key, now.begin);
        let missed = !matches!(seen, Seen::Reuse(_));
        self.holders.settle(self.holder, self.stack, (key, home), missed, now.writes());
        seen
    }

    /// Puts a place on top whose last touch was that of this instruction.
    #[inline(always)]
    fn put_back(&mut self, home: Home, last: Stamp, ip: Ip) {
        let site = self.sites.as_deref_mut().map_or(0, |sites| sites.number(ip));
        self.stack.leave(home, last, site);
    }

    /// Only places that pass the sieve are followed.
    pub fn sample(&mut self, batch: &[Access], sieve: &mut Sieve) {
        let (mut touches, mut writes) = (batch.len() as u64, 0);
        let mut rest = batch;
        loop {
            let (skipped, counts) = sieve.skip(self.grid, rest);
            self.stack.clock += skipped as u64 + counts.doubles();
            writes += counts.writes();
            let Some((access, after)) = rest.get(skipped..).and_then(<[Access]>::split_first) else { break };
            rest = after;
            let begin = self.stack.clock;
            self.stack.clock += access.kind.accesses();
            let stamp = Stamp::new(self.stack.clock, self.who, access.kind.writes());
            let now = Now { begin, stamp, ip: access.ip, addr: access.addr };
            let touched = self.followed(access.width, now, sieve);
            touches += touched - 1;
            writes += if now.writes() { touched } else { 0 };
        }
        self.tally.met(touches, writes);
    }

    /// An access to a place that is followed, or to several that may be. Returns how many there are.
    #[inline(never)]
    fn followed(&mut self, width: u32, now: Now, sieve: &mut Sieve) -> u64 {
        let grid = self.grid;
        let mut touches = 0;
        grid.each(now.addr.0, width, |key| {
            touches += 1;
            let hash = Sieve::hash(grid.sampling_unit(key));
            if !sieve.passes(hash) {
                return;
            }
            let seen = self.touch(key, now);
            let home = self.stack.home_of(key);
            self.put_back(home, now.stamp, now.ip);
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
pub(super) fn read_ahead(stack: &mut Stack, keys: impl Iterator<Item = Key>) {
    let was_far = stack.was_far();
    if stack.len() > LARGE || (stack.len() > MIDDLING && was_far) {
        stack.read_ahead(keys);
    }
}
