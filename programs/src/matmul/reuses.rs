//! The reuses of lines in the two orders, and the cache size that holds each.

use serde::Serialize;

use super::Variant;
use crate::padded::LINE_BYTES;

/// Reuses of the lines of one matrix, from one iteration of a loop to the next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reuse {
    /// The matrix.
    pub object: &'static str,
    /// The loop whose next iteration comes back to the line; `i0`, `j0` for those over tiles.
    pub carried_by: &'static str,
    /// Of the loads of `a` and `b`.
    pub share_of_loads: f64,
    /// Lines accessed between the two, itself included, in bytes; those of `c`, few, are left out.
    pub bytes: f64,
}

/// Bytes of an element.
const ELEMENT: f64 = size_of::<f64>() as f64;

/// Bytes of a line, and elements in it.
const LINE: f64 = LINE_BYTES as f64;
const PER_LINE: f64 = LINE / ELEMENT;

/// All reuses. Half of the loads are of `a`, half of `b`; of either, one in eight begins a new line, in the direction
/// of rows. First accesses, one in 8 * size of each, and the ends of rows and tiles are left out.
pub fn reuses(variant: Variant, size: usize, tile: usize) -> Vec<Reuse> {
    /// Of all loads, those of either matrix.
    const HALF: f64 = 0.5;
    let n = size as f64;
    let new_line = HALF / PER_LINE;
    let same_line = HALF - new_line;
    // The innermost loop over k visits this many elements of a row of `a`, and as many lines of `b`.
    let run = match variant {
        Variant::Naive => n,
        Variant::Tiled => n.min(tile as f64),
    };
    let inner = run * (ELEMENT + LINE);
    let reuse =
        |object, carried_by, share_of_loads, bytes| Reuse { object, carried_by, share_of_loads, bytes };
    let mut reuses = vec![reuse("a", "k", same_line, 2.0 * LINE), reuse("b", "j", same_line, inner)];
    match variant {
        Variant::Naive => {
            reuses.push(reuse("a", "j", new_line, inner));
            reuses.push(reuse("b", "i", new_line, n * n * ELEMENT + 2.0 * n * ELEMENT));
        }
        Variant::Tiled => {
            // One in `run` begins a new tile; and then a row of tiles of one matrix and a column of the other, or all
            // of `b` and such a row, lie between.
            let new_tile = new_line / run;
            let stripe = run * n * ELEMENT;
            reuses.push(reuse("a", "j", new_line - new_tile, inner));
            reuses.push(reuse("a", "j0", new_tile, 2.0 * stripe));
            reuses.push(reuse("b", "i", new_line - new_tile, run * run * ELEMENT + 2.0 * run * ELEMENT));
            reuses.push(reuse("b", "i0", new_tile, n * n * ELEMENT + stripe));
        }
    }
    reuses
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines that the loops load, in order: `a` from line 0 on, `b` behind it.
    fn lines(variant: Variant, size: usize, tile: usize) -> Vec<usize> {
        let tile = if variant == Variant::Naive { size } else { tile };
        let starts = || (0..size).step_by(tile);
        let per_line = PER_LINE as usize;
        let mut lines = Vec::new();
        for (i0, j0, k0) in
            starts().flat_map(|i| starts().flat_map(move |j| starts().map(move |k| (i, j, k))))
        {
            for (i, j) in (i0..i0 + tile).flat_map(|i| (j0..j0 + tile).map(move |j| (i, j))) {
                for k in k0..k0 + tile {
                    lines.push((i * size + k) / per_line);
                    lines.push((size * size + k * size + j) / per_line);
                }
            }
        }
        lines
    }

    /// The fraction of all accesses that miss in an LRU cache of this many bytes.
    fn miss_ratio(lines: &[usize], bytes: f64) -> f64 {
        let capacity = (bytes / LINE) as usize;
        let mut stack: Vec<usize> = Vec::new();
        let mut misses = 0;
        for &line in lines {
            let depth = stack.iter().rev().position(|&other| other == line);
            misses += usize::from(depth.is_none_or(|depth| depth >= capacity));
            if let Some(depth) = depth {
                stack.remove(stack.len() - 1 - depth);
            }
            stack.push(line);
        }
        misses as f64 / lines.len() as f64
    }

    /// Against a simulation access by access, half-way between the sizes at which a reuse begins to fit. What is left
    /// out, with 64 rows and tiles of 16: first accesses, 2 * 64 * 64 / 8 of 2 * 64^3 loads or 0.2%, and at the end of
    /// a run over k in `a` a jump back, one in 16 of the new lines: 1/16 of 1/16, or 0.4%. Together less than 1%.
    #[test]
    fn a_cache_misses_the_reuses_that_do_not_fit() {
        const ALLOWED: f64 = 0.01;
        for variant in [Variant::Naive, Variant::Tiled] {
            let (size, tile) = (64, 16);
            let lines = lines(variant, size, tile);
            let mut reuses = reuses(variant, size, tile);
            let all: f64 = reuses.iter().map(|reuse| reuse.share_of_loads).sum();
            assert!((all - 1.0).abs() < 1e-12);
            reuses.sort_by(|one, other| one.bytes.total_cmp(&other.bytes));
            for (number, pair) in reuses.windows(2).enumerate() {
                let [fits, not] = pair else { unreachable!() };
                if fits.bytes * 1.2 < not.bytes {
                    let expected: f64 = reuses[number + 1..].iter().map(|reuse| reuse.share_of_loads).sum();
                    let ratio = miss_ratio(&lines, f64::midpoint(fits.bytes, not.bytes));
                    assert!(
                        (ratio - expected).abs() < ALLOWED,
                        "{variant:?} {not:?}: {ratio}, not {expected}"
                    );
                }
            }
        }
    }
}
