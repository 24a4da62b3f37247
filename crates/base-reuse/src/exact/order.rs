//! The order of last accesses: which of them are how much later than a given one.

/// Slots to a word.
const WORD: usize = u64::BITS as usize;

/// Words of a lowest node: their counts fill a cache line.
const FINE: usize = 32;

/// Children of a node above: their counts fill a cache line.
const COARSE: usize = 16;

/// Slots for each place: the more, the rarer everything is renumbered.
const SLOTS_PER_PLACE: usize = 8;

/// For each child of a lowest node, a one for every later sibling.
static LATER_FINE: [[u16; FINE]; FINE] = {
    let mut rows = [[0; FINE]; FINE];
    let mut pair = 0;
    while pair < FINE * FINE {
        let (child, sibling) = (pair / FINE, pair % FINE);
        rows[child][sibling] = (sibling > child) as u16;
        pair += 1;
    }
    rows
};

/// The same for the nodes above.
static LATER_COARSE: [[u32; COARSE]; COARSE] = {
    let mut rows = [[0; COARSE]; COARSE];
    let mut pair = 0;
    while pair < COARSE * COARSE {
        let (child, sibling) = (pair / COARSE, pair % COARSE);
        rows[child][sibling] = (sibling > child) as u32;
        pair += 1;
    }
    rows
};

/// The least number of slots.
const FEWEST_SLOTS: usize = FINE * WORD;

/// One past the largest slot.
pub(super) const SLOT_LIMIT: usize = 1 << 30;

/// A sequence of slots, taken in order of time, of which some are *live*: some place's last access.
///
/// A bit per slot, and above it a tree in which each node has, for each of its children, how many live slots lie in
/// the children before. So the count below a slot is one load per level and one count of bits, and taking a slot away
/// is a subtraction from all later siblings, level by level, which compilers turn into vector instructions. Appending
/// costs nothing but at the beginning of a word, as nothing lies behind. (Bennett and Kruskal's tree of partial sums,
/// 1975, with wide nodes and their prefix sums in place.)
#[derive(Debug)]
pub(super) struct Order {
    words: Vec<u64>,
    /// For each word, the live slots in the words before it under the same node.
    fine: Vec<[u16; FINE]>,
    /// The levels above, the lowest first; the last has one node.
    coarse: Vec<Vec<[u32; COARSE]>>,
    /// The next slot to be taken.
    next: usize,
    live: u32,
}

impl Order {
    /// The first `places` slots are live, and there is room for more.
    pub fn new(places: usize) -> Self {
        let slots = places.saturating_mul(SLOTS_PER_PLACE).clamp(FEWEST_SLOTS, SLOT_LIMIT);
        let words = slots.div_ceil(WORD);
        let mut nodes = words.div_ceil(FINE);
        let fine = vec![[0; FINE]; nodes];
        let mut coarse = Vec::new();
        while nodes > 1 {
            nodes = nodes.div_ceil(COARSE);
            coarse.push(vec![[0; COARSE]; nodes]);
        }
        let mut order = Self { words: vec![0; words], fine, coarse, next: 0, live: 0 };
        for word in 0..places.min(slots).div_ceil(WORD) {
            order.open(word);
            let bits = (places - word * WORD).min(WORD);
            order.words[word] = u64::MAX >> (WORD - bits);
            order.live += bits as u32;
        }
        order.next = places.min(slots);
        order
    }

    /// How many slots are live.
    pub fn live(&self) -> u64 {
        self.live.into()
    }

    /// The slot of the newest access, now live. `None` where all have been used: it is time to renumber.
    #[inline]
    pub fn push(&mut self) -> Option<u32> {
        let slot = self.next;
        if slot.is_multiple_of(WORD) {
            if slot / WORD == self.words.len() {
                return None;
            }
            self.open(slot / WORD);
        }
        self.words[slot / WORD] |= 1 << (slot % WORD);
        self.next += 1;
        self.live += 1;
        Some(slot as u32)
    }

    /// How many live slots are before this one.
    pub fn older(&self, slot: u32) -> u32 {
        let word = slot as usize / WORD;
        let earlier_bits = self.words[word] & ((1 << (slot as usize % WORD)) - 1);
        let mut older = earlier_bits.count_ones() + u32::from(self.fine[word / FINE][word % FINE]);
        let mut child = word / FINE;
        for level in &self.coarse {
            older += level[child / COARSE][child % COARSE];
            child /= COARSE;
        }
        older
    }

    /// Makes a live slot dead; returns how many live ones are after it.
    #[inline(always)]
    pub fn take(&mut self, slot: u32) -> u64 {
        let word = slot as usize / WORD;
        let bit = 1 << (slot as usize % WORD);
        let bits = &mut self.words[word];
        let mut older = (*bits & (bit - 1)).count_ones();
        *bits &= !bit;
        // What lies in nodes that are not open yet is overwritten when they are.
        let siblings = &mut self.fine[word / FINE];
        older += u32::from(siblings[word % FINE]);
        *siblings = without(*siblings, &LATER_FINE[word % FINE], u16::wrapping_sub);
        let mut child = word / FINE;
        for level in &mut self.coarse {
            let siblings = &mut level[child / COARSE];
            older += siblings[child % COARSE];
            *siblings = without(*siblings, &LATER_COARSE[child % COARSE], u32::wrapping_sub);
            child /= COARSE;
        }
        self.live -= 1;
        (self.live - older).into()
    }

    /// Prepares the next word, and each node that begins with it.
    fn open(&mut self, word: usize) {
        let mut before = 0;
        for (height, level) in self.coarse.iter_mut().enumerate().rev() {
            let child_bits = FINE.ilog2() + COARSE.ilog2() * height as u32;
            let child = word >> child_bits;
            let entry = &mut level[child / COARSE][child % COARSE];
            if word == child << child_bits {
                *entry = self.live - before;
            }
            before += *entry;
        }
        self.fine[word / FINE][word % FINE] = (self.live - before) as u16;
    }
}

/// Element by element. By value, for compilers to see that vector instructions may be used.
#[inline(always)]
fn without<T: Copy, const N: usize>(mut row: [T; N], other: &[T; N], sub: impl Fn(T, T) -> T) -> [T; N] {
    for (one, other) in row.iter_mut().zip(other) {
        *one = sub(*one, *other);
    }
    row
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
        // 5000 * 8 slots, rounded up to words.
        assert_eq!(last, Some(40_000 - 1));
        assert_eq!(order.live(), u64::from(live));
        assert_eq!(order.take(4999), u64::from(live) - 5000);
    }
}
