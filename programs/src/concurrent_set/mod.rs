//! Sets of keys that all threads search and change, as in benchmarks of concurrent data structures. The lock, the
//! links between nodes and the memory of removed nodes bounce there.

mod chain;
mod lock_free;
mod locks;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::json;

use crate::error::Error;
use crate::neighbours;
use crate::options::Common;
use crate::output::{Output, parameters};
use crate::random::{Chance, Random};
use crate::runner;
use chain::Locked;
use lock_free::LockFree;
use locks::{PthreadMutex, SpinLock};

/// How threads use the same data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Sync {
    /// Not at all: each has a part of its own.
    Partitioned,
    /// Under a spinlock.
    Spinlock,
    /// Under a mutex of the C library.
    Mutex,
    /// Without locks: a list after Harris and Michael.
    LockFree,
}

/// The options of a set that threads share.
#[derive(Args, Clone, Copy, Debug)]
pub struct Settings {
    /// Whether, and how, the threads use the same data.
    #[arg(long, value_enum, default_value_t = Sync::Partitioned)]
    pub sync: Sync,

    /// Operations that insert or remove, in percent; the others look a key up.
    #[arg(long, default_value_t = 20.0, value_parser = percentage)]
    pub updates: f64,

    /// Keys are drawn from 0 to RANGE - 1; half of them are there at the beginning.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    pub range: u64,
}

fn percentage(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("not between 0 and 100".to_owned()),
    }
}

/// A set of keys for any number of threads.
trait Set: std::marker::Sync {
    /// An empty one.
    fn new() -> Self;
    /// False where the key is there already.
    fn insert(&self, key: u64) -> bool;
    /// False where the key is not there.
    fn remove(&self, key: u64) -> bool;
    /// Whether the key is there.
    fn contains(&self, key: u64) -> bool;
    /// The number of keys, while no thread changes the set.
    fn len(&self) -> u64;
}

/// What one thread did.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    operations: u64,
    found: u64,
    inserted: u64,
    removed: u64,
}

/// Runs `workload` on a table of `buckets` buckets, each of which is a set.
///
/// # Errors
/// As [`runner::run`].
pub fn run(
    workload: &'static str,
    settings: &Settings,
    common: &Common,
    buckets: u64,
) -> Result<Output, Error> {
    match settings.sync {
        Sync::Partitioned | Sync::Spinlock => {
            run_with::<Locked<SpinLock>>(workload, settings, common, buckets)
        }
        Sync::Mutex => run_with::<Locked<PthreadMutex>>(workload, settings, common, buckets),
        Sync::LockFree => run_with::<LockFree>(workload, settings, common, buckets),
    }
}

fn run_with<S: Set>(
    workload: &'static str,
    settings: &Settings,
    common: &Common,
    buckets: u64,
) -> Result<Output, Error> {
    let table: Vec<S> = (0..buckets).map(|_| S::new()).collect();
    let bucket = |key: u64| &table[(key % buckets) as usize];
    let initial = (0..settings.range).step_by(2).filter(|&key| bucket(key).insert(key)).count() as u64;
    let finished = runner::run(common.team(), |worker| {
        let mut random = Random::new(common.seed, worker);
        let updates = Chance::new(settings.updates / 100.0);
        let mut counted = Counted::default();
        let mut inserts = true;
        for pass in common.length().passes() {
            for _ in 0..pass {
                let key = random.below(settings.range);
                if !updates.hits(random.next()) {
                    counted.found += u64::from(bucket(key).contains(key));
                } else if inserts {
                    counted.inserted += u64::from(bucket(key).insert(key));
                    inserts = false;
                } else {
                    counted.removed += u64::from(bucket(key).remove(key));
                    inserts = true;
                }
            }
            counted.operations += pass;
        }
        counted
    })?;

    let each = |count: fn(&Counted) -> u64| finished.results.iter().map(count).collect::<Vec<u64>>();
    let (operations, inserted, removed) =
        (each(|all| all.operations), each(|all| all.inserted), each(|all| all.removed));
    let entries = initial + inserted.iter().sum::<u64>() - removed.iter().sum::<u64>();
    Ok(Output {
        workload,
        parameters: parameters(
            common,
            &finished,
            json!({ "sync": settings.sync, "updates_percent": settings.updates, "range": settings.range, "buckets": buckets }),
        ),
        expected: json!({ "entries": entries }),
        measured: json!({
            "operations_per_s": neighbours::per_second(&operations, finished.wall),
            "iterations": operations,
            "found": each(|all| all.found),
            "inserted": inserted,
            "removed": removed,
            "entries": table.iter().map(S::len).sum::<u64>(),
            "wall_s": finished.wall.as_secs_f64(),
        }),
        notes: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behaves<S: Set>() {
        let set = S::new();
        assert!(set.insert(5) && set.insert(1) && set.insert(9));
        assert!(!set.insert(5) && set.contains(5) && !set.contains(4) && !set.remove(4));
        assert!(set.remove(5) && !set.remove(5) && !set.contains(5));
        assert!(set.contains(1) && set.contains(9));
        assert_eq!(set.len(), 2);
    }

    /// Every key is inserted as often as it was absent, and removed as often as it was present.
    fn keeps_count<S: Set>() {
        let set = S::new();
        let change = |seed| {
            let mut random = Random::new(seed, 0);
            (0..20_000).fold(0i64, |sum, turn| {
                let key = random.below(16);
                sum + if turn % 2 == 0 { i64::from(set.insert(key)) } else { -i64::from(set.remove(key)) }
            })
        };
        let change = &change;
        let sum: i64 = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || change(seed))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(set.len() as i64, sum);
    }

    #[test]
    fn all_kinds_are_sets() {
        behaves::<Locked<SpinLock>>();
        behaves::<Locked<PthreadMutex>>();
        behaves::<LockFree>();
    }

    #[test]
    fn all_kinds_keep_count_among_threads() {
        keeps_count::<Locked<SpinLock>>();
        keeps_count::<Locked<PthreadMutex>>();
        keeps_count::<LockFree>();
    }
}
