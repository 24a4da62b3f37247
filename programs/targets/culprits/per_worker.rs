//! A vector with an atomic number for each worker.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

fn main() {
    let workers = 4;
    let processed: Arc<Vec<AtomicU64>> = Arc::new((0..workers).map(|_| AtomicU64::new(0)).collect());
    let handles: Vec<_> = (0..workers)
        .map(|worker| {
            let processed = Arc::clone(&processed);
            thread::spawn(move || {
                let mut state = worker as u64 + 1;
                for _ in 0..40_000_000u64 {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                    if state >> 60 != 0 {
                        processed[worker].fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    for handle in handles {
        handle.join().unwrap();
    }
    println!("{}", processed.iter().map(|n| n.load(Ordering::Relaxed)).sum::<u64>());
}
