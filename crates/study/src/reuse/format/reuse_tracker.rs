//! `FILE.bin` of ReuseTracker's `reuse_distance_histo.py`: a line `left right fraction` per bin.
//!
//! Its distances are one more than ours: it takes the difference of two counters, which includes the reuse itself.
//! [`write`] and [`read`] convert.

use thiserror::Error;

use crate::reuse::Bin;

/// A line that is no bin.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BinError {
    /// Not three numbers.
    #[error("line {line}: expected \"left right fraction\"")]
    NoBin {
        /// From 1.
        line: usize,
    },
    /// Bounds that do not ascend, or a fraction outside 0 to 1.
    #[error("line {line}: {what}")]
    OutOfRange {
        /// From 1.
        line: usize,
        /// What is wrong.
        what: &'static str,
    },
}

/// The bins of a histogram, in order. An open bin ends in `inf`.
pub fn write(bins: &[Bin]) -> String {
    let mut text = String::new();
    for bin in bins {
        let low = if bin.low == 0 { 0 } else { bin.low.saturating_add(1) };
        let high = match bin.high {
            u64::MAX => "inf".to_owned(),
            high => high.saturating_add(1).to_string(),
        };
        text.push_str(&format!("{low} {high} {}\n", bin.fraction));
    }
    text
}

/// The bins of a file; kinds are not known. Blank lines are passed over.
///
/// # Errors
/// The first line that is no bin.
pub fn read(text: &str) -> Result<Vec<Bin>, BinError> {
    let mut bins: Vec<Bin> = Vec::new();
    for (line, words) in (1..).zip(text.lines()) {
        let words: Vec<&str> = words.split_whitespace().collect();
        let [left, right, fraction] = *words.as_slice() else {
            if words.is_empty() {
                continue;
            }
            return Err(BinError::NoBin { line });
        };
        let no_bin = |_| BinError::NoBin { line };
        let (left, right): (f64, f64) = (left.parse().map_err(no_bin)?, right.parse().map_err(no_bin)?);
        let fraction: f64 = fraction.parse().map_err(no_bin)?;
        let wrong = |what| Err(BinError::OutOfRange { line, what });
        if !(0.0..).contains(&left) || right.is_nan() || right <= left {
            return wrong("bounds must ascend");
        }
        if !(0.0..=1.0).contains(&fraction) {
            return wrong("a fraction lies between 0 and 1");
        }
        let low = (left as u64).saturating_sub(1);
        let high = if right.is_finite() { (right as u64).saturating_sub(1) } else { u64::MAX };
        if bins.last().is_some_and(|before| before.high > low) {
            return wrong("bins must not overlap");
        }
        bins.push(Bin { low, high: high.max(low.saturating_add(1)), fraction, by_kind: [0.0; 4] });
    }
    Ok(bins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bin(low: u64, high: u64, fraction: f64) -> Bin {
        Bin { low, high, fraction, by_kind: [0.0; 4] }
    }

    /// Accesses strictly between 1,099 and 2,198 are 1,100 to 2,199 as ReuseTracker counts.
    #[test]
    fn bins_are_moved_by_the_reuse_itself() {
        let bins = [bin(0, 1099, 0.25), bin(1099, 2199, 0.5), bin(2199, u64::MAX, 0.25)];
        let text = write(&bins);
        assert_eq!(text, "0 1100 0.25\n1100 2200 0.5\n2200 inf 0.25\n");
        assert_eq!(read(&text).unwrap(), bins);
    }

    /// Python writes floats.
    #[test]
    fn files_of_the_original_are_read() {
        assert_eq!(
            read("\n0.0 1000.0 0.9\n1000.0 2000.0 1e-1\n").unwrap(),
            [bin(0, 999, 0.9), bin(999, 1999, 0.1)]
        );
    }

    #[test]
    fn what_is_no_bin_is_refused_with_its_line() {
        let error = |text| read(text).unwrap_err().to_string();
        assert_eq!(error("0 1 0.5\n1 2\n"), "line 2: expected \"left right fraction\"");
        assert_eq!(error("0 1 x"), "line 1: expected \"left right fraction\"");
        assert_eq!(error("5 4 0.5"), "line 1: bounds must ascend");
        assert_eq!(error("NaN 4 0.5"), "line 1: bounds must ascend");
        assert_eq!(error("0 4 1.5"), "line 1: a fraction lies between 0 and 1");
        assert_eq!(error("0 4 0.5\n3 5 0.5"), "line 2: bins must not overlap");
    }
}
