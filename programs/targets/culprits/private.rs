//! Threads that sort numbers of their own, and share nothing.
fn sorted(seed: u64) -> u64 {
    let mut x = seed;
    let mut numbers: Vec<u64> = (0..3_000_000)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x
        })
        .collect();
    numbers.sort_unstable();
    numbers[numbers.len() / 2]
}

fn main() {
    let threads: Vec<_> = (1..5).map(|seed| std::thread::spawn(move || sorted(seed))).collect();
    for thread in threads {
        println!("{}", thread.join().unwrap());
    }
}
