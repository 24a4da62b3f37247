use crate::student::student_975;
use crate::weights::{kish, of_proportion};
use crate::wilson::{Interval, wilson};
use crate::{TimeBlocks, ratio_variance};

/// A proportion with its 95% interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proportion {
    /// Weight of the hits divided by the weight of all observations.
    pub value: f64,
    /// 95% interval.
    pub interval: Interval,
    /// The number of independent observations of equal weight with the same information.
    pub effective_n: f64,
}

impl TimeBlocks {
    /// The proportion of hits, with an interval that accounts for unequal weights and for correlation in time.
    ///
    /// Three steps. Unequal weights: the effective sample size of Kish ([`crate::effective_sample_size`]), or that of
    /// the linearised ratio where hits have larger weights than the other observations.
    /// Correlation: the design effect, the jackknife's variance over the binomial variance at that size, never below
    /// 1, because a gain in precision would more likely be chance than real. Unknown variance: the square of normal
    /// over Student quantile at (blocks - 1) degrees of freedom (E. L. Korn and B. I. Graubard, "Confidence intervals
    /// for proportions with small expected number of positive counts estimated from survey data", Survey Methodology
    /// 24 (1998) 193-201). The result is Wilson's interval at the effective size, which keeps a realistic width where
    /// all or no observations are hits; compared with others by Franco, Little, Louis and Slud, J. Survey Statistics
    /// and Methodology 7 (2019) 334-364.
    ///
    /// Where all or no observations are hits the design effect is unknown and 1 is assumed. `None` without
    /// observations.
    pub fn proportion(&self) -> Option<Proportion> {
        let total = self.total();
        if total.weight <= 0.0 {
            return None;
        }
        let value = (total.hits / total.weight).clamp(0.0, 1.0);
        let by_weights = kish(total.weight, total.weight_squared);
        let by_weights = of_proportion(&total)
            // Equal but for rounding where all weights are.
            .filter(|number| *number < by_weights * (1.0 - 1e-9))
            .unwrap_or(by_weights);
        let binomial = value * (1.0 - value) / by_weights;
        let design_effect = match ratio_variance(self.blocks()) {
            Some(variance) if binomial > 0.0 => (variance / binomial).max(1.0),
            _ => 1.0,
        };
        let blocks = self.blocks().filter(|b| b.weight > 0.0).count();
        let effective_n = by_weights / design_effect * small_sample_factor(by_weights, blocks);
        Some(Proportion { value, interval: wilson(value, effective_n), effective_n })
    }
}

/// (t of n - 1 / t of blocks - 1)², at most 1; 1 where a single block says nothing about variance.
fn small_sample_factor(n: f64, blocks: usize) -> f64 {
    if blocks < 2 || n <= 1.0 {
        return 1.0;
    }
    (student_975(n - 1.0) / student_975(blocks as f64 - 1.0)).powi(2).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    const MS: u64 = 1 << 20;

    /// How many of 1,000 simulated intervals contain `p`. A run has 640 observations in 64 blocks; each repeats
    /// the previous one with probability `sticky` and is drawn anew otherwise. `interval` makes the interval.
    fn coverage(
        p: f64,
        sticky: f64,
        weight: fn(&mut Random) -> f64,
        interval: fn(&TimeBlocks) -> Interval,
    ) -> f64 {
        let mut random = Random::new(20_240_817);
        let runs = 1_000;
        let covered = (0..runs)
            .filter(|_| {
                let mut blocks = TimeBlocks::default();
                let mut state = random.chance(p);
                for i in 0..640 {
                    if !random.chance(sticky) {
                        state = random.chance(p);
                    }
                    let weight = weight(&mut random);
                    blocks.observe(i * MS / 10, state, weight);
                }
                interval(&blocks).contains(p)
            })
            .count();
        covered as f64 / f64::from(runs)
    }

    fn ours(blocks: &TimeBlocks) -> Interval {
        blocks.proportion().unwrap().interval
    }

    fn naive(blocks: &TimeBlocks) -> Interval {
        let total = blocks.total();
        wilson(total.hits / total.weight, 640.0)
    }

    fn one(_: &mut Random) -> f64 {
        1.0
    }

    /// A look-up counts 1, a watchpoint on 32 of 64 bytes 2, on 8 of them 8.
    fn mixed(random: &mut Random) -> f64 {
        if random.chance(0.8) { 1.0 } else { 8.0 }
    }

    #[test]
    fn covers_independent_observations() {
        for p in [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0] {
            let coverage = coverage(p, 0.0, one, ours);
            assert!(coverage >= 0.93, "p {p}: {coverage}");
        }
    }

    #[test]
    fn covers_unequal_weights_where_the_naive_interval_does_not() {
        for p in [0.1, 0.5, 0.9] {
            let ours = coverage(p, 0.0, mixed, ours);
            assert!(ours >= 0.93, "p {p}: {ours}");
            // Mean weight 2.4, mean square 13.6: the variance is 13.6 / 5.76 = 2.36 times too large for it,
            // and a normal interval of ±1.96 / √2.36 covers 80%.
            let naive = coverage(p, 0.0, mixed, naive);
            assert!(naive <= 0.86, "p {p}: {naive}");
        }
    }

    /// Of 3,000 observations 3% weigh 30, and of these alone 40% are hits. Σw² is 3,000 (0.97 + 27), that of hits 3,000 *
    /// 10.8, and p = 0.36 / 1.87: the standard deviation is 1.33 times that of Kish's number, so that ±1.96 / 1.33 of a
    /// normal variable cover 86%.
    #[test]
    fn covers_weights_that_depend_on_what_is_observed() {
        let (runs, p) = (1_000, 0.36 / 1.87);
        let mut random = Random::new(20_241_124);
        let mut covered = [0; 2];
        for _ in 0..runs {
            let mut blocks = TimeBlocks::default();
            for _ in 0..3_000 {
                let heavy = random.chance(0.03);
                blocks.observe(0, heavy && random.chance(0.4), if heavy { 30.0 } else { 1.0 });
            }
            let total = blocks.total();
            let by_kish = wilson(total.hits / total.weight, kish(total.weight, total.weight_squared));
            for (covered, interval) in covered.iter_mut().zip([ours(&blocks), by_kish]) {
                *covered += u32::from(interval.contains(p));
            }
        }
        assert!(covered[0] >= 930 && covered[1] <= 890, "{covered:?}");
    }

    #[test]
    fn covers_correlated_observations_where_the_naive_interval_does_not() {
        for p in [0.25, 0.5, 0.75] {
            // Repeating with probability 0.7 multiplies the variance by (1 + 0.7) / (1 - 0.7) = 5.7; a naive
            // ±1.96 / √5.7 covers 59%. Blocks of 10 see most of a correlation that falls to 0.7^10 = 3%.
            let ours = coverage(p, 0.7, one, ours);
            assert!(ours >= 0.90, "p {p}: {ours}");
            let naive = coverage(p, 0.7, one, naive);
            assert!(naive <= 0.68, "p {p}: {naive}");
        }
    }

    #[test]
    fn independence_costs_little_width() {
        // 640 independent observations at one half: ±1.96 √(0.25 / 640) = ±0.0387. The design effect's own
        // noise may widen that, by a fifth at most on average.
        let mut random = Random::new(7);
        let mean: f64 = (0..200)
            .map(|_| {
                let mut blocks = TimeBlocks::default();
                (0..640).for_each(|i| blocks.observe(i * MS / 10, random.chance(0.5), 1.0));
                ours(&blocks).half_width()
            })
            .sum::<f64>()
            / 200.0;
        assert!((0.0387..0.0465).contains(&mean), "{mean}");
    }

    #[test]
    fn all_and_none_keep_a_width() {
        let mut blocks = TimeBlocks::default();
        (0..100).for_each(|i| blocks.observe(i * MS, true, 1.0));
        let p = blocks.proportion().unwrap();
        assert_eq!((p.value, p.interval.high), (1.0, 1.0));
        // Wilson for 100 of 100 ends at 100 / (100 + 1.96²) = 0.963; the degrees of freedom widen it a little.
        assert!((0.955..0.9631).contains(&p.interval.low), "{p:?}");
    }

    #[test]
    fn nothing_observed_is_no_proportion() {
        assert_eq!(TimeBlocks::default().proportion(), None);
        let mut hits_only = TimeBlocks::default();
        hits_only.hit(1, 1.0);
        assert_eq!(hits_only.proportion(), None);
    }

    #[test]
    fn a_single_block_falls_back_to_weights_alone() {
        let mut blocks = TimeBlocks::default();
        (0..40).for_each(|i| blocks.observe(i, i % 2 == 0, 1.0));
        let p = blocks.proportion().unwrap();
        assert_eq!((p.value, p.effective_n), (0.5, 40.0));
    }
}
