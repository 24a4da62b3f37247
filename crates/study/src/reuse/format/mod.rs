//! Files of other tools, for comparison: strings in, strings out.

pub mod loca;
pub mod reuse_tracker;

use carom_study_stats::reuse::accuracy;

use super::Bin;

/// The similarity of a histogram to another tool's, in that tool's bins: accuracy S of the thesis (6.5.1). A bin of `ours`
/// counts where its middle lies; those outside all of theirs form a bin of their own. `None` where either is empty.
pub fn similarity(theirs: &[Bin], ours: &[Bin]) -> Option<f64> {
    let mut found = vec![0.0; theirs.len() + 1];
    for bin in ours {
        let last = if bin.high == u64::MAX { bin.low } else { bin.high.saturating_sub(1) };
        let middle = bin.low.midpoint(last);
        let place = theirs.iter().position(|other| (other.low..other.high).contains(&middle));
        if let Some(sum) = found.get_mut(place.unwrap_or(theirs.len())) {
            *sum += bin.fraction;
        }
    }
    let theirs: Vec<f64> = theirs.iter().map(|bin| bin.fraction).collect();
    accuracy(&theirs, &found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bin(low: u64, high: u64, fraction: f64) -> Bin {
        Bin { low, high, fraction, by_kind: [0.0; 4] }
    }

    /// Theirs: half below 100, half below 200. Ours: 0.5 around 49, 0.25 around 149, 0.25 beyond: |0.5 - 0.25| too few and
    /// 0.25 too many, so S = 1 - 0.5 / 2.
    #[test]
    fn finer_bins_go_into_theirs() {
        let theirs = [bin(0, 100, 0.5), bin(100, 200, 0.5)];
        let ours = [bin(48, 52, 0.5), bin(148, 152, 0.25), bin(4096, u64::MAX, 0.25)];
        assert_eq!(similarity(&theirs, &ours), Some(0.75));
        assert_eq!(similarity(&theirs, &theirs), Some(1.0));
        assert_eq!(similarity(&theirs, &[]), None);
    }
}
