//! The two stages of the analysis, and their tasks.
//!
//! There are no threads of ours: each thread that hands accesses over does some of the tasks. Two threads keep both
//! stages busy at the same time; one alone does everything itself.
//!
//! The order of its locks is that of their ranks.

use std::{collections::VecDeque, mem, sync::Arc};

use carom_base::Access;
use carom_base_reuse::exact::{Exact, Sequence, Stage, Task, Tasks};
use carom_base_stream::frame::Encoder;

use super::{cells::put_down, wide};
use crate::lock::{Lock, Rank};

/// The most tasks that wait for a stage: how far one thread may be ahead of another. With 8 Ki accesses each they take
/// 1.5 MiB.
const MOST_WAITING: usize = 8;

/// Tasks that a thread does in a row: it must go on with the program soon.
const AT_ONCE: usize = 4;

/// A stage, and the tasks that wait for it.
struct StageQueue {
    stage: Lock<Stage>,
    tasks: Lock<VecDeque<Task>>,
}

static PRIVATE: StageQueue = StageQueue::new(Rank::PrivateStage);
static SHARED: StageQueue = StageQueue::new(Rank::SharedStage);

/// Vectors to use again.
struct Spare {
    batches: Vec<Vec<Access>>,
    sequences: Vec<Sequence>,
    encoders: Vec<Encoder>,
}

impl Spare {
    const NONE: Self = Self { batches: Vec::new(), sequences: Vec::new(), encoders: Vec::new() };
}

static SPARE: Lock<Spare> = Lock::new(Rank::Spare, Spare::NONE);

/// The stages begin; `exact` is to count private caches.
pub fn start(exact: Exact) {
    *PRIVATE.stage.lock() = Stage::private(exact);
}

/// Adds tasks for the stages.
pub fn hand_over(tasks: &mut Tasks) {
    PRIVATE.add(&mut tasks.private);
    SHARED.add(&mut tasks.shared);
}

/// Does some of the waiting tasks, and goes on while too many wait.
pub fn work() {
    loop {
        let done = [PRIVATE.work(AT_ONCE), SHARED.work(AT_ONCE)];
        if !PRIVATE.is_crowded() && !SHARED.is_crowded() {
            return;
        }
        if done == [false; 2] {
            // Other threads are at work.
            for queue in [&PRIVATE, &SHARED] {
                drop(queue.stage.lock());
            }
        }
    }
}

/// Does all waiting tasks, and writes the counts.
pub fn finish() {
    for queue in [&PRIVATE, &SHARED] {
        let mut stage = queue.stage.lock();
        queue.go_on(&mut stage, usize::MAX);
        stage.drain(put_down);
    }
}

/// Writes the counts.
pub fn write() {
    for queue in [&PRIVATE, &SHARED] {
        queue.stage.lock().drain(put_down);
    }
}

/// A vector for a batch.
pub fn spare_batch() -> Vec<Access> {
    SPARE.lock().batches.pop().unwrap_or_default()
}

/// Takes back a vector that is no longer needed.
pub fn give_back(mut batch: Vec<Access>) {
    batch.clear();
    SPARE.lock().batches.push(batch);
}

/// An encoder for a batch that is to be kept.
pub fn spare_encoder() -> Encoder {
    let spare = SPARE.lock().encoders.pop();
    spare.unwrap_or_default()
}

/// Takes back an encoder.
pub fn give_back_encoder(encoder: Encoder) {
    SPARE.lock().encoders.push(encoder);
}

/// Sequences that are no longer needed.
pub fn spare_sequences(mut take: impl FnMut(Sequence)) {
    while let Some(sequence) = { SPARE.lock().sequences.pop() } {
        take(sequence);
    }
}

/// In a forked child: drops the parent's state, which may be in the middle of a change.
pub fn forget() {
    fn renew<T>(lock: &Lock<T>, fresh: T) {
        lock.open();
        if let Some(mut value) = lock.try_lock() {
            mem::forget(mem::replace(&mut *value, fresh));
        }
    }
    for queue in [&PRIVATE, &SHARED] {
        renew(&queue.stage, Stage::shared());
        renew(&queue.tasks, VecDeque::new());
    }
    renew(&SPARE, Spare::NONE);
}

impl StageQueue {
    const fn new(rank: Rank) -> Self {
        Self { stage: Lock::new(rank, Stage::shared()), tasks: Lock::new(Rank::Tasks, VecDeque::new()) }
    }

    fn add(&self, tasks: &mut Vec<Task>) {
        self.tasks.lock().extend(tasks.drain(..));
    }

    fn next(&self) -> Option<Task> {
        self.tasks.lock().pop_front()
    }

    fn is_crowded(&self) -> bool {
        self.tasks.lock().len() > MOST_WAITING
    }

    /// Does at most `most` tasks, unless another thread works on the stage. False where no task was done.
    fn work(&self, most: usize) -> bool {
        self.stage.try_lock().is_some_and(|mut stage| self.go_on(&mut stage, most))
    }

    fn go_on(&self, stage: &mut Stage, most: usize) -> bool {
        let mut done = 0;
        while done < most
            && stage.has_begun()
            && let Some(task) = self.next()
        {
            if let Some(exact) = stage.take(&task, wide::sequence, put_down) {
                SHARED.stage.lock().begin(exact);
            }
            if let Task::Accesses(sequence) = task
                && let Some(mut sequence) = Arc::into_inner(sequence)
            {
                sequence.clear();
                SPARE.lock().sequences.push(sequence);
            }
            done += 1;
        }
        done > 0
    }
}
