//! Programs of several threads, run step by step: what may happen next is decided by the objects themselves, one after the
//! other, as a real program's are.

use std::collections::BTreeMap;

use carom_base_stream::Act;
use proptest::sample::Index;

/// What a thread does in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    Access(u64),
    Mark(Act, u64),
}

/// What a thread is to do.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Work(usize),
    /// Under a lock.
    Critical(u64, usize),
    /// Under the lock of readers and writers.
    Read(usize),
    Write(usize),
    Barrier,
    Wait,
    Signal,
    Broadcast,
    Post,
    Take,
}

pub const LOCKS: u64 = 100;
const READERS: u64 = 200;
const BARRIER: u64 = 300;
const CONDITION: u64 = 400;
const SEMAPHORE: u64 = 500;
const THREADS: u64 = 600;

/// The state of all objects.
#[derive(Debug, Default)]
pub struct Model {
    threads: u32,
    owners: BTreeMap<u64, u32>,
    readers: Vec<u32>,
    /// How often each thread, but the first, has come to the barrier and left it.
    arrived: BTreeMap<u32, usize>,
    departed: BTreeMap<u32, usize>,
    waiting: Vec<u32>,
    /// How many of these were signalled.
    signalled: usize,
    posted: usize,
    created: Vec<u64>,
    finished: Vec<u64>,
}

impl Model {
    pub fn new(threads: u32) -> Self {
        Self { threads, ..Self::default() }
    }

    /// Whether a thread need not wait before it does this.
    pub fn may(&self, thread: u32, item: Item) -> bool {
        let Item::Mark(what, object) = item else { return true };
        match what {
            Act::Start => self.created.contains(&object),
            Act::Join => self.finished.contains(&object),
            Act::Lock => !self.owners.contains_key(&object) && (object != READERS || self.readers.is_empty()),
            Act::ReadLock => !self.owners.contains_key(&object),
            Act::Unlock => self.owners.get(&object) == Some(&thread) || self.readers.contains(&thread),
            Act::Depart => {
                let round = self.departed.get(&thread).copied().unwrap_or(0);
                (1..self.threads)
                    .all(|other| self.arrived.get(&other).is_some_and(|arrived| *arrived > round))
            }
            Act::Wake => self.waiting.contains(&thread) && self.signalled > 0,
            Act::Take => self.posted > 0,
            _ => true,
        }
    }

    /// A thread does this.
    pub fn does(&mut self, thread: u32, item: Item) {
        let Item::Mark(what, object) = item else { return };
        match what {
            Act::Create => self.created.push(object),
            Act::Finish => self.finished.push(object),
            Act::Lock => {
                self.owners.insert(object, thread);
            }
            Act::ReadLock => self.readers.push(thread),
            // Nobody reads what has an owner.
            Act::Unlock => {
                self.owners.remove(&object);
                self.readers.retain(|reader| object != READERS || *reader != thread);
            }
            Act::Arrive => *self.arrived.entry(thread).or_default() += 1,
            Act::Depart => *self.departed.entry(thread).or_default() += 1,
            Act::Wait => self.waiting.push(thread),
            Act::Signal => self.signalled = self.waiting.len().min(self.signalled + 1),
            Act::Broadcast => self.signalled = self.waiting.len(),
            Act::Wake => {
                self.waiting.retain(|other| *other != thread);
                self.signalled -= 1;
            }
            Act::Post => self.posted += 1,
            Act::Take => self.posted -= 1,
            _ => {}
        }
    }
}

/// Runs a program whose first thread makes and joins those with the scripts. `choices` say who runs next, again and again, for a
/// `burst` of steps or until it must wait. Where all must wait, it is killed.
pub fn run(scripts: &[Vec<Op>], choices: &[Index], burst: usize) -> Vec<(u32, Item)> {
    let mut items: Vec<Vec<Item>> = vec![maker(scripts.len() as u64)];
    items.extend((0..).zip(scripts).map(|(number, script)| steps(THREADS + number, script)));
    let mut next = vec![0; items.len()];
    let mut model = Model::new(items.len() as u32);
    let mut recorded = Vec::new();
    let may = |model: &Model, next: &[usize], thread: usize| {
        // The others are not there before they were made: their first step says so.
        items[thread].get(next[thread]).copied().filter(|item| model.may(thread as u32, *item))
    };
    for choice in choices.iter().cycle() {
        let able: Vec<usize> =
            (0..items.len()).filter(|thread| may(&model, &next, *thread).is_some()).collect();
        if able.is_empty() {
            break;
        }
        let thread = able[choice.index(able.len())];
        for _ in 0..burst {
            let Some(item) = may(&model, &next, thread) else { break };
            model.does(thread as u32, item);
            recorded.push((thread as u32, item));
            next[thread] += 1;
        }
    }
    recorded
}

fn maker(threads: u64) -> Vec<Item> {
    let of_all = |what| (0..threads).map(move |number| Item::Mark(what, THREADS + number));
    let work = (0..40).map(Item::Access);
    work.clone().take(3).chain(of_all(Act::Create)).chain(work).chain(of_all(Act::Join)).collect()
}

fn steps(name: u64, script: &[Op]) -> Vec<Item> {
    let mut items = vec![Item::Mark(Act::Start, name)];
    let mut address = 0;
    for op in script {
        let mut mark = |what, object| items.push(Item::Mark(what, object));
        let (count, after) = match *op {
            Op::Work(count) => (count, None),
            Op::Critical(lock, count) => {
                mark(Act::Lock, LOCKS + lock);
                (count, Some(LOCKS + lock))
            }
            Op::Read(count) => {
                mark(Act::ReadLock, READERS);
                (count, Some(READERS))
            }
            Op::Write(count) => {
                mark(Act::Lock, READERS);
                (count, Some(READERS))
            }
            Op::Barrier => {
                mark(Act::Arrive, BARRIER);
                mark(Act::Depart, BARRIER);
                (0, None)
            }
            Op::Wait => {
                mark(Act::Wait, CONDITION);
                mark(Act::Wake, CONDITION);
                (0, None)
            }
            Op::Signal => {
                mark(Act::Signal, CONDITION);
                (0, None)
            }
            Op::Broadcast => {
                mark(Act::Broadcast, CONDITION);
                (0, None)
            }
            Op::Post => {
                mark(Act::Post, SEMAPHORE);
                (0, None)
            }
            Op::Take => {
                mark(Act::Take, SEMAPHORE);
                (0, None)
            }
        };
        items.extend((address..).take(count).map(Item::Access));
        address += count as u64;
        items.extend(after.map(|object| Item::Mark(Act::Unlock, object)));
    }
    items.push(Item::Mark(Act::Finish, name));
    items
}
