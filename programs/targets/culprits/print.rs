//! Threads print to the standard output.

fn main() {
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || (0..600_000).for_each(|i| println!("{thread} {i}")));
        }
    });
}
