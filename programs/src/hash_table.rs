//! A hash table whose neighbouring buckets belong to different threads: false sharing, as in a table that is divided
//! among threads by the low bits of a hash. With `--sync` all threads use the whole table.

use std::hint::spin_loop;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use clap::Args;
use serde_json::{Value, json};

use crate::concurrent_set::{self, Sync};
use crate::error::Error;
use crate::neighbours::{self, Field};
use crate::options::Common;
use crate::output::{Output, parameters};
use crate::padded::Padded;
use crate::random::Random;
use crate::runner;

/// Inserts and deletes keys in a hash table. Each thread has keys and buckets of its own, but bucket b belongs to
/// thread b modulo THREADS: the buckets of one line have different owners.
///
/// An operation draws one of the thread's keys and deletes it if it is there, else inserts it. No datum is ever accessed
/// by two threads, so all sharing is false; with --padded there is none.
///
/// With --sync spinlock, mutex or lock-free all threads look up, insert and remove keys in all buckets, each a sorted list.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  carom-workloads hash-table --threads 2 --seconds 4
  carom-workloads hash-table --sync mutex --updates 40 --range 65536 --buckets 1024
  carom-workloads hash-table --threads 2 --seconds 4 --padded")]
pub struct Options {
    #[command(flatten)]
    common: Common,

    /// Buckets of all threads together.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=MAX_BUCKETS as u64))]
    buckets: u64,

    /// Give each bucket lines of its own.
    #[arg(long)]
    padded: bool,

    #[command(flatten)]
    shared: concurrent_set::Settings,
}

/// What the static tables have room for.
const MAX_BUCKETS: usize = 4096;

/// A chain of the keys of one bucket, under a lock.
struct Bucket {
    lock: AtomicU32,
    /// Length of the chain.
    entries: AtomicU32,
    /// The tag of the first key, 0 for none.
    head: AtomicU64,
}

impl Bucket {
    const fn new() -> Self {
        Self { lock: AtomicU32::new(0), entries: AtomicU32::new(0), head: AtomicU64::new(0) }
    }

    const FIELDS: [Field; 3] = [
        Field { name: "lock", offset_bytes: offset_of!(Bucket, lock), bytes: size_of::<AtomicU32>() },
        Field { name: "entries", offset_bytes: offset_of!(Bucket, entries), bytes: size_of::<AtomicU32>() },
        Field { name: "head", offset_bytes: offset_of!(Bucket, head), bytes: size_of::<AtomicU64>() },
    ];

    /// Runs `change` with the lock held.
    fn locked<T>(&self, change: impl FnOnce() -> T) -> T {
        while self.lock.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
            spin_loop();
        }
        let result = change();
        self.lock.store(0, Release);
        result
    }
}

/// Neighbours share lines.
static BUCKETS: Padded<[Bucket; MAX_BUCKETS]> = Padded([const { Bucket::new() }; MAX_BUCKETS]);

/// Neighbours do not.
static PADDED_BUCKETS: [Padded<Bucket>; MAX_BUCKETS] = [const { Padded(Bucket::new()) }; MAX_BUCKETS];

/// The number of keys of a bucket; half of them, on average, are in it.
const KEYS_PER_BUCKET: u64 = 4;

/// One thread's part of the table.
struct Part<'a> {
    /// The bucket of this number among the thread's own.
    bucket: &'a dyn Fn(u64) -> &'static Bucket,
    /// The tag of the key behind each key in its chain. A key's tag is one more than the key, so that 0 ends a chain.
    next: Vec<Padded<[u64; TAGS_TOGETHER]>>,
}

/// Tags that fill the lines of a [`Padded`].
const TAGS_TOGETHER: usize = align_of::<Padded<u64>>() / size_of::<u64>();

/// What one thread counted.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    inserted: u64,
    deleted: u64,
}

impl Part<'_> {
    fn new(bucket: &dyn Fn(u64) -> &'static Bucket, buckets: u64) -> Part<'_> {
        let tags = (buckets * KEYS_PER_BUCKET) as usize;
        let next = (0..tags.div_ceil(TAGS_TOGETHER)).map(|_| Padded([0; TAGS_TOGETHER])).collect();
        Part { bucket, next }
    }

    /// The tag of the key behind this one.
    fn behind(&mut self, key: u64) -> &mut u64 {
        let key = key as usize;
        &mut self.next[key / TAGS_TOGETHER][key % TAGS_TOGETHER]
    }

    /// Deletes the key if it is there, else inserts it. Whether it was inserted.
    #[inline(never)]
    fn toggle(&mut self, key: u64) -> bool {
        let bucket = (self.bucket)(key / KEYS_PER_BUCKET);
        bucket.locked(|| {
            let inserted = !self.delete(bucket, key);
            let entries = bucket.entries.load(Relaxed);
            if inserted {
                *self.behind(key) = bucket.head.load(Relaxed);
                bucket.head.store(key + 1, Relaxed);
                bucket.entries.store(entries + 1, Relaxed);
            } else {
                bucket.entries.store(entries - 1, Relaxed);
            }
            inserted
        })
    }

    /// Takes the key out of its chain. Whether it was there.
    fn delete(&mut self, bucket: &Bucket, key: u64) -> bool {
        let tag = key + 1;
        let mut at = bucket.head.load(Relaxed);
        if at == tag {
            bucket.head.store(*self.behind(key), Relaxed);
            return true;
        }
        while at != 0 {
            let behind = *self.behind(at - 1);
            if behind == tag {
                *self.behind(at - 1) = *self.behind(key);
                return true;
            }
            at = behind;
        }
        false
    }
}

/// Runs the workload.
///
/// # Errors
/// Where threads have no bucket, or cannot be started or pinned.
pub fn run(options: &Options) -> Result<Output, Error> {
    if options.shared.sync != Sync::Partitioned {
        return concurrent_set::run("hash-table", &options.shared, &options.common, options.buckets);
    }
    let (threads, padded) = (options.common.threads, options.padded);
    let own = options.buckets / threads as u64;
    if own == 0 {
        return Err(Error::TooFewBuckets { buckets: options.buckets, threads });
    }
    let finished = runner::run(options.common.team(), |worker| {
        let number = |own| own as usize * threads + worker;
        let bucket: &dyn Fn(u64) -> &'static Bucket =
            if padded { &|own| &PADDED_BUCKETS[number(own)] } else { &|own| &BUCKETS[number(own)] };
        let mut part = Part::new(bucket, own);
        let mut random = Random::new(options.common.seed, worker);
        let mut counted = Counted::default();
        for pass in options.common.length().passes() {
            for _ in 0..pass {
                let inserted = part.toggle(random.below(own * KEYS_PER_BUCKET));
                counted.inserted += u64::from(inserted);
                counted.deleted += u64::from(!inserted);
            }
        }
        counted
    })?;

    let used = own as usize * threads;
    let each = |count: fn(&Counted) -> u64| finished.results.iter().map(count).collect::<Vec<u64>>();
    let operations = each(|counted| counted.inserted + counted.deleted);
    let bucket = |number: usize| if padded { &*PADDED_BUCKETS[number] } else { &BUCKETS[number] };
    let entries: u64 = (0..used).map(|number| u64::from(bucket(number).entries.load(Relaxed))).sum();
    Ok(Output {
        workload: "hash-table",
        parameters: parameters(
            &options.common,
            &finished,
            json!({ "buckets": options.buckets, "padded": padded }),
        ),
        expected: expected(padded, used, threads),
        measured: json!({
            "operations_per_s": neighbours::per_second(&operations, finished.wall),
            "iterations": operations,
            "inserted": each(|counted| counted.inserted),
            "deleted": each(|counted| counted.deleted),
            "entries": entries,
            "wall_s": finished.wall.as_secs_f64(),
        }),
        notes: Vec::new(),
    })
}

fn expected(padded: bool, used: usize, threads: usize) -> Value {
    let name = if padded { "PADDED_BUCKETS" } else { "BUCKETS" };
    let place = |number: usize| {
        let bucket = if padded { &*PADDED_BUCKETS[number] } else { &BUCKETS[number] };
        std::ptr::from_ref(bucket) as usize
    };
    let lines = neighbours::shared_lines(name, used, size_of::<Bucket>(), threads, place);
    json!({
        "object": { "kind": "global", "name": name, "function": "toggle" },
        "element_bytes": place(1) - place(0),
        "fields": Bucket::FIELDS,
        "false_fraction": if lines.is_empty() { Value::Null } else { json!(1.0) },
        "lines": lines,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_and_go() {
        static ONE: Bucket = Bucket::new();
        let only = |_| &ONE;
        let mut part = Part::new(&only, 1);
        // 0, 1 and 2 are inserted; 1 leaves the middle of the chain, 2 its head, 0 its end; 1 is inserted again.
        let inserted = [0, 1, 2, 1, 2, 0, 1].map(|key| part.toggle(key));
        assert_eq!(inserted, [true, true, true, false, false, false, true]);
        assert_eq!((ONE.entries.load(Relaxed), ONE.head.load(Relaxed), ONE.lock.load(Relaxed)), (1, 2, 0));
    }
}
