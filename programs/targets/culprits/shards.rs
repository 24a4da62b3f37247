//! A map in sixteen parts, each behind a mutex: too few for threads that do nothing else.
use std::{collections::HashMap, sync::Mutex, thread};

const PARTS: u64 = 16;

fn main() {
    let parts: Vec<Mutex<HashMap<u64, u64>>> = (0..PARTS).map(|_| Mutex::default()).collect();
    thread::scope(|scope| {
        for seed in 1..=4_u64 {
            let parts = &parts;
            scope.spawn(move || {
                let mut random = seed;
                for _ in 0..4_000_000 {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    let key = random % 4096;
                    *parts[(key % PARTS) as usize].lock().unwrap().entry(key).or_insert(0) += 1;
                }
            });
        }
    });
    let sum: u64 = parts.iter().map(|part| part.lock().unwrap().values().sum::<u64>()).sum();
    println!("{sum}");
}
