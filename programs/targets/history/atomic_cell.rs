//! Four threads, each with sixteen cells of its own. The cells are too large for an atomic instruction, so the library locks.

use crossbeam_utils::atomic::AtomicCell;

const ROUNDS: u64 = 150_000_000;
const EACH: usize = 16;

/// A cache line, so that the cells themselves share none.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Position([u64; 8]);

fn main() {
    let cells: Vec<AtomicCell<Position>> = (0..4 * EACH).map(|_| AtomicCell::new(Position([0; 8]))).collect();
    std::thread::scope(|scope| {
        for own in cells.chunks(EACH) {
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    own[round as usize % EACH].store(Position([round; 8]));
                }
            });
        }
    });
    println!("{}", cells.iter().map(|cell| cell.load().0[0]).sum::<u64>());
}
