//! The order of last accesses: which of them are how much later than a given one.

/// Slots to a word.
const WORD: usize = u64::BITS as usize;

/// Words of a lowest node: their counts, a byte each, fill a register.
const FINE: usize = 8;

/// Slots of a lowest node.
const NODE: usize = FINE * WORD;

/// Children of a node above: their counts fill a few vector registers.
const FAN: usize = 16;

/// Slots for each place: the more, the rarer everything is renumbered.
const SLOTS_PER_PLACE: usize = 8;

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

/// Counts of a node above, which never lie across cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Middle([u16; FAN]);

/// Counts of a node further up.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Coarse([u32; FAN]);

/// For each child, all bits of its earlier siblings.
static EARLIER: ([Middle; FAN], [Coarse; FAN]) = {
    let mut rows = ([Middle([0; FAN]); FAN], [Coarse([0; FAN]); FAN]);
    let mut pair = 0;
    while pair < FAN * FAN {
        let (child, sibling) = (pair / FAN, pair % FAN);
        if sibling < child {
            rows.0[child].0[sibling] = u16::MAX;
            rows.1[child].0[sibling] = u32::MAX;
        }
        pair += 1;
    }
    rows
};

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
        // Their sum is seven times 64 at most, which is more than a byte holds.
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

impl Middle {
    /// Live slots in the children before this one: fewer than 2^16.
    #[inline(always)]
    fn before(&self, child: usize) -> u32 {
        let earlier = &EARLIER.0[child].0;
        (0..FAN).map(|nth| self.0[nth] & earlier[nth]).fold(0, u16::wrapping_add).into()
    }
}

impl Coarse {
    /// Live slots in the children before this one.
    #[inline(always)]
    fn before(&self, child: usize) -> u32 {
        let earlier = &EARLIER.1[child].0;
        (0..FAN).map(|nth| self.0[nth] & earlier[nth]).fold(0, u32::wrapping_add)
    }
}

/// A sequence of slots, taken in order of time, of which some are *live*: some place's last access.
///
/// A bit per slot, and above it a tree whose nodes have the number of live slots of each of their children. So taking a
/// slot away is a subtraction per level, and counting those before it adds up siblings in a register or a few vector
/// registers per level. (Bennett and Kruskal's tree of partial sums, 1975, with wide nodes.)
///
/// All slots of a word count as live from when the first one is taken: those to come are before no other.
#[derive(Clone, Debug)]
pub(super) struct Order {
    fine: Vec<Fine>,
    /// Live slots of each node of `fine`.
    middle: Vec<Middle>,
    /// The levels above, the lowest first; the last has one node.
    coarse: Vec<Vec<Coarse>>,
    /// The next slot to be taken.
    next: usize,
    live: u32,
}

impl Order {
    /// The first `places` slots are live, and there is room for more.
    pub fn new(places: usize) -> Self {
        let slots = places.saturating_mul(SLOTS_PER_PLACE).clamp(FEWEST_SLOTS, SLOT_LIMIT);
        let fine = vec![Fine::EMPTY; slots.div_ceil(NODE)];
        let middle = vec![Middle([0; FAN]); fine.len().div_ceil(FAN)];
        let mut coarse = Vec::new();
        let mut nodes = middle.len();
        while nodes > 1 {
            nodes = nodes.div_ceil(FAN);
            coarse.push(vec![Coarse([0; FAN]); nodes]);
        }
        let next = places.min(slots);
        let mut order = Self { fine, middle, coarse, next, live: next as u32 };
        for first in (0..next).step_by(WORD) {
            order.open(first);
            order.fine[first / NODE].words[first / WORD % FINE] =
                u64::MAX >> (WORD - (next - first).min(WORD));
        }
        order
    }

    /// How many slots are live.
    pub fn live(&self) -> u64 {
        self.live.into()
    }

    /// The slot of the newest access, now live. `None` where all have been used: it is time to renumber.
    #[inline(always)]
    pub fn push(&mut self) -> Option<u32> {
        let slot = self.next;
        if slot.is_multiple_of(WORD) {
            if slot / NODE == self.fine.len() {
                return None;
            }
            self.open(slot);
        }
        self.fine[slot / NODE].words[slot / WORD % FINE] |= 1 << (slot % WORD);
        self.next += 1;
        self.live += 1;
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
        let mut child = slot / NODE;
        let fine = &mut self.fine[child];
        let mut older = fine.before(slot);
        fine.take(slot);
        let middle = &mut self.middle[child / FAN];
        older += middle.before(child % FAN);
        middle.0[child % FAN] -= 1;
        for level in &mut self.coarse {
            child /= FAN;
            let coarse = &mut level[child / FAN];
            older += coarse.before(child % FAN);
            coarse.0[child % FAN] -= 1;
        }
        self.live -= 1;
        (self.live - older).into()
    }

    /// Brings near what taking this slot will need. The result means nothing.
    #[inline(always)]
    pub fn touch_ahead(&self, slot: u32) -> u64 {
        self.fine.get(slot as usize / NODE).map_or(0, |fine| fine.counts)
    }

    /// Prepares the word that begins with this slot.
    #[cold]
    #[inline(never)]
    fn open(&mut self, slot: usize) {
        let mut child = slot / NODE;
        self.fine[child].counts += (WORD as u64) << (slot / WORD % FINE * 8);
        self.middle[child / FAN].0[child % FAN] += WORD as u16;
        for level in &mut self.coarse {
            child /= FAN;
            level[child / FAN].0[child % FAN] += WORD as u32;
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

        /// Some slots live from the start, then pushes and takes; the larger ones need four levels.
        #[test]
        fn counts_as_a_plain_list_does(
            places in prop_oneof![0..300usize, 32_000..36_000usize],
            steps in prop::collection::vec((any::<prop::sample::Index>(), 0..3u8), 1..400),
        ) {
            let mut order = Order::new(places);
            let mut plain = Plain(vec![true; places]);
            for (index, action) in steps {
                let slot = (action > 0 && !plain.0.is_empty()).then(|| index.index(plain.0.len()));
                match slot.filter(|slot| plain.0[*slot]) {
                    Some(slot) => {
                        prop_assert_eq!(u64::from(order.older(slot as u32)), plain.count(0, slot));
                        prop_assert_eq!(order.take(slot as u32), plain.count(slot + 1, plain.0.len()));
                        plain.0[slot] = false;
                    }
                    None => {
                        prop_assert_eq!(order.push(), Some(plain.0.len() as u32));
                        plain.0.push(true);
                    }
                }
                prop_assert_eq!(order.live(), plain.count(0, plain.0.len()));
            }
        }
    }

    /// Takes behind the last open word must not disturb the words that are opened later: fills all slots, taking every
    /// third as soon as it is there.
    #[test]
    fn fills_up() {
        let mut order = Order::new(5000);
        let mut live = 5000;
        let mut last = None;
        while let Some(slot) = order.push() {
            live += 1;
            last = Some(slot);
            if slot % 3 == 0 {
                assert_eq!(order.older(slot), live - 1);
                assert_eq!(order.take(slot), 0);
                live -= 1;
            }
        }
        // 5000 * 8 slots, rounded up to nodes of 512.
        assert_eq!(last, Some(79 * 512 - 1));
        assert_eq!(order.live(), u64::from(live));
        assert_eq!(order.take(4999), u64::from(live) - 5000);
    }
}
