//! Threads read a table under a lock of the standard library that lets readers share.
use std::collections::HashMap;
use std::sync::RwLock;

static PRICES: RwLock<Option<HashMap<u32, u64>>> = RwLock::new(None);

fn price(of: u32) -> u64 {
    PRICES.read().unwrap().as_ref().map_or(0, |prices| prices[&of])
}

fn all() -> u64 {
    if cfg!(fix) {
        let prices = PRICES.read().unwrap().clone().unwrap();
        return (0..5_000_000).map(|i| prices[&(i % 100)]).sum();
    }
    (0..5_000_000).map(|i| price(i % 100)).sum()
}

fn main() {
    *PRICES.write().unwrap() = Some((0..100).map(|of| (of, u64::from(of) * 3)).collect());
    let sum: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(all)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    println!("{sum}");
}
