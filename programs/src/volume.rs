//! What write-volume and point-to-point have in common: a thread that writes a word shared with others, or a
//! private one, and counts the first.

use std::hint::black_box;
use std::sync::atomic::AtomicU64;

use serde_json::{Map, Value, json};

use crate::choose::{Choice, Taken};
use crate::company::Company;
use crate::counts;
use crate::operation::{Operation, OwnerSwap, Swap};
use crate::options::Common;
use crate::padded::{MAX_THREADS, Padded};
use crate::random::{Chance, Random};

/// What a swapping thread leaves in the shared word: its number plus one, since the word begins as 0.
fn signature(worker: usize) -> usize {
    worker + 1
}

/// One thread of such a workload.
pub struct Sharer<'a> {
    /// The thread's number.
    pub worker: usize,
    /// The word that it shares.
    pub word: &'a AtomicU64,
    /// The chance of an access to it.
    pub chance: Chance,
    /// Whether the thread that it shares the word with runs at the same time, where that is to be counted.
    pub company: Option<Company<'a>>,
}

/// What one thread counted.
pub struct Counted {
    taken: Taken,
    /// How often each thread's number was found in the shared word; all 0 unless swapping.
    found: Vec<u64>,
}

impl Sharer<'_> {
    /// Runs the thread's loop. Its private word and its counts are on its stack, on lines of their own.
    pub fn run(self, common: &Common, operation: Operation) -> Counted {
        let private = Padded(AtomicU64::new(0));
        let mut found = Padded([0; MAX_THREADS + 1]);
        let choice = Choice {
            first: self.word,
            second: black_box(&private),
            chance: self.chance,
            random: Random::new(common.seed, self.worker),
            length: common.length(),
            company: self.company,
        };
        let taken = if operation == Operation::Swap {
            choice.run_with(OwnerSwap { writer: signature(self.worker) as u64, previous: &mut *found }, Swap)
        } else {
            choice.run(operation)
        };
        Counted { taken, found: found[signature(0)..signature(common.threads)].to_vec() }
    }
}

/// What all threads counted.
pub struct Volume<'a>(&'a [Counted]);

impl<'a> Volume<'a> {
    /// The counts of the threads in their order.
    pub fn of(threads: &'a [Counted]) -> Self {
        Self(threads)
    }

    /// Accesses to shared words by all threads.
    pub fn shared(&self) -> u64 {
        self.0.iter().map(|thread| thread.taken.first).sum()
    }

    /// Accesses of each thread to its shared word while the other one of its pair ran, too.
    pub fn together(&self) -> Vec<u64> {
        self.0.iter().map(|thread| thread.taken.together).collect()
    }

    /// Iterations of all threads.
    pub fn iterations(&self) -> u64 {
        self.0.iter().map(|thread| thread.taken.total).sum()
    }

    /// The measured keys that both workloads print. `group` says which threads share a word.
    pub fn measured(&self, operation: Operation, group: impl Fn(usize) -> usize) -> Map<String, Value> {
        let shared: Vec<u64> = self.0.iter().map(|thread| thread.taken.first).collect();
        let iterations: Vec<u64> = self.0.iter().map(|thread| thread.taken.total).collect();
        let mut measured = Map::new();
        measured.insert("iterations".to_owned(), json!(iterations));
        measured.insert("shared_accesses".to_owned(), json!(counts::attribute(&shared, &shared, group)));
        measured.insert("shared_accesses_by_thread".to_owned(), json!(shared));
        if operation == Operation::Swap {
            let found: Vec<Vec<u64>> = self.0.iter().map(|thread| thread.found.clone()).collect();
            measured.insert("ownership_changes".to_owned(), json!(counts::ownership_changes(&found)));
        }
        measured
    }
}

/// What swapping adds to the program, for the notes.
pub fn owner_note(operation: Operation) -> Option<String> {
    (operation == Operation::Swap).then(|| {
        "ownership_changes: row = previous writer, column = writer that found it; counting it costs one \
         read-modify-write per shared access on a line of the thread's own"
            .to_owned()
    })
}
