//! The top of all LRU stacks of the thread that runs.
//!
//! Most accesses are to a place that the same thread accessed a moment ago, with no other thread's access in between. Their
//! distances are the same in the thread's own cache and in the shared one, no other cache learns of them, and neither do the
//! stacks: the few most recent places are kept here, in front of them. What passes between here and there are
//! [moves](super::moves).

use carom_base::{Access, Ip};

use super::{
    grid::{Grid, Key, VACANT},
    hash::product,
    histogram::Column,
    hits::Hits,
    moves::{Enter, Leave, OfGrid, Sources},
    sequence::Source,
};

/// The most places: the number of a byte each fills two vector registers.
pub(super) const DEPTH: usize = 32;

/// Bits of the hash by which a place is found.
const INDEX_BITS: u32 = 8;

/// Each slot at the position of its own number.
const IN_A_ROW: [u8; DEPTH] = {
    let mut row = [0; DEPTH];
    let mut slot = 0;
    while slot < DEPTH {
        row[slot] = slot as u8;
        slot += 1;
    }
    row
};

/// The top at one granularity. See the [module](self).
///
/// Places keep their *slots* and change their *ranks*, the number of places that are more recent. So a rank is the stack
/// distance, and no branch depends on it.
#[derive(Clone, Debug)]
pub(super) struct Top {
    grid: Grid,
    /// The most places that may be here.
    capacity: usize,
    /// Whose places these are.
    source: Option<Source>,
    /// The number of accesses of all threads.
    clock: u64,
    /// The slots in use are the first ones.
    count: usize,
    /// By slot. Those of unused slots follow the others.
    ranks: [u8; DEPTH],
    keys: [Key; DEPTH],
    lasts: [LastHere; DEPTH],
    /// By hash.
    index: Box<[OfHash; 1 << INDEX_BITS]>,
}

/// Places of one hash.
#[derive(Clone, Copy, Debug, Default)]
struct OfHash {
    /// The slot of the one that was looked up last.
    slot: u8,
    /// How many there are.
    places: u8,
}

/// The last access to a place, and whether it was written since it is here.
#[derive(Clone, Copy, Debug)]
struct LastHere {
    /// The clock at its end.
    end: u64,
    ip: Ip,
    wrote: bool,
    wrote_since: bool,
}

impl LastHere {
    const NEVER: Self = Self { end: 0, ip: Ip(0), wrote: false, wrote_since: false };
}

impl Top {
    /// At most `capacity` places, or [`DEPTH`].
    pub fn new(grid: Grid, capacity: u64) -> Self {
        Self {
            grid,
            capacity: usize::try_from(capacity).unwrap_or(DEPTH).min(DEPTH),
            source: None,
            clock: 0,
            count: 0,
            ranks: IN_A_ROW,
            keys: [VACANT; DEPTH],
            lasts: [LastHere::NEVER; DEPTH],
            index: Box::new([OfHash::default(); 1 << INDEX_BITS]),
        }
    }

    /// Takes consecutive accesses of one source. Those of another one end before.
    #[inline(always)]
    pub fn accesses(
        &mut self,
        source: Source,
        batch: &[Access],
        hits: &mut Hits,
        (sources, moves): (&mut Sources, &mut OfGrid),
    ) {
        if self.source != Some(source) {
            self.empty(sources, moves);
            self.source = Some(source);
        }
        let begin = self.clock;
        // Not by `for_each`, whose function would not be compiled for the caller's processor.
        for access in batch {
            self.access(access, hits, moves);
        }
        moves.end_run(sources.number(source), begin, self.clock);
    }

    #[inline(always)]
    fn access(&mut self, access: &Access, hits: &mut Hits, moves: &mut OfGrid) {
        let begin = self.clock;
        self.clock += access.kind.accesses();
        match self.grid.only(access.addr.0, access.width) {
            Some(key) => self.touch(key, begin, access, hits, moves),
            None => self.several(begin, access, hits, moves),
        }
    }

    #[cold]
    #[inline(never)]
    fn several(&mut self, begin: u64, access: &Access, hits: &mut Hits, moves: &mut OfGrid) {
        self.grid.each(access.addr.0, access.width, |key| self.touch(key, begin, access, hits, moves));
    }

    #[inline(always)]
    fn touch(&mut self, key: Key, begin: u64, access: &Access, hits: &mut Hits, moves: &mut OfGrid) {
        let slot = self.index[hash(key)].slot as usize % DEPTH;
        if self.keys[slot] == key {
            self.hit(slot, begin, access, hits);
        } else {
            self.look_further(key, begin, access, hits, moves);
        }
    }

    #[inline(always)]
    fn hit(&mut self, slot: usize, begin: u64, access: &Access, hits: &mut Hits) {
        let (last, writes) = (&mut self.lasts[slot], access.kind.writes());
        let (time, column) = (begin - last.end, Column::new(last.wrote, writes, false));
        let wrote_since = last.wrote_since | writes;
        *last = LastHere { end: self.clock, ip: access.ip, wrote: writes, wrote_since };
        let rank = self.ranks[slot];
        self.raise(slot, rank);
        hits.add(rank, time, column);
    }

    /// The place in this slot, which has this rank, becomes the most recent one.
    #[inline(always)]
    fn raise(&mut self, slot: usize, rank: u8) {
        // All at once, in vector registers.
        let slot = slot as u8;
        for (other, its) in (0u8..).zip(&mut self.ranks) {
            let raised = *its + u8::from(*its < rank);
            *its = if other == slot { 0 } else { raised };
        }
    }

    /// Another place of the same hash was looked up last, or the place is not here.
    #[inline(never)]
    fn look_further(&mut self, key: Key, begin: u64, access: &Access, hits: &mut Hits, moves: &mut OfGrid) {
        let of_hash = &mut self.index[hash(key)];
        if of_hash.places > 0
            && let Some(slot) = self.keys.iter().position(|other| *other == key)
        {
            of_hash.slot = slot as u8;
            return self.hit(slot, begin, access, hits);
        }
        self.enter(key, begin, access, moves);
    }

    /// The place comes from the stacks.
    #[inline(always)]
    fn enter(&mut self, key: Key, begin: u64, access: &Access, moves: &mut OfGrid) {
        let Access { ip, addr, kind, .. } = *access;
        let last = LastHere { end: self.clock, ip, wrote: kind.writes(), wrote_since: false };
        let slot = if self.count < self.capacity { self.count } else { self.make_room(moves) };
        moves.enter(Enter { key, begin, ip, addr, writes: kind.writes(), above: self.count as u32 });
        if self.capacity == 0 {
            return moves.leave(last.leave(key));
        }
        self.raise(slot, self.count as u8);
        self.count += 1;
        (self.keys[slot], self.lasts[slot]) = (key, last);
        let of_hash = &mut self.index[hash(key)];
        *of_hash = OfHash { slot: slot as u8, places: of_hash.places + 1 };
    }

    /// The least recent place, if there is one, goes to the stacks. Returns its slot.
    #[inline(always)]
    fn make_room(&mut self, moves: &mut OfGrid) -> usize {
        let Some(rest) = self.count.checked_sub(1) else { return 0 };
        let rank = rest as u8;
        let slots = (0u8..).zip(&self.ranks).map(|(slot, its)| if *its == rank { slot } else { 0 });
        let slot = usize::from(slots.max().unwrap_or(0)) % DEPTH;
        let key = std::mem::replace(&mut self.keys[slot], VACANT);
        moves.leave(self.lasts[slot].leave(key));
        self.index[hash(key)].places -= 1;
        self.count = rest;
        slot
    }

    /// All places go to the stacks, the least recent one first.
    #[inline(never)]
    pub fn empty(&mut self, sources: &mut Sources, moves: &mut OfGrid) {
        let Some(source) = self.source.take() else { return };
        while self.count > 0 {
            self.make_room(moves);
        }
        self.ranks = IN_A_ROW;
        moves.end_run(sources.number(source), self.clock, self.clock);
    }
}

impl LastHere {
    #[inline(always)]
    fn leave(self, key: Key) -> Leave {
        let Self { end, ip, wrote, wrote_since } = self;
        Leave { key, end, ip, wrote, wrote_since }
    }
}

#[inline(always)]
fn hash(key: Key) -> usize {
    (product(key) >> (u64::BITS - INDEX_BITS)) as usize % (1 << INDEX_BITS)
}

#[cfg(test)]
mod tests {
    use carom_base::{AccessKind, Addr, Domain, ThreadId};
    use proptest::prelude::*;

    use super::*;
    use crate::exact::moves::Move;

    proptest! {
        /// Compares with a list that is searched and shifted: what enters and leaves, and in between the list's order, which
        /// emptying tells. Of 2,000 places some have equal hashes.
        #[test]
        fn keeps_the_order_of_a_list(
            capacity in prop::sample::select(vec![0, 1, 7, 32, 64]),
            touches in prop::collection::vec(prop_oneof![8 => 0..40u64, 1 => 0..2000u64], 1..600),
        ) {
            let mut top = Top::new(Grid::new(64), capacity);
            let capacity = (capacity as usize).min(DEPTH);
            let (mut hits, mut moves, mut sources) = (Hits::NONE, OfGrid::default(), Sources::default());
            let (mut list, mut wanted) = (Vec::new(), Vec::new());
            for (time, place) in touches.into_iter().enumerate() {
                let access = Access { ip: Ip(time as u64), addr: Addr(place * 64), width: 8, kind: AccessKind::Load };
                top.accesses((ThreadId(3), Domain(0)), &[access], &mut hits, (&mut sources, &mut moves));
                if let Some(at) = list.iter().position(|&(other, _)| other == place) {
                    list.remove(at);
                } else {
                    if list.len() == capacity && capacity > 0 {
                        wanted.push((list.remove(0), true));
                    }
                    wanted.push(((place, time), false));
                }
                list.push((place, time));
                if capacity == 0 {
                    wanted.push((list.remove(0), true));
                }
            }
            wanted.extend(list.into_iter().map(|last| (last, true)));
            top.empty(&mut sources, &mut moves);
            let found = moves.runs().flat_map(|(_, moves)| moves).map(|one| match one {
                Move::Enter(enter) => ((enter.key, enter.ip.0 as usize), false),
                Move::Leave(leave) => ((leave.key, leave.ip.0 as usize), true),
            });
            prop_assert_eq!(found.collect::<Vec<_>>(), wanted);
        }
    }
}
