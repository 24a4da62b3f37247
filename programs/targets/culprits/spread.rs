//! Threads clone and drop Arcs of two thousand objects, and change nothing else.
use std::sync::Arc;

struct Symbol {
    price: u64,
}

fn main() {
    let symbols: Vec<Arc<Symbol>> = (0..2000).map(|price| Arc::new(Symbol { price })).collect();
    let sum: u64 = std::thread::scope(|scope| {
        let symbols = &symbols;
        let threads = (1..5_u64).map(|seed| {
            scope.spawn(move || {
                let (mut x, mut sum) = (seed, 0);
                for _ in 0..10_000_000 {
                    x ^= x << 13;
                    x ^= x >> 7;
                    x ^= x << 17;
                    let of = &symbols[(x % 2000) as usize];
                    if cfg!(fix) {
                        sum += std::hint::black_box(of).price;
                    } else {
                        sum += std::hint::black_box(Arc::clone(of)).price;
                    }
                }
                sum
            })
        });
        threads.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    println!("{sum}");
}
