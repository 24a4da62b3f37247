//! What `carom profile` says of reuse.

use super::verdict::remedy;
use crate::model::{Finding, Real, Report, Reuse, ReuseFit, ReuseScope};

/// The remedy for a pair of instructions is given where the pair makes at least this part of the misses.
const TELLING: f64 = 0.2;

/// The accesses that miss.
pub fn finding(reuse: &Reuse, report: &Report) -> Finding {
    let known = of_program(&reuse.fits).filter(|_| reuse.not_enough.is_none());
    Finding::new("reuse", "cache misses", known, report, remedy(reuse, TELLING))
}

/// The miss ratio of all threads: that of one thread, or of a shared cache, is about other accesses than the program's.
fn of_program(fits: &[ReuseFit]) -> Option<Real> {
    fits.iter().find(|fit| fit.scope == ReuseScope::All).map(|fit| fit.miss_ratio.estimate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Interval;

    /// The first fit is the worst, which may be that of a cache with few accesses.
    #[test]
    fn misses_are_those_of_all_threads() {
        let fit = |scope, ratio| {
            let ratio = Real(ratio);
            ReuseFit {
                scope,
                thread: None,
                domain: None,
                miss_ratio: Interval { estimate: ratio, low: ratio, high: ratio },
                compulsory: Real(0.0),
                enough_bytes: None,
                worst_pair: None,
                worst_share: Real(0.0),
                by_geometry: Vec::new(),
            }
        };
        let fits = [fit(ReuseScope::Shared, 0.9), fit(ReuseScope::Thread, 0.5), fit(ReuseScope::All, 0.1)];
        assert_eq!(of_program(&fits).map(|ratio| ratio.0), Some(0.1));
        assert!(of_program(&fits[..2]).is_none());
    }
}
