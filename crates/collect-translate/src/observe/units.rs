//! Instructions that make a number of similar accesses which depends on registers: iterations and active lanes.
//!
//! Each has a counter of its own, from which its code subtracts the number of units. When the counter reaches the
//! next sample, the code leaves for a hook (`countdown`). This module finds the addresses of the sampled units.

use carom_base::{Access, AccessKind, Addr, LINE_BYTES};

use crate::{
    blocks::{cache::Cache, place::Place},
    probes::{countdown::Drawn, counter::Unit, strata::DrawnAs, units::Units},
    threads::thread::{Noticed, Thread, loads_and_stores},
};

impl Units {
    /// The instruction's counter, if its arena still exists.
    pub fn place<'c>(&self, cache: &'c Cache) -> Option<Place<'c>> {
        let (arena, id) = (self.arena, self.id);
        cache.arenas.get(arena).map(|code| Place { arena, code, id })
    }

    /// The same, with the loads and stores of the blocks that were counted with the instruction's, behind it in its superblock.
    fn in_superblock(self, cache: &Cache) -> Self {
        let behind = self.place(cache).map_or(0, |Place { code, id, .. }| {
            let before = code.counters().get(..id as usize).unwrap_or_default();
            let block = before.iter().rposition(|counter| counter.unit == Unit::Execution);
            block.map_or(0, |block| code.accesses_behind(block as u64))
        });
        Self { ahead: self.ahead + behind as u32, ..self }
    }

    /// How many units the thread has counted.
    pub fn counted(&self, cache: &Cache, thread: &Thread) -> u64 {
        self.place(cache).map_or(0, |place| thread.units(place) as u64)
    }

    /// Whether a unit that was counted is to be sampled.
    pub fn is_due(&self, cache: &Cache, thread: &Thread) -> bool {
        let Some(place) = self.place(cache).filter(|_| cache.filter().contains(self.pc)) else {
            return false;
        };
        let counter = place.code.counters().get(self.id as usize);
        let is_sampled = counter.is_some_and(|counter| cache.mode().of(counter.version).samples());
        is_sampled && place.code.windows().value(thread.lane, place.id as usize) < 0
    }
}

/// How the accesses of units follow from known ones.
#[derive(Clone, Copy, Debug)]
pub enum Pattern<'a> {
    /// Iterations make these accesses, each time this many bytes further on.
    Iterations(&'a [Access], i64),
    /// Each lane is one of these.
    Lanes(&'a [Access]),
}

/// Units with known accesses.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    pub what: Units,
    pub pattern: Pattern<'a>,
    /// The number of the pattern's first unit.
    pub number: u64,
    /// The number after the last counted unit.
    pub end: u64,
}

impl Seen<'_> {
    /// The accesses of a unit, with addresses still to be filled in.
    fn of_a_unit(&self) -> &[Access] {
        match self.pattern {
            Pattern::Iterations(accesses, _) => accesses,
            Pattern::Lanes(accesses) => accesses.get(..1).unwrap_or_default(),
        }
    }

    /// One access of a unit.
    pub fn access(&self, unit: u64, index: usize) -> Option<Access> {
        let distance = unit.wrapping_sub(self.number);
        match self.pattern {
            Pattern::Iterations(accesses, stride) => {
                let first = accesses.get(index)?;
                let addr = first.addr.0.wrapping_add(distance.wrapping_mul(stride as u64));
                Some(Access { addr: Addr(addr), ..*first })
            }
            Pattern::Lanes(accesses) => accesses.get(distance as usize).copied(),
        }
    }

    /// What to report of one access of a unit.
    pub fn notice(&self, unit: u64, index: usize, drawn_as: Option<DrawnAs>) -> Option<Noticed> {
        let access = self.access(unit, index)?;
        let each: i64 = self.of_a_unit().iter().map(loads_and_stores).sum();
        let done: i64 = self.of_a_unit().iter().take(index).map(loads_and_stores).sum();
        let to_come = (self.end.wrapping_sub(unit) as i64).wrapping_mul(each).wrapping_sub(done);
        Some(Noticed {
            access,
            drawn_as,
            weight: None,
            ahead: i64::from(self.what.ahead).wrapping_add(to_come),
            sp: 0,
        })
    }

    /// Notes which of the counted units are sampled, and reloads the counter.
    pub fn sample(&self, cache: &Cache, thread: &mut Thread) {
        let (Some(place), Some(periods)) = (self.what.place(cache), cache.mode().periods()) else { return };
        let mut drawn: Vec<Drawn> = Vec::new();
        thread.draw(place, periods, |access| drawn.push(access));
        let seen = Self { what: self.what.in_superblock(cache), ..*self };
        let mut noticed: Vec<_> = drawn.iter().filter_map(|drawn| seen.drawn(drawn)).collect();
        if cache.mode().looks_up() {
            let behind: Vec<_> =
                noticed.iter().flat_map(|(unit, index, _)| seen.behind(*unit, *index)).collect();
            noticed.extend(behind);
        }
        // In the order in which they happen; a touch is reported before a sample of the same access.
        noticed.sort_by_key(|(unit, index, noticed)| (*unit, *index, noticed.drawn_as.is_some()));
        thread.noticed.extend(noticed.into_iter().map(|(.., noticed)| noticed));
    }

    /// The accesses after a sampled one, of the same instruction, to its line, up to the first to other bytes. If the
    /// sampled access is watched from then on, these decide its reuse, and no other look-up would find them.
    fn behind(&self, unit: u64, index: usize) -> Vec<(u64, usize, Noticed)> {
        let Some(used) = self.access(unit, index) else { return Vec::new() };
        // Elements have at least one byte, so no more than this many follow in a line.
        let end = self.end.min(unit.saturating_add(LINE_BYTES));
        let operands = self.of_a_unit().len();
        let later = (unit..end).flat_map(|unit| (0..operands).map(move |index| (unit, index)));
        let mut behind = Vec::new();
        for (unit, index) in later.skip_while(|place| *place <= (unit, index)) {
            let Some(access) = self.access(unit, index) else { break };
            if access.addr.line() != used.addr.line() {
                continue;
            }
            behind.extend(self.notice(unit, index, None).map(|noticed| (unit, index, noticed)));
            if access.addr != used.addr {
                break;
            }
        }
        behind
    }

    fn drawn(&self, drawn: &Drawn) -> Option<(u64, usize, Noticed)> {
        let kind = if drawn.store { AccessKind::Store } else { AccessKind::Load };
        let wanted = |access: &Access| if drawn.store { access.kind.writes() } else { access.kind.reads() };
        let mut of_kind = (0..).zip(self.of_a_unit()).filter(|(_, access)| wanted(access));
        let (index, _) = of_kind.nth(drawn.nth as usize)?;
        let drawn_as = DrawnAs { kind, doublings: drawn.doublings };
        Some((drawn.unit, index, self.notice(drawn.unit, index, Some(drawn_as))?))
    }
}

#[cfg(test)]
mod tests {
    use carom_base::Ip;

    use super::*;

    fn access(addr: u64, kind: AccessKind) -> Access {
        Access { ip: Ip(1), addr: Addr(addr), width: 8, kind }
    }

    fn seen<'a>(pattern: Pattern<'a>, number: u64, end: u64) -> Seen<'a> {
        Seen { what: Units { pc: 1, arena: 0, id: 0, ahead: 5 }, pattern, number, end }
    }

    /// A copy downwards, iterations 10 to 19 of its counter, the first of which is known: the fourth is three strides of
    /// 8 bytes below. In front of its store 7 iterations of 2 accesses are to come, less its load, and 5 behind them.
    #[test]
    fn iterations_follow_from_the_first() {
        let first = [access(0x1000, AccessKind::Load), access(0x2000, AccessKind::Store)];
        let seen = seen(Pattern::Iterations(&first, -8), 10, 20);
        let noticed = seen.notice(13, 1, None).unwrap();
        assert_eq!((noticed.access.addr.0, noticed.ahead), (0x2000 - 3 * 8, 7 * 2 - 1 + 5));
        let drawn = seen.drawn(&Drawn { unit: 13, nth: 0, store: true, doublings: 3 }).unwrap();
        assert_eq!((drawn.1, drawn.2.access.addr.0), (1, 0x2000 - 3 * 8));
        assert!(seen.drawn(&Drawn { unit: 13, nth: 1, store: true, doublings: 0 }).is_none());
    }

    /// After a comparison the pattern is that of the iteration that would have come next.
    #[test]
    fn iterations_follow_from_the_one_behind_the_last() {
        let next = [access(0x1000, AccessKind::Load), access(0x2000, AccessKind::Load)];
        let noticed = seen(Pattern::Iterations(&next, 8), 20, 20).notice(18, 0, None).unwrap();
        assert_eq!((noticed.access.addr.0, noticed.ahead), (0x1000 - 2 * 8, 2 * 2 + 5));
    }

    /// Bytes of a line in order: the next one decides each, except for the line's last. A copy within a line goes
    /// back and forth: its store to the place of the next load, and so on.
    #[test]
    fn a_use_is_decided_by_the_next_iterations() {
        let store = [Access { width: 1, ..access(0x1000, AccessKind::Store) }];
        let behind = |seen: &Seen<'_>, unit, index| -> Vec<_> {
            seen.behind(unit, index)
                .iter()
                .map(|(unit, index, found)| (*unit, *index, found.access.addr.0))
                .collect()
        };
        let bytes = seen(Pattern::Iterations(&store, 1), 10, 200);
        assert_eq!(behind(&bytes, 10, 0), [(11, 0, 0x1001)]);
        assert_eq!(behind(&bytes, 10 + 63, 0), []);
        assert_eq!(behind(&bytes, 199, 0), [], "it is the last");
        let copy = [access(0x1000, AccessKind::Load), access(0x1008, AccessKind::Store)];
        let copy = seen(Pattern::Iterations(&copy, 8), 0, 4);
        assert_eq!(behind(&copy, 0, 1), [(1, 0, 0x1008), (1, 1, 0x1010)]);
    }

    /// Three lanes, numbers 30 to 32 of their counter.
    #[test]
    fn lanes_are_taken_in_order() {
        let lanes = [0x100, 0x900, 0x300].map(|addr| access(addr, AccessKind::Load));
        let seen = seen(Pattern::Lanes(&lanes), 30, 33);
        let noticed = seen.notice(31, 0, None).unwrap();
        assert_eq!((noticed.access.addr.0, noticed.ahead), (0x900, 2 + 5));
        // Units of an earlier run are not among these.
        assert!(seen.notice(29, 0, None).is_none() && seen.notice(33, 0, None).is_none());
    }
}
