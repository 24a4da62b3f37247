//! One atomic counter for each thread, side by side in a vector.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[cfg_attr(fix, repr(align(64)))]
#[derive(Default)]
struct Counter(AtomicU64);

fn main() {
    let counters: Vec<Counter> = (0..4).map(|_| Counter::default()).collect();
    std::thread::scope(|scope| {
        for counter in &counters {
            scope.spawn(move || {
                for _ in 0..30_000_000 {
                    counter.0.fetch_add(1, Relaxed);
                }
            });
        }
    });
    println!("{}", counters.iter().map(|counter| counter.0.load(Relaxed)).sum::<u64>());
}
