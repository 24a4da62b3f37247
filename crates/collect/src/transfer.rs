//! Measures the time that a contended line takes from one core to another on this machine.

use std::sync::{
    Barrier,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use std::thread;
use std::time::{Duration, Instant};

use carom_store::CpuInfo;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Rounds of the measurement, each a chance that both threads run all the while.
const ROUNDS: usize = 16;

/// Length of a round: many transfers, and shorter than a time slice.
const ROUND: Duration = Duration::from_micros(300);

/// Swaps between two looks at the clock.
const SWAPS: u64 = 64;

/// Fewer changes than this in a round are no contention: the threads did not run at the same time.
const FEWEST: u64 = 100;

/// Nanoseconds from one change of owner to the next of a line that two threads write as fast as they can, each on a
/// core of its own: the median over rounds of about 5 ms in all. `None` where this process may not use two cores, or
/// two threads did not run at the same time.
///
/// In a virtual machine it depends on where the hypervisor runs its processors, and can change from second to second.
pub(crate) fn transfer_ns(cpus: &[CpuInfo]) -> Option<u64> {
    let allowed = sched_getaffinity(None).ok()?;
    let [one, other] = two_cores(cpus, |cpu| allowed.is_set(cpu))?;
    let line = Line(AtomicU64::new(0));
    let barrier = Barrier::new(2);
    let mut rounds = thread::scope(|scope| {
        let contend_on = |name, cpu| {
            let (line, barrier) = (&line, &barrier);
            thread::Builder::new().spawn_scoped(scope, move || {
                let mut only = CpuSet::new();
                only.set(cpu);
                // Where that fails the threads may still run apart.
                let _ = sched_setaffinity(None, &only);
                contend(line, barrier, name)
            })
        };
        let first = contend_on(1, one).ok()?;
        let Ok(second) = contend_on(2, other) else {
            // The first thread must not wait for ever.
            for _ in 0..ROUNDS {
                barrier.wait();
            }
            return None;
        };
        let (first, second) = (first.join().ok()?, second.join().ok()?);
        Some(first.into_iter().zip(second).filter_map(together).collect::<Vec<u64>>())
    })?;
    rounds.sort_unstable();
    rounds.get(rounds.len() / 2).copied()
}

/// The first processor that may be used, and the next one of another core.
fn two_cores(cpus: &[CpuInfo], allowed: impl Fn(usize) -> bool) -> Option<[usize; 2]> {
    let mut usable = cpus.iter().filter(|info| allowed(info.cpu.0 as usize));
    let one = usable.next()?;
    let other = usable.find(|info| (info.package, info.core) != (one.package, one.core))?;
    Some([one.cpu.0 as usize, other.cpu.0 as usize])
}

/// Two lines, because the hardware may fetch the neighbour along.
#[repr(align(128))]
struct Line(AtomicU64);

/// One thread's observations in a round.
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

/// Nanoseconds per change, from the observations of both threads.
fn together((one, other): (Round, Round)) -> Option<u64> {
    let changes = one.changes + other.changes;
    let time = one.took.max(other.took).as_nanos() as u64;
    (changes >= FEWEST).then(|| (time / changes).max(1))
}

#[cfg(test)]
mod tests {
    use carom_base::Cpu;

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
    fn hardware_threads_of_one_core_are_not_two() {
        let cpu = |cpu, core, package| CpuInfo { cpu: Cpu(cpu), core, package, node: 0 };
        // Processors 0 and 1 are one core; core 0 of the other package is another.
        let cpus = [cpu(0, 0, 0), cpu(1, 0, 0), cpu(2, 0, 1), cpu(3, 1, 1)];
        assert_eq!(two_cores(&cpus, |_| true), Some([0, 2]));
        assert_eq!(two_cores(&cpus, |cpu| cpu != 2), Some([0, 3]));
        assert_eq!(two_cores(&cpus, |cpu| cpu < 2), None);
    }

    #[test]
    fn it_ends_and_is_not_zero() {
        let cpus = [0, 1].map(|cpu| CpuInfo { cpu: Cpu(cpu), core: cpu, package: 0, node: 0 });
        assert!(transfer_ns(&cpus).is_none_or(|ns| ns > 0));
        assert_eq!(transfer_ns(&[]), None);
    }
}
