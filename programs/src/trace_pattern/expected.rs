//! Which accesses a fully associative cache that replaces the least recently used line misses.

use super::Pattern;

/// A miss ratio and, where chance has a part in it, how far off a run may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MissRatio {
    /// Of all accesses, the first ones included.
    pub ratio: f64,
    /// 0 where the ratio is exact.
    pub standard_deviation: f64,
}

/// The miss ratio of `accesses` to `lines` lines, both not 0, in a cache that begins empty and holds `capacity` lines.
pub fn miss_ratio(pattern: Pattern, lines: u64, accesses: u64, capacity: u64) -> MissRatio {
    match pattern {
        // All other lines lie between an access and the next one of the same line: all fit, or none.
        Pattern::Stream | Pattern::Chase => {
            let ratio = if capacity >= lines { lines.min(accesses) as f64 / accesses as f64 } else { 1.0 };
            MissRatio { ratio, standard_deviation: 0.0 }
        }
        Pattern::Random => of_random(lines as f64, accesses as f64, capacity),
    }
}

/// A full cache holds `capacity` of the `lines`, each of which comes next with the same chance: it misses with the
/// chance `1 - capacity / lines`. Before, each miss fills a place. With i places filled a miss comes after
/// `lines / (lines - i)` accesses on average, as for the collector of coupons.
fn of_random(lines: f64, accesses: f64, capacity: u64) -> MissRatio {
    let held = (capacity as f64).min(lines);
    // Filling ends where the accesses do, at the latest, so the sum need not be longer.
    let places = capacity.min(accesses as u64).min(lines as u64);
    let filling: f64 = (0..places).map(|filled| lines / (lines - filled as f64)).sum();
    let misses = if filling < accesses && held < lines {
        held + (accesses - filling) * (1.0 - held / lines)
    } else {
        // Different lines met: each misses once.
        -lines * (accesses * (-1.0 / lines).ln_1p()).exp_m1()
    };
    let ratio = misses / accesses;
    MissRatio { ratio, standard_deviation: (ratio * (1.0 - ratio).max(0.0) / accesses).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::trace_pattern::kernels;

    /// Misses of a cache that begins empty, one access after the other.
    fn simulated(accesses: impl Iterator<Item = u64>, capacity: usize) -> u64 {
        let mut held: Vec<u64> = Vec::new();
        let mut misses = 0;
        for line in accesses {
            match held.iter().position(|&other| other == line) {
                Some(at) => {
                    held.remove(at);
                }
                None => misses += 1,
            }
            held.insert(0, line);
            held.truncate(capacity);
        }
        misses
    }

    /// The lines that each loop accesses.
    fn accesses(pattern: Pattern, lines: u64, number: u64) -> Vec<u64> {
        let mut random = Random::new(3, 0);
        match pattern {
            Pattern::Stream => (0..number).map(|access| access % lines).collect(),
            Pattern::Random => (0..number).map(|_| random.below(lines)).collect(),
            Pattern::Chase => {
                let cycle = kernels::cycle(lines as usize, &mut random);
                (0..number).map(|steps| kernels::chase_lines(&cycle, steps)).collect()
            }
        }
    }

    /// Five standard deviations are exceeded by one seed in 1.7 million; where there is none, by no run.
    #[test]
    fn ratios_are_those_of_a_simulation() {
        let lines = 50;
        for number in [20, 170, 2000] {
            for pattern in [Pattern::Stream, Pattern::Random, Pattern::Chase] {
                let accesses = accesses(pattern, lines, number);
                for capacity in [1, 10, 25, 49, 50, 80] {
                    let expected = miss_ratio(pattern, lines, number, capacity);
                    let misses = simulated(accesses.iter().copied(), capacity as usize) as f64;
                    let off = (misses / number as f64 - expected.ratio).abs();
                    assert!(
                        off <= 5.0 * expected.standard_deviation + f64::EPSILON,
                        "{pattern:?} {number} {capacity}: {off} from {expected:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_random_access_misses_what_does_not_fit() {
        // A quarter of 1000 lines in a run so long that filling the cache does not count.
        let MissRatio { ratio, .. } = miss_ratio(Pattern::Random, 1000, 1_000_000_000, 250);
        assert!((ratio - 0.75).abs() < 1e-6, "{ratio}");
    }
}
