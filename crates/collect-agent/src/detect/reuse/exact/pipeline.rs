//! The stages of the analysis, and their tasks.
//!
//! There are no threads of ours: each thread that hands accesses over does some of the tasks. Several threads keep the
//! stages busy at the same time; one alone does everything itself.
//!
//! The order of its locks is that of their ranks.

use std::{collections::VecDeque, mem, sync::Arc};

use carom_base::Access;
use carom_base_reuse::exact::{Exact, Input, Moves, Sequence, Stage, Task, TopStage, Tops};
use carom_base_stream::frame::Encoder;

use super::{cells::put_down, wide};
use crate::lock::{Lock, Rank};

/// The most tasks that wait for a stage: how far one thread may be ahead of another. With 8 Ki accesses each they take
/// 1.5 MiB.
const MOST_WAITING: usize = 8;

/// Tasks that a thread does in a row: it must go on with the program soon.
const AT_ONCE: usize = 4;

/// A stage, and what waits for it.
struct Queue<S, T> {
    stage: Lock<S>,
    waiting: Lock<VecDeque<T>>,
}

static TOP: Queue<TopStage, Input> = Queue::new(Rank::TopStage, TopStage::nothing());
static PRIVATE: Queue<Stage, Task> = Queue::new(Rank::PrivateStage, Stage::shared());
static SHARED: Queue<Stage, Task> = Queue::new(Rank::SharedStage, Stage::shared());

/// Vectors to use again.
struct Spare {
    batches: Vec<Vec<Access>>,
    sequences: Vec<Sequence>,
    moves: Vec<Moves>,
    encoders: Vec<Encoder>,
}

impl Spare {
    const NONE: Self =
        Self { batches: Vec::new(), sequences: Vec::new(), moves: Vec::new(), encoders: Vec::new() };
}

static SPARE: Lock<Spare> = Lock::new(Rank::Spare, Spare::NONE);

/// The stages begin; `exact` is to count private caches.
pub fn start(tops: Tops, exact: Exact) {
    *TOP.stage.lock() = TopStage::new(tops);
    *PRIVATE.stage.lock() = Stage::private(exact);
}

/// Adds inputs for the stages.
pub fn hand_over(inputs: &mut Vec<Input>) {
    TOP.add(inputs);
}

/// Does some of the waiting tasks, and goes on while too many wait.
pub fn work() {
    loop {
        let done = [TOP.work(answer), PRIVATE.work(analyse), SHARED.work(analyse)];
        if !TOP.is_crowded() && !PRIVATE.is_crowded() && !SHARED.is_crowded() {
            return;
        }
        if done == [false; 3] {
            // Other threads are at work.
            drop(TOP.stage.lock());
            drop(PRIVATE.stage.lock());
            drop(SHARED.stage.lock());
        }
    }
}

/// Does all waiting tasks, and writes the counts.
pub fn finish() {
    let mut top = TOP.stage.lock();
    answer(&TOP, &mut top, usize::MAX);
    empty(&mut top);
    drop(top);
    for queue in [&PRIVATE, &SHARED] {
        let mut stage = queue.stage.lock();
        analyse(queue, &mut stage, usize::MAX);
        stage.drain(put_down);
    }
}

/// Writes the counts.
pub fn write() {
    // What the top has counted so far is among those of the next time.
    empty(&mut TOP.stage.lock());
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

/// Takes back what was in a task, if no other stage needs it.
fn give_back_task(task: Task) {
    match task {
        Task::Accesses(sequence) => {
            if let Some(mut sequence) = Arc::into_inner(sequence) {
                sequence.clear();
                SPARE.lock().sequences.push(sequence);
            }
        }
        Task::Moves(moves) => SPARE.lock().moves.extend(Arc::into_inner(moves)),
        Task::Ended(_) | Task::Part => {}
    }
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
    renew(&TOP.stage, TopStage::nothing());
    renew(&TOP.waiting, VecDeque::new());
    for queue in [&PRIVATE, &SHARED] {
        renew(&queue.stage, Stage::shared());
        renew(&queue.waiting, VecDeque::new());
    }
    renew(&SPARE, Spare::NONE);
}

impl<S, T> Queue<S, T> {
    const fn new(rank: Rank, stage: S) -> Self {
        Self { stage: Lock::new(rank, stage), waiting: Lock::new(Rank::Tasks, VecDeque::new()) }
    }

    fn add(&self, tasks: &mut Vec<T>) {
        self.waiting.lock().extend(tasks.drain(..));
    }

    fn next(&self) -> Option<T> {
        self.waiting.lock().pop_front()
    }

    fn is_crowded(&self) -> bool {
        self.waiting.lock().len() > MOST_WAITING
    }

    /// Does some of what waits, unless another thread works on the stage. False where nothing was done.
    fn work(&self, go_on: fn(&Self, &mut S, usize) -> bool) -> bool {
        self.stage.try_lock().is_some_and(|mut stage| go_on(self, &mut stage, AT_ONCE))
    }
}

/// Has the top answer at most `most` inputs. False where there was none.
fn answer(queue: &Queue<TopStage, Input>, stage: &mut TopStage, most: usize) -> bool {
    let mut done = 0;
    while done < most
        && let Some(input) = queue.next()
    {
        while let Some(moves) = { SPARE.lock().moves.pop() } {
            stage.give_back(moves);
        }
        if let Some(mut sequence) = stage.take(input, wide::answer) {
            sequence.clear();
            SPARE.lock().sequences.push(sequence);
        }
        hand_on(stage);
        done += 1;
    }
    done > 0
}

/// Hands on what the top has.
fn empty(stage: &mut TopStage) {
    stage.empty();
    hand_on(stage);
}

/// Adds tasks for the stages of the caches. The stage of the top is locked, so that they stay in order.
fn hand_on(stage: &mut TopStage) {
    let tasks = stage.tasks();
    PRIVATE.add(&mut tasks.private);
    SHARED.add(&mut tasks.shared);
}

/// Does at most `most` tasks. False where none was done.
fn analyse(queue: &Queue<Stage, Task>, stage: &mut Stage, most: usize) -> bool {
    let mut done = 0;
    while done < most
        && stage.has_begun()
        && let Some(task) = queue.next()
    {
        if let Some(exact) = stage.take(&task, wide::work, put_down) {
            SHARED.stage.lock().begin(exact);
        }
        give_back_task(task);
        done += 1;
    }
    done > 0
}
