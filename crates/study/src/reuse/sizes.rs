//! Miss ratios from stack distances, and where to look at them.

use carom_base::LINE_BYTES;
use carom_study_stats::wilson;

use super::{Cache, MissRatio, tally::Tally};
use crate::Estimate;

/// The smallest cache looked at: 16 lines.
const SMALLEST_BYTES: u64 = 16 * LINE_BYTES;

/// The largest cache examined: more than any machine's memory.
const LARGEST_BYTES: u64 = 1 << 46;

/// The sizes at which a curve is evaluated, ascending: powers of two and one and a half times these, from the smallest
/// that is of interest to the first that no distance reaches, and the machine's caches.
pub(super) fn sizes(caches: &[Cache], longest_bytes: u64, chosen: u64) -> Vec<u64> {
    let machine = caches.iter().map(|cache| cache.bytes).chain([chosen]);
    let end = machine.clone().max().unwrap_or(0).max(longest_bytes).min(LARGEST_BYTES);
    let mut sizes: Vec<u64> = machine.filter(|bytes| *bytes >= LINE_BYTES).collect();
    let mut size = SMALLEST_BYTES;
    loop {
        sizes.push(size);
        if size > end {
            break;
        }
        sizes.push(size + size / 2);
        size *= 2;
    }
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Misses of fully associative caches with the least recently used place replaced, by accesses: those whose stack
/// distance is at least the number of places that fit, first accesses and invalidated ones (Mattson and others, IBM
/// Systems Journal 9(2), 1970).
///
/// `places`: the number of places that were followed, where they stand for all. It is the size of the sample, since accesses to
/// one place are far from independent.
pub(super) fn miss_ratios(
    tally: &Tally,
    granularity: u32,
    sizes: &[u64],
    places: Option<f64>,
) -> Vec<MissRatio> {
    let total = tally.total();
    if total <= 0.0 || granularity == 0 {
        return Vec::new();
    }
    let always = tally.first + tally.invalidated;
    let ratio = |&bytes: &u64| {
        let value = (always + tally.at_least(bytes / u64::from(granularity))) / total;
        let ratio = match places {
            None => Estimate { value, low: value, high: value },
            Some(places) => {
                let band = wilson(value, places);
                Estimate { value, low: band.low, high: band.high }
            }
        };
        MissRatio { bytes, ratio }
    };
    sizes.iter().filter(|bytes| **bytes >= u64::from(granularity)).map(ratio).collect()
}

/// The miss ratio at a size: that of the largest size on the curve that is not above it, which is exact at the sizes
/// that [`sizes`] was given.
pub fn at(curve: &[MissRatio], bytes: u64) -> Option<Estimate> {
    let above = curve.partition_point(|point| point.bytes <= bytes);
    curve.get(above.checked_sub(1)?).map(|point| point.ratio)
}

/// Part of the avoidable misses that [`enough`] leaves.
const LEFT: f64 = 0.1;

/// Fewer avoidable misses than this by accesses are none.
const NOTHING: f64 = 1e-4;

/// The smallest size on the curve, above `bytes`, that avoids nine in ten of the misses that a larger cache than
/// `bytes` can avoid. `None` where there are next to none, or by the band may be none.
pub(super) fn enough(curve: &[MissRatio], bytes: u64) -> Option<u64> {
    let here = at(curve, bytes)?;
    let floor = curve.last()?.ratio.value;
    let avoidable = here.value - floor;
    if avoidable < NOTHING || here.low < floor {
        return None;
    }
    curve
        .iter()
        .find(|point| point.bytes > bytes && point.ratio.value <= floor + LEFT * avoidable)
        .map(|p| p.bytes)
}

#[cfg(test)]
mod tests {
    use carom_base::{LogBin, ReuseKind};

    use super::*;

    const KIB: u64 = 1 << 10;

    /// 100 accesses: 10 first ones, 60 reuses at no distance, 30 at 999 lines, so that 1,000 lines must fit.
    fn tally() -> Tally {
        let mut tally = Tally::default();
        tally.first = 10.0;
        tally.reuse(LogBin::of(0), ReuseKind::Rar, 60.0);
        tally.reuse(LogBin::of(999), ReuseKind::Rar, 30.0);
        tally
    }

    #[test]
    fn misses_are_what_does_not_fit() {
        let sizes = sizes(&[], 1000 * LINE_BYTES, KIB * 32);
        let curve = miss_ratios(&tally(), 64, &sizes, None);
        // 32 KiB are 512 lines, too few for 1,000; 64 KiB are 1,024.
        let at = |bytes| at(&curve, bytes).map(|ratio| (ratio.value * 100.0).round());
        assert_eq!(
            (at(KIB), at(32 * KIB), at(64 * KIB), at(1 << 40)),
            (Some(40.0), Some(40.0), Some(10.0), Some(10.0))
        );
        assert_eq!(at(512), None, "no such small cache was looked at");
        assert_eq!(enough(&curve, 32 * KIB), Some(64 * KIB));
        assert_eq!(enough(&curve, 64 * KIB), None);
        let uncertain =
            |point: &MissRatio| MissRatio { ratio: Estimate { low: 0.05, ..point.ratio }, ..*point };
        let curve: Vec<_> = curve.iter().map(uncertain).collect();
        assert_eq!(
            enough(&curve, 32 * KIB),
            None,
            "40% may as well be 5%, less than the 10% that no size avoids"
        );
    }

    #[test]
    fn sizes_have_the_machines_own() {
        let l2 = Cache { bytes: 1_310_720, ..Cache::default() };
        let sizes = sizes(&[l2], 0, 48 * KIB);
        assert!(
            sizes.contains(&1_310_720) && sizes.contains(&(48 * KIB)) && sizes.contains(&KIB),
            "{sizes:?}"
        );
        assert_eq!(sizes.last(), Some(&(2 << 20)), "the first power of two beyond");
        assert!(sizes.is_sorted());
    }

    #[test]
    fn a_sample_of_places_has_a_band() {
        let sizes = sizes(&[], 0, 32 * KIB);
        let curve = miss_ratios(&tally(), 64, &sizes, Some(100.0));
        let ratio = at(&curve, 32 * KIB).unwrap();
        // Wilson for 40 of 100: 0.309 to 0.498.
        assert!((ratio.low - 0.309).abs() < 1e-3 && (ratio.high - 0.498).abs() < 1e-3, "{ratio:?}");
    }
}
