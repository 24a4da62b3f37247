//! Which cache's misses cost most.

use super::{Cache, Curve, sizes};

/// Cycles from an access to its data, by the level that has them: 1, 2, 3 and beyond. Those of a common server (Intel 64 and
/// IA-32 Architectures Optimization Reference Manual, parameters of the caches of Skylake Server: 4 to 5, 14, and 50 to 70),
/// which others differ from by less than miss ratios do.
const LATENCY: [f64; 3] = [4.0, 14.0, 60.0];

/// Cycles from memory: 70 to 100 ns.
const MEMORY: f64 = 250.0;

/// Fewer cycles than this for each access are hidden: a pass over words in a row misses one in eight in the first level, and the
/// processor fetches them ahead.
const HIDDEN: f64 = 2.0;

/// What a level's misses cost that size avoids, by accesses of all threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// The level.
    pub level: u32,
    /// Its size.
    pub bytes: u64,
    /// Cycles by access, by usual latencies: the part of the accesses that miss here, times how much farther the next
    /// level is.
    pub cycles: f64,
}

/// The costs of the levels, the first one first, by the curve of all threads. Each cache is taken for a thread's own.
pub(super) fn costs(caches: &[Cache], curve: Option<&Curve>) -> Vec<Cost> {
    let Some(curve) = curve else { return Vec::new() };
    let mut levels: Vec<&Cache> = caches.iter().collect();
    // Where sizes differ from core to core, by the smallest.
    levels.sort_by_key(|cache| (cache.level, cache.bytes));
    levels.dedup_by_key(|cache| cache.level);
    let unavoidable = curve.outcomes.once + curve.outcomes.invalidated;
    let next = levels.iter().skip(1).map(|cache| latency(cache.level)).chain([MEMORY]);
    let cost = |(cache, next): (&&Cache, f64)| {
        let missing = sizes::at(&curve.miss_ratio, cache.bytes)?.value - unavoidable;
        let cycles = missing.max(0.0) * (next - latency(cache.level));
        Some(Cost { level: cache.level, bytes: cache.bytes, cycles })
    };
    levels.iter().zip(next).filter_map(cost).collect()
}

fn latency(level: u32) -> f64 {
    let index = (level.max(1) as usize - 1).min(LATENCY.len() - 1);
    LATENCY.get(index).copied().unwrap_or(MEMORY)
}

/// The first level's cache, in bytes, where its misses cost a third of all or more: the order of accesses that avoids them avoids
/// many of those behind, too.
pub(super) fn first_level(costs: &[Cost]) -> Option<u64> {
    let (first, others) = costs.split_first()?;
    let behind: f64 = others.iter().map(|cost| cost.cycles).sum();
    (first.level == 1 && first.cycles >= HIDDEN && first.cycles >= 0.5 * behind).then_some(first.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Estimate;
    use crate::reuse::{MissRatio, Outcomes, testing::stack_curve};

    const L1: u64 = 32 << 10;
    const L2: u64 = 1 << 20;

    fn caches() -> Vec<Cache> {
        let cache = |level, bytes| Cache { level, bytes, ..Cache::default() };
        vec![cache(1, L1), cache(2, L2), cache(3, 32 << 20)]
    }

    /// A tenth of the accesses are first ones.
    fn curve(ratios: [f64; 3]) -> Curve {
        let point = |(cache, value): (&Cache, f64)| MissRatio {
            bytes: cache.bytes,
            ratio: Estimate { value, low: value, high: value },
        };
        let outcomes = Outcomes { reused: 0.9, invalidated: 0.0, once: 0.1 };
        stack_curve(outcomes, Vec::new(), caches().iter().zip(ratios).map(point).collect())
    }

    fn cycles(ratios: [f64; 3]) -> Vec<f64> {
        costs(&caches(), Some(&curve(ratios))).iter().map(|cost| cost.cycles.round()).collect()
    }

    #[test]
    fn misses_cost_the_way_to_the_next_level() {
        // 0.6 · (14 − 4), 0.2 · (60 − 14), 0.1 · (250 − 60), without first accesses.
        assert_eq!(cycles([0.7, 0.3, 0.2]), [6.0, 9.0, 19.0]);
        assert_eq!(cycles([0.1, 0.1, 0.1]), [0.0; 3]);
        assert!(costs(&caches(), None).is_empty());
    }

    #[test]
    fn the_first_level_is_chosen_where_it_costs_a_third_of_all() {
        let chosen = |ratios| first_level(&costs(&caches(), Some(&curve(ratios))));
        assert_eq!(chosen([0.7, 0.2, 0.1]), Some(L1));
        assert_eq!(chosen([0.7, 0.3, 0.1]), Some(L1), "6 cycles and 9.2");
        assert_eq!(chosen([0.7, 0.4, 0.1]), None, "6 cycles and 13.8");
        assert_eq!(chosen([0.7, 0.2, 0.2]), None, "6 cycles and 4.6 and 19");
        assert_eq!(chosen([0.225, 0.1, 0.1]), None, "1.25 cycles are hidden");
    }
}
