use crate::Block;

/// Variance of the ratio Σhits / Σweight over blocks, by deleting one block at a time.
///
/// The delete-a-group jackknife: K. M. Wolter, "Introduction to Variance Estimation", 2nd ed., Springer 2007, chapter
/// 4; for a stationary time series the non-overlapping block form of H. R. Künsch, Annals of Statistics 17 (1989)
/// 1217-1241. Assumes that blocks are long compared with the correlation between observations, so that different
/// blocks are nearly independent; correlation inside a block is fully accounted for. A trend over time counts as
/// variance, which makes the result too large rather than too small.
///
/// `None` for fewer than two blocks with observations.
pub fn ratio_variance(blocks: impl Iterator<Item = Block> + Clone) -> Option<f64> {
    let (mut groups, mut hits, mut weight) = (0_u32, 0.0, 0.0);
    for block in blocks.clone().filter(|b| b.weight > 0.0) {
        groups += 1;
        hits += block.hits;
        weight += block.weight;
    }
    if groups < 2 {
        return None;
    }
    let ratio = hits / weight;
    let squares: f64 = blocks
        .filter(|b| b.weight > 0.0)
        .map(|b| {
            let without = (hits - b.hits) / (weight - b.weight);
            (without - ratio).powi(2)
        })
        .sum();
    let groups = f64::from(groups);
    Some(squares * (groups - 1.0) / groups).filter(|variance| variance.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(hits: f64, weight: f64) -> Block {
        Block { hits, hits_squared: hits, weight, weight_squared: weight }
    }

    #[test]
    fn equal_blocks_give_the_variance_of_their_mean() {
        // Block means 0.2, 0.4, 0.6: sample variance 0.04, of the mean of three 0.04 / 3.
        let blocks = [block(2.0, 10.0), block(4.0, 10.0), block(6.0, 10.0)];
        let variance = ratio_variance(blocks.into_iter()).unwrap();
        assert!((variance - 0.04 / 3.0).abs() < 1e-12, "{variance}");
    }

    #[test]
    fn blocks_that_agree_have_none() {
        let blocks = [block(1.0, 4.0), block(2.0, 8.0), block(25.0, 100.0)];
        assert!(ratio_variance(blocks.into_iter()).unwrap() < 1e-15);
    }

    #[test]
    fn one_block_says_nothing_about_variance() {
        assert_eq!(ratio_variance([block(1.0, 2.0)].into_iter()), None);
        assert_eq!(ratio_variance([block(1.0, 2.0), block(0.0, 0.0)].into_iter()), None);
        assert_eq!(ratio_variance(std::iter::empty()), None);
    }
}
