//! Caches whose places are divided into sets, from stack distances.

/// The fraction of the reuses at a stack distance that miss in a cache with `sets` sets of `ways` ways, each of which
/// replaces the least recently used place: the probability that of the `distance` places in between at least `ways`
/// fall into the same set, if each falls into any set with equal probability (Smith, "A comparative study of set associative memory
/// mapping algorithms and their use for cache and main memory", IEEE Transactions on Software Engineering 4(2), 1978; Hill
/// and Smith, "Evaluating associativity in CPU caches", IEEE Transactions on Computers 38(12), 1989, section 4).
///
/// Strides that prefer some sets are not modelled. One set is exact. A cache without sets or ways holds nothing.
pub fn part_missing(distance: u64, sets: u64, ways: u32) -> f64 {
    if sets == 0 || distance < u64::from(ways) {
        return f64::from(u8::from(sets == 0));
    }
    if sets == 1 || ways == 0 {
        return 1.0;
    }
    // P(exactly k of them) by its logarithm, since far from the mean it is too small for a double.
    let (chance, other) = (1.0 / sets as f64, 1.0 - 1.0 / sets as f64);
    let mut exactly = distance as f64 * (-chance).ln_1p();
    let mut fewer = 0.0;
    for k in 0..ways {
        fewer += exactly.exp();
        exactly += ((distance as f64 - f64::from(k)) / f64::from(k + 1) * chance / other).ln();
    }
    (1.0 - fewer).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }

    #[test]
    fn one_set_is_a_fully_associative_cache() {
        assert_eq!((part_missing(7, 1, 8), part_missing(8, 1, 8)), (0.0, 1.0));
        // Nothing in between: the place is still there, unless there is no room at all.
        assert_eq!((part_missing(0, 64, 1), part_missing(0, 64, 0), part_missing(0, 0, 8)), (0.0, 1.0, 1.0));
    }

    /// Three places, two sets, two ways: at least two of three coins, (3 + 1) / 8. Direct-mapped with four sets: not all
    /// three elsewhere, 1 - (3/4)^3.
    #[test]
    fn small_caches_by_hand() {
        close(part_missing(3, 2, 2), 0.5);
        close(part_missing(3, 4, 1), 1.0 - 27.0 / 64.0);
    }

    /// The number in a set has the mean d / sets and nearly that variance: with as many ways as the mean about half
    /// misses, and all of it far beyond, where single terms underflow.
    #[test]
    fn large_caches_miss_what_is_far_beyond_them() {
        let half = part_missing(16 * 32_768, 32_768, 16);
        assert!((half - 0.53).abs() < 0.02, "{half}");
        assert_eq!((part_missing(1 << 40, 64, 8), part_missing(u64::MAX, 2048, 16)), (1.0, 1.0));
        assert!(part_missing(1024, 2048, 8) < 1e-6);
        assert!((part_missing(1_000_000, 2, 400_000) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn farther_misses_more_and_more_ways_miss_less() {
        for distance in 1..2000 {
            assert!(part_missing(distance, 64, 8) >= part_missing(distance - 1, 64, 8) - 1e-12);
            assert!(part_missing(distance, 64, 8) >= part_missing(distance, 64, 9));
        }
    }
}
