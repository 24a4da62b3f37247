use crate::{midranks, normal_two_sided};

/// Whether one of two samples tends to larger values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// Pairs in which the value after is the larger one; ties count half.
    pub u: f64,
    /// How likely samples of one distribution differ as much, in either direction.
    pub probability: f64,
}

/// Up to this many values, all ways to divide them are counted.
const EXACT: usize = 60;

/// The rank-sum test of `before` against `after`.
///
/// H. B. Mann and D. R. Whitney, Annals of Mathematical Statistics 18 (1947) 50-60. Up to 60 values the probability is
/// exact, also with ties: the part of all divisions of the pooled ranks in which the rank sum is as extreme, twice the
/// smaller tail. Beyond, it is that of the normal distribution with corrections for ties and continuity (M. Hollander and
/// D. A. Wolfe, "Nonparametric Statistical Methods", 2nd ed., Wiley 1999, section 4.1). Assumes nothing of the distribution;
/// where runs of both programs alternate at random, not even that they are independent. `None` where a side is empty.
pub fn mann_whitney(before: &[f64], after: &[f64]) -> Option<MannWhitney> {
    let (n, m) = (before.len(), after.len());
    if n == 0 || m == 0 {
        return None;
    }
    let ranks = midranks(&[before, after].concat())?;
    let sum: f64 = ranks.iter().skip(n).sum();
    let u = sum - (m * (m + 1)) as f64 / 2.0;
    let probability = if n + m <= EXACT { exact(&ranks, m, sum) } else { normal(&ranks, n, m, u) };
    Some(MannWhitney { u, probability })
}

/// The smallest probability that [`mann_whitney`] can find with so many values on either side.
pub fn least_probability(before: usize, after: usize) -> f64 {
    // 2 / (n + m over m), by factors.
    (1..=after).fold(2.0, |least, k| least * k as f64 / (before + k) as f64).min(1.0)
}

/// Counts the ways to take `m` of the ranks by their sum. Doubled midranks are whole numbers.
fn exact(ranks: &[f64], m: usize, sum: f64) -> f64 {
    let doubled: Vec<usize> = ranks.iter().map(|rank| (2.0 * rank).round() as usize).collect();
    let most: usize = doubled.iter().sum();
    let observed = (2.0 * sum).round() as usize;
    // ways[k][s]: of choosing k ranks with the doubled sum s.
    let mut ways = vec![vec![0.0_f64; most + 1]; m + 1];
    ways[0][0] = 1.0;
    for (taken, &rank) in doubled.iter().enumerate() {
        for k in (1..=m.min(taken + 1)).rev() {
            let (fewer, more) = ways.split_at_mut(k);
            for (to, from) in more[0].iter_mut().skip(rank).zip(&fewer[k - 1]) {
                *to += from;
            }
        }
    }
    let row = ways.pop().unwrap_or_default();
    let all: f64 = row.iter().sum();
    let below: f64 = row.iter().take(observed + 1).sum();
    let above: f64 = row.iter().skip(observed).sum();
    (2.0 * below.min(above) / all).min(1.0)
}

fn normal(ranks: &[f64], n: usize, m: usize, u: f64) -> f64 {
    let (n, m) = (n as f64, m as f64);
    let all = n + m;
    let mut sorted = ranks.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 =
        sorted.chunk_by(|a, b| a == b).map(|tied| (tied.len() as f64).powi(3) - tied.len() as f64).sum();
    let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    let distance = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
    if variance > 0.0 { normal_two_sided(distance / variance.sqrt()) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extreme_of_three_and_three_is_one_in_ten() {
        // 20 divisions, one in each tail.
        let test = mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap();
        assert_eq!(test.u, 9.0);
        assert!((test.probability - 0.1).abs() < 1e-12);
        assert!((least_probability(3, 3) - 0.1).abs() < 1e-12);
        assert_eq!(least_probability(1, 1), 1.0);
    }

    #[test]
    fn ties_are_counted_exactly() {
        // Ranks 2, 2, 2, 4 and 5; the upper two of 10 divisions: {4, 5} only, so twice 1 in 10.
        let test = mann_whitney(&[1.0, 1.0, 1.0], &[2.0, 3.0]).unwrap();
        assert!((test.probability - 0.2).abs() < 1e-12);
        // Nothing can be said of equal values.
        assert_eq!(mann_whitney(&[1.0; 9], &[1.0; 9]).unwrap().probability, 1.0);
        assert_eq!(mann_whitney(&[1.0; 50], &[1.0; 50]).unwrap().probability, 1.0);
    }

    #[test]
    fn nothing_is_compared_with_nothing() {
        assert_eq!((mann_whitney(&[], &[1.0]), mann_whitney(&[f64::NAN], &[1.0])), (None, None));
    }
}
