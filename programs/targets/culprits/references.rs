//! Threads clone and drop one Arc, and change nothing else.
use std::sync::Arc;

fn main() {
    let text = Arc::new("settings".to_owned());
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let text = Arc::clone(&text);
            std::thread::spawn(move || {
                let mut bytes = 0;
                for _ in 0..20_000_000 {
                    let own = std::hint::black_box(Arc::clone(&text));
                    bytes += own.len();
                }
                bytes
            })
        })
        .collect();
    let bytes: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    println!("{bytes}");
}
