//! The accesses of several threads in the order of time, from batches of one thread each.
//!
//! ```text
//!   thread 0  |   .  '  .    .   '| .  .              |: handed over   .: an access   ': a stamp
//!   thread 1      |  .  . '.  .  .' .  .  |
//!                                     ^ both are known up to here: the accesses before it are given on
//! ```
//!
//! A batch has *stamps*: times at which a given number of its accesses had been made. The pace between two stamps is
//! assumed to be even; after the last one it stays the same. A batch without stamps is assumed to have an even pace
//! since the thread's last known time. Between stamps threads take short turns ([`Limits::turn`]); the access before a stamp is
//! in the order of its time.
//!
//! *Marks* say what threads did to wait for each other, and are stamps as well: they are given on in the order of time among the
//! accesses, and stay where they are among those of their thread.
//!
//! An access is given on as soon as all running threads are known to have passed its time. Two kinds of thread are
//! not waited for: one that makes no accesses for a while, because its batch is being analysed, and one that has
//! handed over nothing while too much was held back. What such a thread hands over later may be out of order, and is
//! counted.

use std::{collections::VecDeque, mem};

use carom_base::{Access, Domain, Nanos, ThreadId};

use crate::{
    slices::{Ahead, Held, HeldMark, Slice, slice},
    synchronisation::{Mark, Synchronisation},
};

/// Where the accesses go. `A` is the representation of an access.
pub trait Sink<A = Access> {
    /// The next accesses, all of one thread. The last of them was made at `until`.
    fn accesses(&mut self, thread: ThreadId, domain: Domain, accesses: &[A], until: Nanos);

    /// The same, in a vector that may be exchanged for an empty one.
    fn batch(&mut self, thread: ThreadId, domain: Domain, accesses: &mut Vec<A>, until: Nanos) {
        self.accesses(thread, domain, accesses, until);
    }

    /// The thread has waited for another one, or lets one go on, before its next access.
    fn synchronises(&mut self, _thread: ThreadId, _synchronisation: Synchronisation, _at: Nanos) {}

    /// This thread has no more accesses.
    fn ended(&mut self, thread: ThreadId);
}

/// What a thread hands over.
#[derive(Debug)]
pub struct Batch<'a, A = Access> {
    /// The thread.
    pub thread: ThreadId,
    /// The shared cache that it ran on.
    pub domain: Domain,
    /// A time by which all of them had been made: what the thread hands over later was accessed after that.
    pub at: Nanos,
    /// Whether the thread accesses nothing until it [begins](Interleaver::begin) again.
    pub pauses: bool,
    /// In program order.
    pub stamps: &'a [Stamp],
    /// In program order.
    pub marks: &'a [Mark],
    /// In program order. May be exchanged for an empty vector.
    pub accesses: &'a mut Vec<A>,
}

/// When a given number of accesses of a batch had been made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The number of accesses.
    pub accesses: usize,
    /// The time. A clock that goes back counts as standing still.
    pub at: Nanos,
}

/// How much is held back, and how finely it is put in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of accesses of one thread that are held back, of 24 bytes each if they are [`Access`]es.
    pub of_thread: usize,
    /// Of all threads.
    pub of_all: usize,
    /// Accesses that a thread may make in a row between two of its stamps before another thread's turn. Nothing tells their order better:
    /// a core keeps a line for as long as its transfer takes, in which it makes more accesses than these.
    pub turn: usize,
}

impl Default for Limits {
    /// 24 MiB and 72 MiB. A thread may hand over a hundred batches of 8 Ki while another one, which is about to hand
    /// its own over, waits for a processor. Turns are a quarter of what lies between two stamps.
    fn default() -> Self {
        Self { of_thread: 1 << 20, of_all: 3 << 20, turn: 16 }
    }
}

/// Puts batches of several threads in order. See the [module](self).
#[derive(Debug)]
pub struct Interleaver<A = Access> {
    limits: Limits,
    /// The origin of times.
    origin: Nanos,
    lanes: Vec<Lane<A>>,
    /// Accesses and marks that are held back.
    held: usize,
    /// Accesses up to this time have been given on.
    given: u64,
    /// While accesses are given on: the time of each lane's next one, with the number of the lane. The earliest is
    /// last.
    next: Vec<(u64, usize)>,
    /// Accesses that were known too late to be given on in order.
    late: u64,
    /// Vectors for reuse.
    spare: Vec<(Vec<A>, Vec<Slice>)>,
}

/// A thread.
#[derive(Debug)]
struct Lane<A> {
    thread: ThreadId,
    state: State,
    /// All its accesses before this time are known.
    known: u64,
    /// The time between accesses, from its last stamps.
    pace: u64,
    held: usize,
    batches: VecDeque<Held<A>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    /// It makes no accesses, or has handed over nothing for a long time.
    Away,
    Ended,
}

/// Times are kept in fractions of a nanosecond, in which several accesses may happen: 2 to the power of this.
const FRACTION_BITS: u32 = 8;

/// An access this much earlier than one that was already given on is late. Below that, clocks may differ, and so may
/// the order in which processors see each other's accesses.
const TOLERANCE: u64 = 1000 << FRACTION_BITS;

impl<A> Interleaver<A> {
    /// Nothing was accessed before `now`.
    pub fn new(now: Nanos, limits: Limits) -> Self {
        Self {
            limits,
            origin: now,
            lanes: Vec::new(),
            held: 0,
            given: 0,
            next: Vec::new(),
            late: 0,
            spare: Vec::new(),
        }
    }

    /// A thread begins to make accesses, which it will hand over later.
    pub fn begin(&mut self, thread: ThreadId, now: Nanos) {
        let now = self.time(now).max(self.given);
        let index = self.lane(thread);
        if let Some(lane) = self.lanes.get_mut(index) {
            lane.known = lane.known.max(now);
            lane.state = State::Running;
        }
    }

    /// Takes a batch in, and gives on what has become known. With a single running thread, that is the batch itself.
    pub fn take(&mut self, batch: Batch<'_, A>, sink: &mut impl Sink<A>) {
        let Batch { thread, domain, at, pauses, stamps, marks, accesses } = batch;
        let both = with_marks(stamps, marks);
        let stamps = if marks.is_empty() { stamps } else { &both };
        let last = stamps.last().map_or(at, |stamp| stamp.at.max(at));
        let (origin, now, index, given) = (self.origin, self.time(last), self.lane(thread), self.given);
        let Some(lane) = self.lanes.get_mut(index) else { return };
        let begin = lane.known.max(given);
        let end = now.max(begin);
        lane.known = end;
        lane.state = if pauses { State::Away } else { State::Running };
        let time = |stamp: &Stamp| (stamp.accesses, time(origin, stamp.at));
        let made_before = stamps.iter().map(time).take_while(|(_, at)| at + TOLERANCE < begin).last();
        self.late += made_before.map_or(0, |(accesses, _)| accesses) as u64;
        if self.held == 0 && marks.is_empty() && self.known() >= end {
            self.given = end;
            return sink.batch(thread, domain, accesses, self.nanos(end));
        }
        if (!accesses.is_empty() || !marks.is_empty())
            && let Some(lane) = self.lanes.get_mut(index)
        {
            let held = accesses.len() + marks.len();
            self.held += held;
            lane.held += held;
            let (vector, mut slices) = self.spare.pop().unwrap_or_default();
            let accesses = mem::replace(accesses, vector);
            let stamps = stamps.iter().map(time);
            lane.pace = slice(&mut slices, stamps, accesses.len(), begin..end, lane.pace);
            let marks = marks.iter().map(|&Mark { accesses, at, synchronisation }| HeldMark {
                accesses,
                time: self::time(origin, at),
                synchronisation,
            });
            lane.batches.push_back(Held::new(domain, accesses, slices, marks));
        }
        self.give_on(self.known(), sink);
        while self.is_too_much() && self.leave_behind() {
            self.give_on(self.known(), sink);
        }
    }

    /// A thread makes no more accesses. [`Sink::ended`] follows once all of them have been given on.
    pub fn end(&mut self, thread: ThreadId, sink: &mut impl Sink<A>) {
        let index = self.lane(thread);
        if let Some(lane) = self.lanes.get_mut(index) {
            lane.state = State::Ended;
        }
        self.give_on(self.known(), sink);
    }

    /// Gives on everything that is held back.
    pub fn flush(&mut self, sink: &mut impl Sink<A>) {
        self.give_on(u64::MAX, sink);
    }

    /// Accesses and marks that are held back.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Accesses that could not be given on in order, because later ones had been given on already.
    pub fn late(&self) -> u64 {
        self.late
    }

    fn time(&self, at: Nanos) -> u64 {
        time(self.origin, at)
    }

    fn nanos(&self, time: u64) -> Nanos {
        nanos(self.origin, time)
    }

    /// The number of a thread's lane; the thread becomes a running one.
    fn lane(&mut self, thread: ThreadId) -> usize {
        if let Some(index) = self.lanes.iter().position(|lane| lane.thread == thread) {
            return index;
        }
        let (state, known) = (State::Running, self.given);
        self.lanes.push(Lane { thread, state, known, pace: u64::MAX, held: 0, batches: VecDeque::new() });
        self.lanes.len() - 1
    }

    /// The time up to which the accesses of all running threads are known.
    fn known(&self) -> u64 {
        self.running().map(|lane| lane.known).min().unwrap_or(u64::MAX)
    }

    fn running(&self) -> impl Iterator<Item = &Lane<A>> {
        self.lanes.iter().filter(|lane| lane.state == State::Running)
    }

    fn is_too_much(&self) -> bool {
        self.held > self.limits.of_all || self.lanes.iter().any(|lane| lane.held > self.limits.of_thread)
    }

    /// Stops waiting for the running thread with the earliest known time. False where none runs.
    fn leave_behind(&mut self) -> bool {
        let running = self.lanes.iter_mut().filter(|lane| lane.state == State::Running);
        let last = running.min_by_key(|lane| lane.known);
        last.map(|lane| lane.state = State::Away).is_some()
    }

    /// Gives on all accesses up to `known`.
    fn give_on(&mut self, known: u64, sink: &mut impl Sink<A>) {
        let mut next = mem::take(&mut self.next);
        next.extend(self.lanes.iter().enumerate().filter_map(|(index, lane)| lane.next(known, index)));
        next.sort_unstable_by(|one, other| other.cmp(one));
        while let Some((_, index)) = next.pop() {
            // Up to the next access of another thread.
            let until = next.last().map_or(known, |(time, other)| {
                // Of two at the same time the one with the lower number comes first, so that they alternate.
                known.min(if index < *other { *time } else { time.saturating_sub(1) })
            });
            let Some(lane) = self.lanes.get_mut(index) else { continue };
            let Some(batch) = lane.batches.front_mut() else { continue };
            let domain = batch.domain;
            let ahead = Ahead { turn: self.limits.turn, time: TOLERANCE, until: known };
            let (accesses, last) = batch.take(until, ahead);
            self.given = self.given.max(last);
            let mut count = accesses.len();
            if count > 0 {
                sink.accesses(lane.thread, domain, accesses, nanos(self.origin, self.given));
            }
            while let Some(mark) = batch.take_mark(until) {
                sink.synchronises(lane.thread, mark.synchronisation, nanos(self.origin, mark.time));
                self.given = self.given.max(mark.time);
                count += 1;
            }
            lane.held -= count;
            self.held -= count;
            if batch.is_over()
                && let Some((accesses, slices)) = lane.batches.pop_front().map(Held::into_spare)
                && accesses.capacity() <= self.limits.of_thread
            {
                self.spare.push((accesses, slices));
            }
            if let Some(entry) = lane.next(known, index) {
                insert(&mut next, entry);
            }
        }
        self.next = next;
        self.lanes.retain(|lane| {
            let over = lane.state == State::Ended && lane.batches.is_empty();
            if over {
                sink.ended(lane.thread);
            }
            !over
        });
    }
}

impl<A> Lane<A> {
    /// The time of the next access or mark, if that is up to `known`, and the number of the lane.
    fn next(&self, known: u64, index: usize) -> Option<(u64, usize)> {
        let time = self.batches.front()?.next();
        (time <= known).then_some((time, index))
    }
}

/// Stamps with marks among them, in program order.
fn with_marks(stamps: &[Stamp], marks: &[Mark]) -> Vec<Stamp> {
    let of_mark = |mark: &Mark| Stamp { accesses: mark.accesses, at: mark.at };
    let mut both: Vec<Stamp> = marks.iter().map(of_mark).collect();
    if !both.is_empty() {
        both.extend(stamps);
        both.sort_by_key(|stamp| (stamp.accesses, stamp.at));
    }
    both
}

/// Keeps the earliest one last. Few threads run at once, and the one that was just given on is mostly the next again:
/// that needs fewer comparisons than a heap.
#[inline]
fn insert(next: &mut Vec<(u64, usize)>, entry: (u64, usize)) {
    let mut at = next.len();
    next.push(entry);
    while let Some(before) = at.checked_sub(1)
        && next.get(before).is_some_and(|other| *other < entry)
    {
        next.swap(before, at);
        at = before;
    }
}

/// Since the origin, in fractions of a nanosecond.
fn time(origin: Nanos, at: Nanos) -> u64 {
    at.0.saturating_sub(origin.0).saturating_mul(1 << FRACTION_BITS)
}

/// The inverse of [`time`].
fn nanos(origin: Nanos, time: u64) -> Nanos {
    Nanos(origin.0.saturating_add(time >> FRACTION_BITS))
}
