//! The order of last accesses: how many of them are later than a given one.

/// Slots to a word.
const WORD: usize = u64::BITS as usize;

/// Words of a lowest node: their counts, one byte each, fill a register.
const FINE: usize = 8;

/// Slots of a lowest node.
const NODE: usize = FINE * WORD;

/// Children of a node above: their counts fill a few vector registers.
const FAN: usize = 16;

/// Slots for each place: with more of them, renumbering is rarer.
const SLOTS_PER_PLACE: usize = 16;

/// The least number of slots.
const FEWEST_SLOTS: usize = FAN * NODE;

/// One past the largest slot.
pub(super) const SLOT_LIMIT: usize = 1 << 30;

/// A bit for each slot, and the count of each word, the first in the lowest byte.
#[derive(Clone, Copy, Debug)]
struct Fine {
    words: [u64; FINE],
    counts: u64,
}

/// For each child of an inner node, how many live slots are in the children before it: 16 numbers of a part of a word
/// each, the first in the lowest bits. Never across cache lines.
///
/// These are sums, not counts: reading loads one word, and removing a slot subtracts from all at once. Adding up
/// counts would need loads of a whole node right after a store to a part of it, which would wait for the store to
/// reach the cache.
///
/// Numbers of later children have no meaning after a subtraction, and may borrow from those further on: they are
/// [set](Self::set) before they are read.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Sums<const WORDS: usize>([u64; WORDS]);

/// Sums over nodes of `Fine`: fewer than 2^16 slots.
type Middle = Sums<4>;

/// Higher levels: fewer than 2^32.
type Coarse = Sums<8>;

impl Fine {
    const EMPTY: Self = Self { words: [0; FINE], counts: 0 };

    /// Live slots before this one.
    #[inline(always)]
    fn before(&self, slot: usize) -> u32 {
        const EVEN: u64 = 0x00FF_00FF_00FF_00FF;
        const ALL: u64 = 0x0001_0001_0001_0001;
        let word = slot / WORD % FINE;
        let bits = self.words[word] & ((1 << (slot % WORD)) - 1);
        let counts = self.counts & ((1 << (word * 8)) - 1);
        // Their sum is at most seven times 64, which is more than a byte holds.
        let pairs = (counts & EVEN) + (counts >> 8 & EVEN);
        bits.count_ones() + (pairs.wrapping_mul(ALL) >> 48) as u32
    }

    #[inline(always)]
    fn take(&mut self, slot: usize) {
        let word = slot / WORD % FINE;
        self.words[word] &= !(1 << (slot % WORD));
        self.counts -= 1 << (word * 8);
    }
}

impl<const WORDS: usize> Sums<WORDS> {
    const EMPTY: Self = Self([0; WORDS]);

    /// Numbers per word.
    const LANES: usize = FAN / WORDS;

    const BITS: usize = WORD / Self::LANES;

    const MASK: u64 = u64::MAX >> (WORD - Self::BITS);

    /// For each child, a one for all of its later siblings.
    const LATER: [[u64; WORDS]; FAN] = {
        let mut rows = [[0; WORDS]; FAN];
        let mut pair = 0;
        while pair < FAN * FAN {
            let (child, sibling) = (pair / FAN, pair % FAN);
            if sibling > child {
                rows[child][sibling / Self::LANES] |= 1 << (sibling % Self::LANES * Self::BITS);
            }
            pair += 1;
        }
        rows
    };

    #[inline(always)]
    fn before(&self, child: usize) -> u32 {
        (self.0[child / Self::LANES] >> (child % Self::LANES * Self::BITS) & Self::MASK) as u32
    }

    /// A slot of this child is no longer live.
    #[inline(always)]
    fn take(&mut self, child: usize) {
        let later = &Self::LATER[child % FAN];
        self.0 = std::array::from_fn(|word| self.0[word].wrapping_sub(later[word]));
    }

    /// The child is the next one, after `before` live slots.
    fn set(&mut self, child: usize, before: u32) {
        let (word, shift) = (&mut self.0[child / Self::LANES], child % Self::LANES * Self::BITS);
        *word = *word & !(Self::MASK << shift) | u64::from(before) << shift;
    }
}

/// A sequence of slots, used in order of time, of which some are *live*: the last access of some place.
///
/// A bit per slot, and above it a tree whose nodes have, for each of their children, the number of live slots in its
/// earlier siblings. (Bennett and Kruskal's tree of partial sums, 1975, with wide nodes.) The node at the end, where
/// most slots are used and removed, needs nothing from the levels above: everything later than one of its slots is in
/// it.
#[derive(Clone, Debug)]
pub(super) struct Order {
    fine: Vec<Fine>,
    /// Sums of the nodes of `fine`.
    middle: Vec<Middle>,
    /// The levels above, the lowest first; the last has one node.
    coarse: Vec<Vec<Coarse>>,
    /// The next slot to use.
    next: usize,
    /// The node of the last slot that was used.
    node: usize,
    /// Live slots before that node. Narrower than the next field, so that no compiler changes both by one
    /// instruction, which would have to wait for a change of one of them.
    earlier: usize,
    live: u32,
}

impl Order {
    /// The first `live` slots are live; there is room for a number of accesses in proportion to `places`.
    pub fn new(live: usize, places: usize) -> Self {
        let slots = places.max(live).saturating_mul(SLOTS_PER_PLACE).clamp(FEWEST_SLOTS, SLOT_LIMIT);
        let fine = vec![Fine::EMPTY; slots.div_ceil(NODE)];
        let middle = vec![Middle::EMPTY; fine.len().div_ceil(FAN)];
        let mut coarse = Vec::new();
        let mut nodes = middle.len();
        while nodes > 1 {
            nodes = nodes.div_ceil(FAN);
            coarse.push(vec![Coarse::EMPTY; nodes]);
        }
        let mut order = Self { fine, middle, coarse, next: 0, node: 0, earlier: 0, live: 0 };
        for first in (0..live.min(slots)).step_by(WORD) {
            let count = (live - first).min(WORD);
            order.open(first);
            order.fine[first / NODE].words[first / WORD % FINE] = u64::MAX >> (WORD - count);
            order.advance(count);
        }
        order
    }

    #[inline(always)]
    fn advance(&mut self, count: usize) {
        self.next += count;
        self.live += count as u32;
    }

    /// How many slots are live.
    pub fn live(&self) -> usize {
        self.live as usize
    }

    /// The slot of the newest access, now live. `None` where all have been used: then it is time to renumber.
    #[inline(always)]
    pub fn push(&mut self) -> Option<u32> {
        let slot = self.next;
        if slot.is_multiple_of(WORD) {
            if slot == self.fine.len() * NODE {
                return None;
            }
            self.open(slot);
        }
        self.fine[self.node].words[slot / WORD % FINE] |= 1 << (slot % WORD);
        self.advance(1);
        Some(slot as u32)
    }

    /// How many live slots are before this one.
    pub fn older(&self, slot: u32) -> u32 {
        let slot = slot as usize;
        let mut child = slot / NODE;
        let mut older = self.fine[child].before(slot) + self.middle[child / FAN].before(child % FAN);
        for level in &self.coarse {
            child /= FAN;
            older += level[child / FAN].before(child % FAN);
        }
        older
    }

    /// Makes a live slot dead; returns how many live ones are after it.
    #[inline(always)]
    pub fn take(&mut self, slot: u32) -> u64 {
        let slot = slot as usize;
        let node = slot / NODE;
        let fine = &mut self.fine[node];
        let older = fine.before(slot);
        fine.take(slot);
        self.live -= 1;
        let earlier = if node == self.node { self.earlier as u32 } else { self.take_above(node) };
        (self.live - earlier - older).into()
    }

    /// Removes a slot of an earlier node from the sums; returns how many live ones are in the nodes before it.
    #[inline(always)]
    fn take_above(&mut self, node: usize) -> u32 {
        self.earlier -= 1;
        let mut child = node;
        let middle = &mut self.middle[child / FAN];
        let mut older = middle.before(child % FAN);
        middle.take(child % FAN);
        for level in &mut self.coarse {
            child /= FAN;
            let coarse = &mut level[child / FAN];
            older += coarse.before(child % FAN);
            coarse.take(child % FAN);
        }
        older
    }

    /// Loads into the cache what removing this slot will need. The result has no meaning.
    #[inline(always)]
    pub fn touch_ahead(&self, slot: u32) -> u64 {
        self.fine.get(slot as usize / NODE).map_or(0, |fine| fine.counts)
    }

    /// Prepares the word that begins with this slot. All its slots count as live from now on: the unused ones are
    /// before no other slot.
    #[cold]
    #[inline(never)]
    fn open(&mut self, slot: usize) {
        let node = slot / NODE;
        if node != self.node {
            self.open_node(node);
        }
        self.fine[node].counts += (WORD as u64) << (slot / WORD % FINE * 8);
    }

    /// The next slots are in this node: the sums of what is before it are known.
    fn open_node(&mut self, node: usize) {
        // Live slots in earlier siblings of its parents, and so on, as far as they are needed.
        let mut earlier = self.live - self.earlier as u32;
        (self.node, self.earlier) = (node, self.live as usize);
        let (mut parent, mut child) = (node / FAN, node % FAN);
        if let Some(before) = child.checked_sub(1) {
            let sums = &mut self.middle[parent];
            return sums.set(child, sums.before(before) + earlier);
        }
        earlier += self.middle[parent - 1].before(FAN - 1);
        for level in &mut self.coarse {
            (parent, child) = (parent / FAN, parent % FAN);
            if let Some(before) = child.checked_sub(1) {
                let sums = &mut level[parent];
                return sums.set(child, sums.before(before) + earlier);
            }
            earlier += level[parent - 1].before(FAN - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Slots in order of time, dead ones as `false`.
    #[derive(Default)]
    struct Plain(Vec<bool>);

    impl Plain {
        fn count(&self, from: usize, to: usize) -> u64 {
            self.0[from..to].iter().filter(|live| **live).count() as u64
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]

        /// Some slots live from the start, then pushes, up to some hundred at once, and removals; the larger ones
        /// need four levels, and many pushes several nodes of 512 slots.
        #[test]
        fn counts_as_a_plain_list_does(
            places in prop_oneof![0..600usize, 16_000..20_000usize],
            steps in prop::collection::vec((any::<prop::sample::Index>(), 0..3u8, 1..99usize), 1..400),
        ) {
            let mut order = Order::new(places, 20_000);
            let mut plain = Plain(vec![true; places]);
            for (index, action, pushes) in steps {
                let slot = (action > 0 && !plain.0.is_empty()).then(|| index.index(plain.0.len()));
                match slot.filter(|slot| plain.0[*slot]) {
                    Some(slot) => {
                        prop_assert_eq!(u64::from(order.older(slot as u32)), plain.count(0, slot));
                        prop_assert_eq!(order.take(slot as u32), plain.count(slot + 1, plain.0.len()));
                        plain.0[slot] = false;
                    }
                    None => for _ in 0..pushes {
                        prop_assert_eq!(order.push(), Some(plain.0.len() as u32));
                        plain.0.push(true);
                    },
                }
                prop_assert_eq!(order.live() as u64, plain.count(0, plain.0.len()));
            }
        }
    }

    /// Removals after the last open word must not affect words that are opened later, and those in earlier nodes must
    /// not affect later nodes. Fills all slots, removing every third as soon as it is used, and the first ones that
    /// were live.
    #[test]
    fn fills_up() {
        let mut order = Order::new(5000, 5000);
        let (mut live, mut first) = (5000, 0);
        let mut last = None;
        while let Some(slot) = order.push() {
            live += 1;
            last = Some(slot);
            if slot % 3 == 0 {
                assert_eq!(order.older(slot), live - 1);
                assert_eq!(order.take(slot), 0);
                live -= 1;
            }
            if slot % 17 == 0 && first < 4000 {
                assert_eq!(order.older(first), 0);
                assert_eq!(order.take(first), u64::from(live) - 1);
                (live, first) = (live - 1, first + 1);
            }
        }
        // 5000 * 16 slots, rounded up to nodes of 512.
        assert_eq!(last, Some(157 * 512 - 1));
        assert_eq!(order.live(), live as usize);
        // Of the first 5000 those from 4000 on are live.
        assert_eq!((first, order.older(4999)), (4000, 999));
        assert_eq!(order.take(4999), u64::from(live) - 1000);
    }
}
