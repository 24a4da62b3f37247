//! How long loads take that hit a cache of this machine, timed one by one.
//!
//! ```text
//!   lfence; rdtsc; lfence; the load; lfence; rdtsc
//! ```
//!
//! Translated code times loads in the same way (`carom-collect-translate`, `observe/timing.rs`): what both take without a
//! load is subtracted on either side.

use std::arch::asm;

/// Loads of a batch: they take about a tenth of a millisecond, so that on a busy machine some batches run undisturbed.
const BATCH: usize = 1 << 10;

/// What is taken for a hit's latency: this part of a batch's loads take no longer. Interrupts, refreshes of memory and lines
/// that others have pushed out are among the rest.
const PART: f64 = 0.75;

/// So many batches are timed at least.
const BATCHES: usize = 64;

/// This part of the batches take no longer than what counts. Other programs only ever add to a batch; the least one would be
/// by chance, too, where the counter ticks in steps of the length of a hit.
const UNDISTURBED: f64 = 0.25;

/// A line of memory.
#[derive(Clone)]
#[repr(align(64))]
struct Line(u64);

/// Ticks of the time-stamp counter that loads take from a cache into which `bytes` fit, and which are too many for the
/// caches before it. Takes some milliseconds for each MiB. `None` where that memory cannot be had.
pub fn hit_ticks(bytes: u64) -> Option<u32> {
    let count = usize::try_from(bytes).ok()? / size_of::<Line>();
    let mut lines = Vec::new();
    lines.try_reserve_exact(count).ok()?;
    lines.extend((0..count as u64).map(Line));
    shuffle(&mut lines);
    // Each line names one: in an order that nothing can fetch ahead, all of them. By numbers, since some processors do fetch
    // ahead what an array of pointers points to (Intel, "Data Dependent Prefetcher", since Alder Lake and Sapphire Rapids).
    let order: Vec<usize> = lines.iter().map(|line| line.0 as usize).collect();
    let load = |&number: &usize| lines.get(number).map_or(0, ticks);
    order.iter().for_each(|number| {
        load(number);
    });
    let nothing = percentile((0..BATCH).map(|_| ticks_of_nothing()).collect(), 0.5);
    // One pass after the other over all lines, so that each load finds its line where all of them have room, and no nearer.
    let passes = BATCHES.div_ceil(order.len().div_ceil(BATCH).max(1));
    let batch = |numbers: &[usize]| percentile(numbers.iter().map(load).collect(), PART);
    let hits: Vec<u32> = (0..passes).flat_map(|_| order.chunks(BATCH)).map(batch).collect();
    Some(percentile(hits, UNDISTURBED).saturating_sub(nothing))
}

/// The steps in which the time-stamp counter ticks, as far as loads tell that hit the nearest cache: less than that is no
/// time that it can measure.
pub fn tick_step() -> u32 {
    let line = Line(0);
    step_of((0..8 * BATCH).map(|_| ticks(&line)).collect())
}

/// The widest gap between times of one thing that are measured in the same way, without the rare long ones.
fn step_of(mut ticks: Vec<u32>) -> u32 {
    ticks.sort_unstable();
    ticks.truncate((ticks.len() as f64 * 0.99) as usize);
    let gaps = ticks.windows(2).filter_map(|pair| match pair {
        [one, next] => Some(next - one),
        _ => None,
    });
    gaps.max().unwrap_or(0).max(1)
}

/// The value that this part of the others does not exceed.
fn percentile(mut ticks: Vec<u32>, part: f64) -> u32 {
    ticks.sort_unstable();
    let at = ((ticks.len().saturating_sub(1)) as f64 * part) as usize;
    ticks.get(at).copied().unwrap_or_default()
}

/// A random order (Knuth, The Art of Computer Programming, volume 2, algorithm P), of numbers by his MMIX constants.
fn shuffle(lines: &mut [Line]) {
    let mut state = 1u64;
    for last in (1..lines.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = ((u128::from(state) * (last as u128 + 1)) >> 64) as usize;
        lines.swap(last, other);
    }
}

fn ticks(line: &Line) -> u32 {
    let (begin, end): (u32, u32);
    // SAFETY: reads the counter and a valid word.
    unsafe {
        asm!(
            "lfence", "rdtsc", "mov {begin:e}, eax", "lfence", "mov {word}, [{line}]", "lfence", "rdtsc",
            begin = out(reg) begin, word = out(reg) _, line = in(reg) line, out("eax") end, out("edx") _,
            options(nostack, readonly, preserves_flags),
        );
    }
    end.wrapping_sub(begin)
}

fn ticks_of_nothing() -> u32 {
    let (begin, end): (u32, u32);
    // SAFETY: reads the counter.
    unsafe {
        asm!(
            "lfence", "rdtsc", "mov {begin:e}, eax", "lfence", "lfence", "rdtsc",
            begin = out(reg) begin, out("eax") end, out("edx") _,
            options(nostack, nomem, preserves_flags),
        );
    }
    end.wrapping_sub(begin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_of_a_counter_are_told_from_what_it_says() {
        let some = |values: &[(u32, usize)]| -> Vec<u32> {
            values.iter().flat_map(|&(value, times)| std::iter::repeat_n(value, times)).collect()
        };
        // In steps of 24 or 25, with an interrupt; in fine steps; and always the same.
        assert_eq!(step_of(some(&[(49, 700), (24, 150), (25, 140), (9_000, 2)])), 24);
        assert_eq!(step_of(some(&[(30, 500), (32, 400), (31, 90), (34, 20), (800, 3)])), 2);
        assert_eq!(step_of(some(&[(40, 1_000)])), 1);
        println!("here: {}", tick_step());
    }

    #[test]
    fn farther_hits_take_longer() {
        let [near, far] = [16 << 10, 64 << 20].map(|bytes| hit_ticks(bytes).unwrap());
        println!(
            "16 KiB: {near}, 256 KiB: {:?}, 8 MiB: {:?}, 64 MiB: {far}",
            hit_ticks(256 << 10),
            hit_ticks(8 << 20)
        );
        assert!(near < far, "{near} {far}");
    }

    #[test]
    fn a_part_does_not_exceed_the_percentile() {
        assert_eq!(percentile((1..=11).rev().collect(), 0.9), 10);
        assert_eq!(percentile(Vec::new(), 0.5), 0);
    }
}
