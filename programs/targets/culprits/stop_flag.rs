//! Workers look at a flag, and count what they have done.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

struct Progress {
    stop: AtomicBool,
    done: AtomicU64,
}

fn main() {
    let progress = Arc::new(Progress { stop: AtomicBool::new(false), done: AtomicU64::new(0) });
    let workers: Vec<_> = (0..4)
        .map(|n| {
            let progress = Arc::clone(&progress);
            thread::spawn(move || {
                let mut hash = n as u64;
                while !progress.stop.load(Ordering::Relaxed) {
                    for _ in 0..8 {
                        hash = hash.rotate_left(7).wrapping_mul(0x9E3779B97F4A7C15);
                    }
                    progress.done.fetch_add(1, Ordering::Relaxed);
                }
                hash
            })
        })
        .collect();
    thread::sleep(Duration::from_millis(800));
    progress.stop.store(true, Ordering::Relaxed);
    let hashes: u64 = workers.into_iter().map(|worker| worker.join().unwrap() & 1).sum();
    println!("{} {}", progress.done.load(Ordering::Relaxed), hashes);
}
