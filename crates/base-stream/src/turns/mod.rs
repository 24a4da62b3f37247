//! An order of accesses in which threads take turns, and wait for each other as they did.
//!
//! ```text
//!   recorded   0: a a a a unlock              0: b b b b        two threads on one processor
//!              1:                lock c c c c
//!   in turns   0: a a a a unlock b b     b b
//!              1:                lock c c     c c               on two: c may not come before the unlock
//! ```
//!
//! What is given on first is only a question of turns, unless a thread waits. The order of synchronisations that depend on each
//! other is that of the recording: whoever had a lock first has it first ([`objects`]). Threads that were created, or joined,
//! without telling keep the recorded order at that place.

mod objects;

use std::collections::VecDeque;

use carom_base::{Domain, Nanos, ProcessId, ThreadId};
use rustc_hash::FxHashMap;

use self::objects::{Objects, Waits};
use crate::{
    interleave::Sink,
    record::Streamed,
    synchronisation::{Act, Synchronisation},
};

/// Accesses of one thread in a row.
const TURN: usize = 16;

/// The most accesses and marks that wait, of 32 bytes and more each: ten times as many as a thread makes, recorded, until
/// another one has its processor.
const MOST_WAITING: usize = 4 << 20;

/// Gives accesses on in turns: a [`Sink`] in front of another one, for accesses in the recorded order.
pub struct Turns<'a, S, P, A = Streamed> {
    sink: &'a mut S,
    /// The process of a thread: objects of different processes are different.
    process: P,
    objects: Objects,
    lanes: Vec<Lane<A>>,
    /// The number of a thread's lane.
    numbers: FxHashMap<ThreadId, usize>,
    /// Lanes in which something waits.
    busy: Vec<usize>,
    waiting: usize,
    most_waiting: usize,
    matched: Matched,
}

/// Synchronisations that an order went by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// All of them.
    pub all: u64,
    /// Those whose counterpart is missing, or contradicts them, as where a recording was cut short: they come after everything
    /// that was recorded before them.
    pub unmatched: u64,
}

/// A thread.
#[derive(Debug)]
struct Lane<A> {
    thread: ThreadId,
    process: ProcessId,
    accesses: VecDeque<A>,
    marks: VecDeque<Waiting>,
    /// What it waits for before its first access; empty once that has come.
    begins_after: Vec<Place>,
    /// Of the last accesses.
    domain: Domain,
    until: Nanos,
    known: Done,
    given: Done,
    ended: bool,
}

/// A mark that waits.
#[derive(Debug)]
struct Waiting {
    /// The thread's accesses before it.
    accesses: u64,
    synchronisation: Synchronisation,
    at: Nanos,
    after: Vec<Place>,
}

/// What a thread has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Done {
    accesses: u64,
    marks: u64,
}

/// A place in the program order of a thread: right behind all this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    lane: usize,
    done: Done,
}

impl<'a, A: Copy, S: Sink<A>, P: Fn(ThreadId) -> ProcessId> Turns<'a, S, P, A> {
    /// Gives them on to `sink`. `process`: that of each thread.
    pub fn new(sink: &'a mut S, process: P) -> Self {
        Self {
            sink,
            process,
            objects: Objects::default(),
            lanes: Vec::new(),
            numbers: FxHashMap::default(),
            busy: Vec::new(),
            waiting: 0,
            most_waiting: MOST_WAITING,
            matched: Matched::default(),
        }
    }

    /// The same, with at most so many accesses and marks that wait: fewer take less memory, and longer turns.
    #[must_use]
    pub fn with_most_waiting(self, most_waiting: usize) -> Self {
        Self { most_waiting, ..self }
    }

    /// Gives on all that waits.
    pub fn finish(mut self) -> Matched {
        self.give_on(0);
        self.matched
    }

    /// Gives on, turn by turn, until at most so many are left.
    ///
    /// This ends: a thread waits only for what was recorded before, so the first of all that is left waits for nothing.
    fn give_on(&mut self, left: usize) {
        while self.waiting > left {
            let mut busy = std::mem::take(&mut self.busy);
            busy.retain(|&number| {
                self.turn(number);
                self.lanes.get(number).is_some_and(Lane::is_busy)
            });
            self.busy = busy;
        }
    }

    /// The turn of a thread: some accesses, and the marks up to the next one.
    fn turn(&mut self, number: usize) {
        let mut left = TURN;
        while let Some(next) = self.next(number, left) {
            let Some(lane) = self.lanes.get_mut(number) else { return };
            lane.begins_after.clear();
            match next {
                Next::Accesses(count) => {
                    let turn: Vec<A> = lane.accesses.drain(..count).collect();
                    lane.given.accesses += count as u64;
                    self.waiting -= count;
                    left -= count;
                    self.sink.accesses(lane.thread, lane.domain, &turn, lane.until);
                }
                Next::Mark => {
                    let Some(mark) = lane.marks.pop_front() else { return };
                    lane.given.marks += 1;
                    self.waiting -= 1;
                    self.sink.synchronises(lane.thread, mark.synchronisation, mark.at);
                }
            }
        }
        if let Some(lane) = self.lanes.get(number).filter(|lane| lane.ended && !lane.is_busy()) {
            self.sink.ended(lane.thread);
        }
    }

    /// What a thread may do next, with so many accesses left in its turn. `None`: nothing.
    fn next(&self, number: usize, left: usize) -> Option<Next> {
        let lane = self.lanes.get(number)?;
        let is_over = |after: &[Place]| after.iter().all(|place| self.has_passed(*place));
        let mark = lane.marks.front();
        if let Some(mark) = mark.filter(|mark| mark.accesses == lane.given.accesses) {
            return (is_over(&lane.begins_after) && is_over(&mark.after)).then_some(Next::Mark);
        }
        let until = mark.map_or(usize::MAX, |mark| (mark.accesses - lane.given.accesses) as usize);
        let count = lane.accesses.len().min(until).min(left);
        (count > 0 && is_over(&lane.begins_after)).then_some(Next::Accesses(count))
    }

    fn has_passed(&self, place: Place) -> bool {
        let given = self.lanes.get(place.lane).map(|lane| lane.given);
        given.is_none_or(|given| given.accesses >= place.done.accesses && given.marks >= place.done.marks)
    }

    /// Behind everything that is known.
    fn everywhere(&self) -> Vec<Place> {
        let behind = |(lane, known): (usize, &Lane<A>)| Place { lane, done: known.known };
        self.lanes.iter().enumerate().filter(|(_, lane)| lane.is_busy()).map(behind).collect()
    }

    /// The number of a thread's lane. A new one begins where it was recorded, unless it `starts` by a mark that says where.
    fn lane(&mut self, thread: ThreadId, starts: bool) -> usize {
        if let Some(number) = self.numbers.get(&thread) {
            return *number;
        }
        let number = self.lanes.len();
        self.lanes.push(Lane {
            thread,
            process: (self.process)(thread),
            accesses: VecDeque::new(),
            marks: VecDeque::new(),
            begins_after: if starts { Vec::new() } else { self.everywhere() },
            domain: Domain(0),
            until: Nanos(0),
            known: Done::default(),
            given: Done::default(),
            ended: false,
        });
        self.numbers.insert(thread, number);
        number
    }

    /// A lane gets more; it was busy before, or was not.
    fn more(&mut self, number: usize, was_busy: bool, count: usize) {
        self.waiting += count;
        if !was_busy {
            self.busy.push(number);
        }
        if self.waiting > self.most_waiting {
            self.give_on(self.most_waiting / 2);
        }
    }
}

/// What a thread does next.
enum Next {
    Accesses(usize),
    Mark,
}

impl<A> Lane<A> {
    fn is_busy(&self) -> bool {
        !self.accesses.is_empty() || !self.marks.is_empty()
    }
}

impl<A: Copy, S: Sink<A>, P: Fn(ThreadId) -> ProcessId> Sink<A> for Turns<'_, S, P, A> {
    fn accesses(&mut self, thread: ThreadId, domain: Domain, accesses: &[A], until: Nanos) {
        let number = self.lane(thread, false);
        let Some(lane) = self.lanes.get_mut(number) else { return };
        let was_busy = lane.is_busy();
        lane.accesses.extend(accesses);
        lane.known.accesses += accesses.len() as u64;
        (lane.domain, lane.until, lane.ended) = (domain, until, false);
        if !accesses.is_empty() {
            self.more(number, was_busy, accesses.len());
        }
    }

    fn synchronises(&mut self, thread: ThreadId, synchronisation: Synchronisation, at: Nanos) {
        let number = self.lane(thread, synchronisation.what == Act::Start);
        let Some(lane) = self.lanes.get_mut(number) else { return };
        let (accesses, was_busy) = (lane.known.accesses, lane.is_busy());
        lane.known.marks += 1;
        let here = Place { lane: number, done: lane.known };
        self.matched.all += 1;
        let after = match self.objects.synchronise(lane.process, here, synchronisation) {
            Waits::For(places) => places,
            Waits::Unmatched => {
                self.matched.unmatched += 1;
                let mut places = self.everywhere();
                places.retain(|place| place.lane != number);
                places
            }
        };
        if let Some(lane) = self.lanes.get_mut(number) {
            lane.marks.push_back(Waiting { accesses, synchronisation, at, after });
        }
        self.more(number, was_busy, 1);
    }

    fn ended(&mut self, thread: ThreadId) {
        let Some(lane) = self.numbers.get(&thread).and_then(|number| self.lanes.get_mut(*number)) else {
            return self.sink.ended(thread);
        };
        if lane.is_busy() {
            lane.ended = true;
        } else {
            self.sink.ended(thread);
        }
    }
}
