//! Threads add to one number under a mutex of the standard library.
use std::sync::{Arc, Mutex};

fn main() {
    let total = Arc::new(Mutex::new(0_u64));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let total = Arc::clone(&total);
            std::thread::spawn(move || {
                for i in 0..3_000_000_u64 {
                    *total.lock().unwrap() += i;
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    println!("{}", total.lock().unwrap());
}
