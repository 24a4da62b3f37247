//! How long a contended line takes from one core to another on this machine, now.

use std::sync::{
    Barrier,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use std::thread;
use std::time::{Duration, Instant};

/// Rounds of the measurement, each a chance that both threads run all the while.
const ROUNDS: usize = 16;

/// Length of a round: many transfers, and shorter than a time slice.
const ROUND: Duration = Duration::from_micros(300);

/// Swaps between two looks at the clock.
const SWAPS: u64 = 64;

/// Fewer changes than this in a round are no contention: the threads did not run at the same time.
const FEWEST: u64 = 100;

/// Nanoseconds from one change of owner to the next of a line that two threads write as fast as they can: the median
/// over rounds of about 5 ms in all. `None` where two threads do not run at the same time, as on one processor.
///
/// What is measured is where the scheduler puts two threads, and in a virtual machine where the hypervisor puts its
/// processors: it can change from second to second.
pub(crate) fn transfer_ns() -> Option<u64> {
    if thread::available_parallelism().map_or(1, usize::from) < 2 {
        return None;
    }
    let line = Line(AtomicU64::new(0));
    let barrier = Barrier::new(2);
    let mut rounds = thread::scope(|scope| {
        let other = thread::Builder::new().spawn_scoped(scope, || contend(&line, &barrier, 1)).ok();
        // Without the other nobody would come to the barrier.
        let other = other?;
        let own = contend(&line, &barrier, 2);
        let others = other.join().ok()?;
        Some(own.into_iter().zip(others).filter_map(together).collect::<Vec<u64>>())
    })?;
    rounds.sort_unstable();
    rounds.get(rounds.len() / 2).copied()
}

/// Two lines, so that a neighbour that the hardware fetches along is ours too.
#[repr(align(128))]
struct Line(AtomicU64);

/// What one thread saw in a round.
struct Round {
    changes: u64,
    took: Duration,
}

fn contend(line: &Line, barrier: &Barrier, name: u64) -> Vec<Round> {
    (0..ROUNDS)
        .map(|_| {
            barrier.wait();
            let begun = Instant::now();
            let mut changes = 0;
            while begun.elapsed() < ROUND {
                changes += (0..SWAPS).filter(|_| line.0.swap(name, Relaxed) != name).count() as u64;
            }
            Round { changes, took: begun.elapsed() }
        })
        .collect()
}

/// Nanoseconds per change, from what the two threads saw.
fn together((one, other): (Round, Round)) -> Option<u64> {
    let changes = one.changes + other.changes;
    let time = one.took.max(other.took).as_nanos() as u64;
    (changes >= FEWEST).then(|| (time / changes).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_both_threads_count() {
        let round = |changes, us| Round { changes, took: Duration::from_micros(us) };
        // 300 us for 1,000 + 2,000 changes.
        assert_eq!(together((round(1_000, 300), round(2_000, 290))), Some(100));
        assert_eq!(together((round(0, 300), round(99, 300))), None);
        assert_eq!(together((round(500_000, 300), round(500_000, 300))), Some(1));
    }

    #[test]
    fn it_ends_and_is_not_zero() {
        assert!(transfer_ns().is_none_or(|ns| ns > 0));
    }
}
