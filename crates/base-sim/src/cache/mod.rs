//! One cache: which lines it has, and which of them makes room.

mod front;
mod held;
mod replacement;

pub use front::Front;
pub use held::{Copied, Held, HeldCache};
pub use replacement::Order;

use crate::machine::{Level, Machine};

/// No line: the highest line would need an address beyond 64 bits.
pub const EMPTY: u64 = u64::MAX;

/// A place in a cache: its set's number times the ways, plus the way.
pub type Slot = usize;

/// The lines of a set-associative cache. What is known of each line is kept by the owner, in arrays by slot.
#[derive(Debug)]
pub struct Cache {
    sets: Sets,
    ways: usize,
    /// By slot.
    lines: Vec<u64>,
    order: Order,
}

/// The set of a line is its number modulo the number of sets.
#[derive(Clone, Copy, Debug)]
enum Sets {
    PowerOfTwo { mask: u64 },
    Any { sets: u64 },
}

impl Cache {
    /// An empty cache; `number` tells caches with random replacement apart.
    pub fn new(machine: &Machine, level: &Level, number: u64) -> Self {
        let sets = machine.sets(level);
        let (count, ways) = (sets as usize, level.ways as usize);
        Self {
            sets: if sets.is_power_of_two() {
                Sets::PowerOfTwo { mask: sets - 1 }
            } else {
                Sets::Any { sets }
            },
            ways,
            lines: vec![EMPTY; count * ways],
            order: Order::new(level.replacement, count, ways, machine.seed.wrapping_add(number << 32)),
        }
    }

    /// How many lines fit.
    pub fn slots(&self) -> usize {
        self.lines.len()
    }

    /// The line's slot.
    #[inline]
    pub fn find(&self, line: u64) -> Option<Slot> {
        let first = self.set(line) * self.ways;
        let lines = &self.lines[first..first + self.ways];
        // Eight at once, without a branch for each.
        let mut way = 0;
        let (eights, rest) = lines.as_chunks::<8>();
        for eight in eights {
            let equal = eight
                .iter()
                .enumerate()
                .fold(0u32, |equal, (at, &other)| equal | u32::from(other == line) << at);
            if equal != 0 {
                return Some(first + way + equal.trailing_zeros() as usize);
            }
            way += 8;
        }
        rest.iter().position(|&other| other == line).map(|at| first + way + at)
    }

    /// The line of a slot that [`Cache::find`] or [`Cache::insert`] gave.
    pub fn line(&self, slot: Slot) -> u64 {
        self.lines[slot]
    }

    /// Whether the slot has this line.
    #[inline]
    pub fn has_at(&self, slot: Slot, line: u64) -> bool {
        self.lines.get(slot) == Some(&line)
    }

    /// The line is used, which is in this slot.
    #[inline]
    pub fn used(&mut self, line: u64, slot: Slot) {
        let set = self.set(line);
        self.order.used(set, slot - set * self.ways, slot);
    }

    /// The lines by slot, the ways, and the order in which lines make room.
    #[inline]
    pub fn parts(&mut self) -> (&[u64], usize, &mut Order) {
        (&self.lines, self.ways, &mut self.order)
    }

    /// The slot for a line that the cache lacks: the lowest empty one of the set, or else that of the line which has
    /// to make room, which is still in it.
    pub fn room(&mut self, line: u64) -> Slot {
        let set = self.set(line);
        let first = set * self.ways;
        let is_empty = |way: usize| self.lines[first + way] == EMPTY;
        first + self.order.victim(set, self.ways, is_empty)
    }

    /// Puts a line into a slot from [`Cache::room`], and uses it.
    pub fn put(&mut self, slot: Slot, line: u64) {
        self.lines[slot] = line;
        self.used(line, slot);
    }

    /// Empties a slot.
    pub fn remove(&mut self, slot: Slot) {
        self.lines[slot] = EMPTY;
        self.order.removed(slot);
    }

    #[inline]
    fn set(&self, line: u64) -> usize {
        match self.sets {
            Sets::PowerOfTwo { mask } => (line & mask) as usize,
            Sets::Any { sets } => (line % sets) as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Replacement;

    /// A cache of one set of four ways that has lines a, b, c and d, used in this order.
    fn full(replacement: Replacement) -> Cache {
        let machine = Machine::parse("cores_per_socket = 1\nl1 = {size = 256, ways = 4}").unwrap();
        let mut cache = Cache::new(&machine, &Level { replacement, ..machine.l1 }, 0);
        for line in 10..14 {
            let slot = cache.room(line);
            assert_eq!(cache.line(slot), EMPTY);
            cache.put(slot, line);
        }
        cache
    }

    #[test]
    fn the_least_recently_used_line_makes_room() {
        let mut cache = full(Replacement::Lru);
        //                       a b c d
        cache.used(10, 0); //        b c d a
        cache.used(12, 2); //        b d a c
        assert_eq!(cache.room(20), 1);
        cache.put(1, 20); //       d a c 20
        assert_eq!(cache.room(21), 3);
        assert_eq!((cache.find(20), cache.find(12), cache.find(11)), (Some(1), Some(2), None));
    }

    #[test]
    fn the_tree_leads_away_from_what_was_used() {
        let mut cache = full(Replacement::Plru);
        // Used last: d, in the right half, so room is in the left one; there b, so a makes room.
        assert_eq!(cache.room(20), 0);
        cache.used(10, 0);
        // The left half was used last; in the right one d.
        assert_eq!(cache.room(20), 2);
    }

    #[test]
    fn an_empty_slot_is_taken_first() {
        for replacement in [Replacement::Lru, Replacement::Plru, Replacement::Random] {
            let mut cache = full(replacement);
            cache.remove(2);
            assert_eq!((cache.room(20), cache.find(12)), (2, None), "{replacement:?}");
        }
    }

    #[test]
    fn random_replacement_takes_each_way_sometimes() {
        let mut cache = full(Replacement::Random);
        let mut taken = [0; 4];
        for line in 100..500 {
            let slot = cache.room(line);
            taken[slot] += 1;
            cache.put(slot, line);
        }
        // 100 expected of each; a binomial of 400 and 1/4 has a standard deviation below 9.
        assert!(taken.iter().all(|count| (50..150).contains(count)), "{taken:?}");
    }
}
