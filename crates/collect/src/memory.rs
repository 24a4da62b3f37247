//! Measures the time of a load from memory on this machine.

use std::hint::black_box;
use std::time::Instant;

use carom_store::CacheInfo;

/// The memory loaded from, in multiples of the largest cache, so that few loads hit there.
const TIMES_CACHE: u64 = 4;

/// Bounds of the memory loaded from: larger than today's caches, smaller than the memory of small machines.
const LEAST_BYTES: u64 = 64 << 20;
const MOST_BYTES: u64 = 512 << 20;

/// Loads in a row that are timed together: about a millisecond, less than a time slice.
const LOADS: u64 = 10_000;

/// So often is that done. The shortest counts: other programs only ever add to it.
const BATCHES: u64 = 20;

/// A line, which holds where the next one is.
#[derive(Clone)]
#[repr(align(64))]
struct Line(u64);

/// Nanoseconds from one load to the next, where each line names the next one, in a random order over more memory than
/// caches hold. With pages of 4 KiB this includes the page walk. `None` where that memory cannot be had.
pub(crate) fn memory_ns(caches: &[CacheInfo]) -> Option<u64> {
    let largest = caches.iter().map(|cache| cache.bytes).max().unwrap_or(0);
    let bytes = largest.saturating_mul(TIMES_CACHE).clamp(LEAST_BYTES, MOST_BYTES);
    let lines = circle(usize::try_from(bytes).ok()? / size_of::<Line>())?;
    let mut at = 0;
    let batch = |_| {
        let begun = Instant::now();
        at = black_box(chase(&lines, at, LOADS));
        begun.elapsed().as_nanos() / u128::from(LOADS)
    };
    let least = (0..BATCHES).map(batch).min()?;
    u64::try_from(least).ok().map(|ns| ns.max(1))
}

/// Follows the lines from one on for this number of loads, and returns the last line.
fn chase(lines: &[Line], from: u64, loads: u64) -> u64 {
    (0..loads).fold(from, |at, _| lines.get(at as usize).map_or(0, |line| line.0))
}

/// Lines that name each other in one random circle (Sattolo, "An algorithm to generate a random cyclic permutation",
/// Information Processing Letters 22, 1986).
fn circle(count: usize) -> Option<Vec<Line>> {
    let mut lines = Vec::new();
    lines.try_reserve_exact(count).ok()?;
    lines.extend((0..count as u64).map(Line));
    let mut state = 1u64;
    for last in (1..count).rev() {
        // Knuth's MMIX constants; the high bits are the better ones.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = ((u128::from(state) * last as u128) >> 64) as usize;
        lines.swap(last, other);
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lines_are_in_one_circle() {
        let lines = circle(1000).unwrap();
        // A walk first returns to its beginning after one step per line.
        assert_eq!(chase(&lines, 0, 1000), 0);
        assert!((1..1000).all(|steps| chase(&lines, 0, steps) != 0));
    }

    #[test]
    fn it_is_not_zero() {
        assert!(memory_ns(&[]).is_none_or(|ns| ns > 0));
    }
}
