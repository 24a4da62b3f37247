//! The order of accesses of different threads.

use std::collections::VecDeque;

use carom_base::{Domain, Nanos, ThreadId};
use carom_base_stream::Sink;

/// How accesses of different threads follow each other. Those of one thread keep their order always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As recorded.
    #[default]
    Recorded,
    /// As if all threads ran at the same time and at the same speed, also those that had to take turns on a processor. What a
    /// thread did before another one began stays before that, and what it did before one ended stays before what came after.
    /// Nothing else is known of who waited for whom.
    Even,
    /// As if all threads ran at the same time and at the same speed, and waited for each other where they did: for locks in the order
    /// in which they had them, at barriers, for threads that they made or joined, for signals ([`Turns`](carom_base_stream::Turns)).
    Synchronised,
}

impl Order {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Even => "even",
            Self::Synchronised => "synchronised",
        }
    }
}

/// Accesses of one thread in a row.
const TURN: usize = 16;

/// The most accesses of all threads that wait, of 32 bytes each: ten times as many as a thread makes, recorded, until another one
/// has its processor.
const MOST_WAITING: usize = 4 << 20;

/// Gives accesses on in an even order.
pub(super) struct Even<'a, S, A> {
    sink: &'a mut S,
    lanes: Vec<Lane<A>>,
    waiting: usize,
    /// The accesses of a turn.
    turn: Vec<A>,
}

struct Lane<A> {
    thread: ThreadId,
    accesses: VecDeque<A>,
    /// Of the last accesses.
    domain: Domain,
    until: Nanos,
}

impl<'a, A: Copy, S: Sink<A>> Even<'a, S, A> {
    /// Gives them on to `sink`.
    pub fn new(sink: &'a mut S) -> Self {
        Self { sink, lanes: Vec::new(), waiting: 0, turn: Vec::with_capacity(TURN) }
    }

    /// Gives on, turn by turn, until at most so many are left.
    pub fn give_on(&mut self, left: usize) {
        while self.waiting > left {
            for lane in &mut self.lanes {
                self.turn.clear();
                self.turn.extend(lane.accesses.drain(..TURN.min(lane.accesses.len())));
                self.waiting -= self.turn.len();
                if !self.turn.is_empty() {
                    self.sink.accesses(lane.thread, lane.domain, &self.turn, lane.until);
                }
            }
        }
    }
}

impl<A: Copy, S: Sink<A>> Sink<A> for Even<'_, S, A> {
    fn accesses(&mut self, thread: ThreadId, domain: Domain, accesses: &[A], until: Nanos) {
        if self.lanes.iter().all(|lane| lane.thread != thread) {
            self.give_on(0);
            self.lanes.push(Lane { thread, accesses: VecDeque::new(), domain, until });
        }
        if let Some(lane) = self.lanes.iter_mut().find(|lane| lane.thread == thread) {
            lane.accesses.extend(accesses);
            (lane.domain, lane.until) = (domain, until);
            self.waiting += accesses.len();
        }
        if self.waiting > MOST_WAITING {
            self.give_on(MOST_WAITING / 2);
        }
    }

    fn ended(&mut self, thread: ThreadId) {
        self.give_on(0);
        self.lanes.retain(|lane| lane.thread != thread);
        self.sink.ended(thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The threads in the order in which their accesses come.
    #[derive(Default)]
    struct Seen(Vec<(u32, usize)>);

    impl Sink<()> for Seen {
        fn accesses(&mut self, thread: ThreadId, _: Domain, accesses: &[()], _: Nanos) {
            self.0.push((thread.0, accesses.len()));
        }

        fn ended(&mut self, thread: ThreadId) {
            self.0.push((thread.0, 0));
        }
    }

    /// ```text
    ///   recorded  0000 (20)      11111111 (40)  00 (20)  1 ends  0000 (10)
    ///   even      16 + 4         0 and 1 by turns        1 ends  10
    /// ```
    #[test]
    fn threads_take_short_turns_while_both_live() {
        let mut seen = Seen::default();
        let mut even = Even::new(&mut seen);
        let make = |even: &mut Even<'_, Seen, ()>, thread, count| {
            even.accesses(ThreadId(thread), Domain(0), &vec![(); count], Nanos(0));
        };
        make(&mut even, 0, 20);
        make(&mut even, 1, 40);
        make(&mut even, 0, 20);
        even.ended(ThreadId(1));
        make(&mut even, 0, 10);
        even.give_on(0);
        assert_eq!(seen.0, [(0, 16), (0, 4), (0, 16), (1, 16), (0, 4), (1, 16), (1, 8), (1, 0), (0, 10)]);
    }
}
