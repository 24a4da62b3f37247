//! The loops: one load of a line each time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::random::Random;

/// A line of memory. Its first word is what the loops load.
#[repr(align(64))]
pub struct Line(AtomicU64);

/// Lines whose words lead from one to the next, in one cycle through all of them that is drawn by chance (Sattolo,
/// Information Processing Letters 22(6), 1986).
pub fn cycle(lines: usize, random: &mut Random) -> Vec<Line> {
    let mut order: Vec<u64> = (0..lines as u64).collect();
    for last in (1..lines).rev() {
        order.swap(last, random.below(last as u64) as usize);
    }
    order.into_iter().map(|next| Line(AtomicU64::new(next))).collect()
}

/// Line after line, from the first one again behind the last.
#[inline(never)]
pub fn stream_lines(lines: &[Line], accesses: u64) -> u64 {
    let mut sum = 0;
    let mut left = accesses;
    while left > 0 && !lines.is_empty() {
        let now = lines.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        for line in &lines[..now] {
            sum ^= line.0.load(Relaxed);
        }
        left -= now as u64;
    }
    sum
}

/// A line drawn by chance, each time.
#[inline(never)]
pub fn random_lines(lines: &[Line], accesses: u64, mut random: Random) -> u64 {
    let mut sum = 0;
    for _ in 0..accesses {
        sum ^= lines[random.below(lines.len() as u64) as usize].0.load(Relaxed);
    }
    sum
}

/// The line that the last one led to.
#[inline(never)]
pub fn chase_lines(lines: &[Line], accesses: u64) -> u64 {
    let mut at = 0;
    for _ in 0..accesses {
        at = lines[at as usize].0.load(Relaxed);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cycle_leads_through_all_lines_and_back() {
        for lines in [1, 2, 3, 100] {
            let cycle = cycle(lines, &mut Random::new(1, 0));
            let ends: Vec<u64> = (1..=lines as u64).map(|steps| chase_lines(&cycle, steps)).collect();
            assert_eq!(ends.iter().position(|&at| at == 0), Some(lines - 1), "{ends:?}");
        }
    }

    #[test]
    fn a_stream_begins_again() {
        let lines: Vec<Line> = [1, 2, 4].map(|word| Line(AtomicU64::new(word))).into();
        // 1 ^ 2 ^ 4 ^ 1 = 6.
        assert_eq!((stream_lines(&lines, 4), stream_lines(&lines, 0), stream_lines(&[], 9)), (6, 0, 0));
    }
}
