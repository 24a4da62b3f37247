//! Programs as lists of places, and what an LRU cache makes of them.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use carom_base::LogBin;

use crate::reuse::{Distances, End, MissRatioCurve, Observation};

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((u128::from(z) * u128::from(bound)) >> 64) as u64
    }

    pub fn unit(&mut self) -> f64 {
        self.below(1 << 53) as f64 / (1u64 << 53) as f64
    }
}

pub const ACCESSES: usize = 60_000;

/// Every place with equal odds.
pub fn uniform(places: u64) -> Vec<u64> {
    let mut random = Random(1);
    (0..ACCESSES).map(|_| random.below(places)).collect()
}

/// One place after the other, again and again.
pub fn cyclic(places: u64) -> Vec<u64> {
    (0..ACCESSES as u64).map(|index| index % places).collect()
}

/// The k-th place with odds 1/k (Zipf's law).
pub fn zipf(places: u64) -> Vec<u64> {
    let sums: Vec<f64> = (1..=places)
        .scan(0.0, |sum, rank| {
            *sum += 1.0 / rank as f64;
            Some(*sum)
        })
        .collect();
    let all = *sums.last().unwrap();
    let mut random = Random(2);
    (0..ACCESSES).map(|_| sums.partition_point(|sum| *sum < random.unit() * all) as u64).collect()
}

/// Two programs taking turns at random, the first one `share` of the time.
pub fn mixture(one: Vec<u64>, other: Vec<u64>, share: f64) -> Vec<u64> {
    let (mut one, mut other) = (one.into_iter(), other.into_iter().map(|place| place + (1 << 40)));
    let mut random = Random(3);
    (0..ACCESSES).map_while(|_| if random.unit() < share { one.next() } else { other.next() }).collect()
}

/// One sweep after the other, over so many places each and for so many accesses, in turns.
pub fn phases(parts: &[(u64, u64)], turns: usize) -> Vec<u64> {
    let sweep = |(part, (places, accesses)): (u64, &(u64, u64))| {
        let (base, places) = (part << 40, *places);
        (0..*accesses).map(move |index| base + index % places)
    };
    let turn: Vec<_> = (0..).zip(parts).flat_map(sweep).collect();
    turn.repeat(turns)
}

/// Places that each program of the tests has.
pub const PLACES: u64 = 400;

/// A program, and for each access its LRU stack distance; `None` for the first to a place.
pub struct Program {
    pub name: &'static str,
    pub trace: Vec<u64>,
    pub lru: Vec<Option<usize>>,
}

impl Program {
    pub fn new(name: &'static str, trace: Vec<u64>) -> Self {
        Self { name, lru: lru_stack_distances(&trace), trace }
    }

    pub fn accesses(&self) -> u64 {
        self.trace.len() as u64
    }

    /// Misses per access of an LRU cache of so many places: simulated.
    pub fn miss_ratio(&self, places: u64) -> f64 {
        let misses =
            self.lru.iter().filter(|distance| distance.is_none_or(|distance| distance as u64 >= places));
        misses.count() as f64 / self.lru.len() as f64
    }
}

/// Programs that do the same all the time.
pub static STEADY: LazyLock<Vec<Program>> = LazyLock::new(|| {
    vec![
        Program::new("uniform", uniform(PLACES)),
        Program::new("cyclic", cyclic(PLACES)),
        Program::new("zipf", zipf(PLACES)),
        Program::new("uniform and cyclic", mixture(uniform(100), cyclic(300), 0.5)),
        Program::new("zipf and cyclic", mixture(zipf(200), cyclic(200), 0.8)),
        Program::new("two sizes", mixture(uniform(20), uniform(380), 0.7)),
    ]
});

/// Programs that go through phases, the last like RIBench (thesis, table 6.5, "decreasing").
pub static PHASED: LazyLock<Vec<Program>> = LazyLock::new(|| {
    let ribench = [(15, 15 * 300), (30, 30 * 120), (55, 55 * 45), (100, 100 * 20), (200, 200 * 8)];
    vec![
        Program::new("two phases", phases(&[(50, 10_000), (350, 10_000)], 3)),
        Program::new("ribench", phases(&ribench, 4)),
    ]
});

/// A list of places, the last one accessed first.
pub fn lru_stack_distances(trace: &[u64]) -> Vec<Option<usize>> {
    let mut stack: Vec<u64> = Vec::new();
    let touch = |place: &u64| {
        let depth = stack.iter().rev().position(|other| other == place);
        if let Some(depth) = depth {
            stack.remove(stack.len() - 1 - depth);
        }
        stack.push(*place);
        depth
    };
    trace.iter().map(touch).collect()
}

/// Every use with what becomes of it; with `rate` below 1 a sample of them.
pub fn observations(trace: &[u64], rate: f64, seed: u64) -> Vec<Observation> {
    let mut next: HashMap<u64, usize> = HashMap::new();
    let mut random = Random(seed);
    let mut found = Vec::new();
    for (index, place) in trace.iter().enumerate().rev() {
        let (distance, end) = match next.insert(*place, index) {
            Some(next) => (next - index - 1, End::Reused),
            None => (trace.len() - index - 1, End::Never),
        };
        if random.unit() < rate {
            found.push(Observation { distance: distance as u64, weight: 1.0, end });
        }
    }
    found.reverse();
    found
}

/// First and last accesses of places, as `Footprint` takes them.
pub fn edges(trace: &[u64]) -> [Vec<(u64, f64)>; 2] {
    let first_accesses = |places: &mut dyn Iterator<Item = &u64>| {
        let mut seen = HashSet::new();
        (1..).zip(places).filter(|(_, place)| seen.insert(**place)).map(|(at, _)| (at, 1.0)).collect()
    };
    [first_accesses(&mut trace.iter()), first_accesses(&mut trace.iter().rev())]
}

/// The curve that exact mode would show.
pub fn exact_curve(distances: &[Option<usize>], granularity: u32) -> MissRatioCurve {
    let reused = distances.iter().flatten().map(|distance| (LogBin::of(*distance as u64), 1.0));
    let first = distances.iter().filter(|distance| distance.is_none()).count() as f64;
    MissRatioCurve::of_stack_distances(&Distances::of_bins(reused, 0.0, first).unwrap(), granularity)
}
