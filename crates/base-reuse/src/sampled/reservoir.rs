//! Which use is replaced: decisions that depend only on weights.

use super::config::MAX_SLOTS;
use super::random::Random;

/// Which of several uses is replaced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    /// Its index among the weights.
    pub victim: usize,
    /// The new weight of all others that weigh less.
    pub threshold: f64,
}

/// One step of VarOpt (Cohen and others, SODA 2009, section 2): one of n uses is replaced, so that the remaining
/// weights have the same expectations as before and the least variance. There must be at least two uses.
///
/// The threshold is the solution t of sum(min(1, weight / t)) = n - 1. Heavier uses keep their weight; one of the
/// others is replaced, with probability 1 - weight / t, and the rest weigh t.
pub(super) fn varopt(weights: &[f64], random: &mut Random) -> Plan {
    let mut threshold = f64::INFINITY;
    // Each round removes the heaviest, so there are at most as many rounds as uses.
    for _ in 0..=MAX_SLOTS {
        let light = weights.iter().filter(|weight| **weight <= threshold);
        let (count, sum) = light.fold((0u32, 0.0), |(count, sum), weight| (count + 1, sum + weight));
        if count < 2 {
            break;
        }
        let next = sum / f64::from(count - 1);
        if next >= threshold {
            break;
        }
        threshold = next;
    }
    let mut ticket = random.unit();
    let victim = weights.iter().position(|weight| {
        ticket -= (1.0 - weight / threshold).max(0.0);
        ticket < 0.0
    });
    Plan { victim: victim.unwrap_or(weights.len().saturating_sub(1)), threshold }
}

/// Algorithm 2, ALLOWREPLACEMENT: `offered` samples have been offered to a slot, this one included.
pub(super) fn gives_way(offered: u32, random: &mut Random) -> bool {
    random.unit() * f64::from(offered) < 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four of weight 1: sum(min(1, 1/t)) = 3 for t = 4/3, and each is replaced with probability 1/4.
    #[test]
    fn equals_give_way_equally() {
        let mut random = Random::new(3);
        let mut gone = [0u32; 4];
        for _ in 0..40_000 {
            let plan = varopt(&[1.0; 4], &mut random);
            assert!((plan.threshold - 4.0 / 3.0).abs() < 1e-12);
            gone[plan.victim] += 1;
        }
        // The standard deviation of a count is sqrt(40,000 * 1/4 * 3/4) = 87.
        assert!(gone.iter().all(|count| count.abs_diff(10_000) < 450), "{gone:?}");
    }

    /// 1, 1, 1 and 16: with t = 1.5, min(1, 1/t) is 2/3 three times and 1 once, 3 in all. The heavy one is never
    /// replaced.
    #[test]
    fn the_heavy_one_stays() {
        let mut random = Random::new(4);
        for _ in 0..1000 {
            let plan = varopt(&[1.0, 16.0, 1.0, 1.0], &mut random);
            assert_eq!(plan.threshold, 1.5);
            assert_ne!(plan.victim, 1);
        }
    }

    /// For any weights: the expectation of each use's weight stays the same.
    #[test]
    fn expectations_are_kept() {
        let mut random = Random::new(5);
        for _ in 0..2000 {
            let weights: [f64; 6] = core::array::from_fn(|_| 1.0 / (random.unit() + 0.01));
            let threshold = varopt(&weights, &mut random).threshold;
            let stays = weights.map(|weight| (weight / threshold).min(1.0));
            assert!((stays.iter().sum::<f64>() - 5.0).abs() < 1e-9, "{weights:?}");
            for (weight, stays) in weights.iter().zip(stays) {
                assert!((stays * weight.max(threshold) - weight).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn senseless_weights_do_no_harm() {
        let mut random = Random::new(6);
        assert_eq!(varopt(&[], &mut random).victim, 0);
        assert!(varopt(&[0.0; 4], &mut random).victim < 4);
        assert!(varopt(&[f64::NAN, f64::INFINITY, 1.0], &mut random).victim < 3);
    }

    /// The k-th sample replaces with probability 1/k.
    #[test]
    fn the_first_always_and_the_fourth_in_one_of_four() {
        let mut random = Random::new(7);
        assert!((0..1000).all(|_| gives_way(1, &mut random)));
        let count = (0..40_000).filter(|_| gives_way(4, &mut random)).count();
        assert!(count.abs_diff(10_000) < 450, "{count}");
    }
}
