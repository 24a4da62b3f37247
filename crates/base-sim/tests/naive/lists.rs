//! Sets as lists.

use carom_base_sim::{Level, Machine, Replacement};

/// The sets of a cache.
#[derive(Clone, Debug)]
pub struct Lists {
    replacement: Replacement,
    sets: Vec<Set>,
}

#[derive(Clone, Debug)]
struct Set {
    ways: Vec<Option<u64>>,
    /// Ways, the least recently used one first.
    uses: Vec<usize>,
    /// For each node of the tree, by its range of ways: whether the upper half was used last.
    upper_last: std::collections::BTreeMap<(usize, usize), bool>,
    random: u32,
}

impl Lists {
    pub fn new(machine: &Machine, level: Level, number: usize) -> Self {
        let set = |set: u64| Set {
            ways: vec![None; level.ways as usize],
            uses: (0..level.ways as usize).collect(),
            upper_last: Default::default(),
            random: first_random(machine.seed.wrapping_add((number as u64) << 32).wrapping_add(set)),
        };
        let sets = level.bytes / u64::from(level.ways) / u64::from(machine.line_bytes);
        Self { replacement: level.replacement, sets: (0..sets).map(set).collect() }
    }

    fn set(&mut self, line: u64) -> &mut Set {
        let count = self.sets.len() as u64;
        &mut self.sets[(line % count) as usize]
    }

    pub fn has(&self, line: u64) -> bool {
        self.sets[(line % self.sets.len() as u64) as usize].ways.contains(&Some(line))
    }

    pub fn lines(&self) -> impl Iterator<Item = u64> {
        self.sets.iter().flat_map(|set| set.ways.iter().copied().flatten())
    }

    pub fn remove(&mut self, line: u64) {
        let set = self.set(line);
        set.ways.iter_mut().filter(|way| **way == Some(line)).for_each(|way| *way = None);
    }

    pub fn touch(&mut self, line: u64) {
        let set = self.set(line);
        let way = set.ways.iter().position(|way| *way == Some(line)).expect("the line");
        set.uses.retain(|&other| other != way);
        set.uses.push(way);
        let (mut low, mut high) = (0, set.ways.len());
        while high - low > 1 {
            let middle = (low + high) / 2;
            let upper = way >= middle;
            set.upper_last.insert((low, high), upper);
            (low, high) = if upper { (middle, high) } else { (low, middle) };
        }
    }

    /// Puts a line in; the line that made room.
    pub fn insert(&mut self, line: u64) -> Option<u64> {
        assert!(!self.has(line));
        let replacement = self.replacement;
        let set = self.set(line);
        let way = set.ways.iter().position(Option::is_none).unwrap_or_else(|| match replacement {
            Replacement::Lru => set.uses[0],
            Replacement::Plru => {
                let (mut low, mut high) = (0, set.ways.len());
                while high - low > 1 {
                    let middle = (low + high) / 2;
                    // A node that nobody used leads to the lower half.
                    let lower = set.upper_last.get(&(low, high)).copied().unwrap_or(true);
                    (low, high) = if lower { (low, middle) } else { (middle, high) };
                }
                low
            }
            Replacement::Random => {
                let mut x = set.random;
                x ^= x << 13;
                x ^= x >> 17;
                x ^= x << 5;
                set.random = x;
                (f64::from(x) / 4_294_967_296.0 * set.ways.len() as f64) as usize
            }
        });
        let out = set.ways[way].replace(line);
        self.touch(line);
        out
    }
}

/// SplitMix64's next output, at least 1.
fn first_random(seed: u64) -> u32 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    (z as u32).max(1)
}

/// A fully associative LRU cache, the least recently used line first.
#[derive(Clone, Debug)]
pub struct Full {
    most: usize,
    lines: Vec<u64>,
}

impl Full {
    pub fn new(most: usize) -> Self {
        Self { most, lines: Vec::new() }
    }

    /// Whether the line was there.
    pub fn touch(&mut self, line: u64) -> bool {
        let had = self.remove(line);
        if self.lines.len() == self.most {
            self.lines.remove(0);
        }
        self.lines.push(line);
        had
    }

    pub fn remove(&mut self, line: u64) -> bool {
        let before = self.lines.len();
        self.lines.retain(|&other| other != line);
        self.lines.len() < before
    }
}
