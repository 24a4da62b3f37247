//! A vector in pieces of five numbers, one for each thread.
use std::thread;

fn count(seed: u32, totals: &mut [u64]) {
    let mut state = seed;
    for _ in 0..40_000_000 {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        totals[(state >> 16) as usize % 5] += 1;
    }
}

fn main() {
    let mut totals = vec![0u64; 20];
    thread::scope(|scope| {
        for (seed, part) in (1..).zip(totals.chunks_mut(5)) {
            scope.spawn(move || {
                if cfg!(fix) {
                    let mut own = [0; 5];
                    count(seed, &mut own);
                    part.copy_from_slice(&own);
                } else {
                    count(seed, part);
                }
            });
        }
    });
    println!("{totals:?}");
}
