//! A batch of one thread, cut into slices at its stamps and marks.

use std::{collections::VecDeque, ops::Range};

use carom_base::Domain;

use crate::synchronisation::Synchronisation;

/// Accesses that were made at an even pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    /// The number of the batch's accesses up to its end.
    end: usize,
    /// When the last access before it was made.
    begin: u64,
    /// The time between accesses.
    step: u64,
}

/// Cuts a batch of `count` accesses, which were made in `during`, at its stamps. After the last stamp they follow
/// each other at `pace`, or faster if that is too slow. Returns the pace of the last slice between two times.
pub(super) fn slice(
    slices: &mut Vec<Slice>,
    stamps: impl Iterator<Item = (usize, u64)>,
    count: usize,
    during: Range<u64>,
    mut pace: u64,
) -> u64 {
    let (mut done, mut begin) = (0, during.start);
    let mut has_stamps = false;
    for (accesses, at) in stamps {
        let (accesses, at) = (accesses.min(count), at.clamp(begin, during.end));
        has_stamps = true;
        if accesses > done {
            let step = (at - begin) / (accesses - done) as u64;
            slices.push(Slice { end: accesses, begin, step });
            (done, pace) = (accesses, step);
        }
        begin = at;
    }
    if count > done {
        let even = (during.end - begin) / (count - done) as u64;
        slices.push(Slice { end: count, begin, step: if has_stamps { even.min(pace) } else { even } });
    }
    pace
}

/// What a thread may make before what others have made earlier: between two stamps, times of accesses are guessed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    /// So many accesses in a row.
    pub turn: usize,
    /// Within so long a time.
    pub time: u64,
    /// Up to this time.
    pub until: u64,
}

/// A mark of a batch that is held back.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldMark {
    /// The accesses before it: a slice ends there.
    pub accesses: usize,
    pub time: u64,
    pub synchronisation: Synchronisation,
}

/// A batch that is held back, or what is left of it.
#[derive(Debug)]
pub(super) struct Held<A> {
    pub domain: Domain,
    accesses: Vec<A>,
    slices: Vec<Slice>,
    marks: VecDeque<HeldMark>,
    given: usize,
    /// The number of the slice after the present one.
    next: usize,
    /// Of the present slice: its end, and the time between accesses.
    end: usize,
    step: u64,
    /// The time of its next access.
    time: u64,
    /// A mark is before that.
    marked: bool,
}

impl<A> Held<A> {
    pub fn new(
        domain: Domain,
        accesses: Vec<A>,
        slices: Vec<Slice>,
        marks: impl Iterator<Item = HeldMark>,
    ) -> Self {
        let marks = marks.collect();
        let (given, next, end, step, time, marked) = (0, 0, 0, 0, 0, false);
        let mut held = Self { domain, accesses, slices, marks, given, next, end, step, time, marked };
        held.go_on();
        held
    }

    /// Its vectors, for reuse.
    pub fn into_spare(self) -> (Vec<A>, Vec<Slice>) {
        let Self { mut accesses, mut slices, .. } = self;
        accesses.clear();
        slices.clear();
        (accesses, slices)
    }

    /// The time of the next access or mark; the end of time without one.
    #[inline]
    pub fn next(&self) -> u64 {
        if self.marked { self.marks.front().map_or(u64::MAX, |mark| mark.time) } else { self.time }
    }

    pub fn is_over(&self) -> bool {
        self.given == self.accesses.len() && self.marks.is_empty()
    }

    /// The next one, if it is a mark up to `until`.
    #[inline]
    pub fn take_mark(&mut self, until: u64) -> Option<HeldMark> {
        if !self.marked || self.next() > until {
            return None;
        }
        let mark = self.marks.pop_front();
        self.go_on();
        mark
    }

    /// The accesses that were made up to `until` or the next mark, and when the last of them was. Where the order is not known to the
    /// single access, they are as many as `ahead` allows.
    #[inline]
    pub fn take(&mut self, until: u64, ahead: Ahead) -> (&[A], u64) {
        let begin = self.given;
        let mut last = 0;
        while !self.marked && self.given < self.end && self.time <= until {
            // Where threads alternate it is just the next one, and a division would take longer than everything else.
            let (left, passed) = (self.end - self.given, until - self.time);
            let count = if passed < self.step {
                1
            } else {
                let more = passed.checked_div(self.step).and_then(|more| usize::try_from(more).ok());
                more.map_or(left, |more| left.min(more.saturating_add(1)))
            };
            let count = count.max(self.ahead(ahead));
            last = self.time + self.step * (count as u64 - 1);
            self.given += count;
            self.time = last.saturating_add(self.step);
            if count == left {
                self.go_on();
            }
        }
        (self.accesses.get(begin..self.given).unwrap_or_default(), last)
    }

    /// How many accesses may be given on whatever other threads did meanwhile. The last one of a slice is not among them: its time is known.
    #[inline]
    fn ahead(&self, Ahead { turn, time, until }: Ahead) -> usize {
        let turn = turn.min(self.end - self.given - 1);
        let during = self.step.saturating_mul(turn as u64);
        if during <= time && self.time.saturating_add(during) <= until { turn } else { 0 }
    }

    /// At the end of a slice, or behind a mark: what comes next.
    fn go_on(&mut self) {
        let mark = self.marks.front();
        self.marked = mark.is_some_and(|mark| mark.accesses.min(self.accesses.len()) <= self.given);
        // A slice has an access at least.
        if self.given == self.end && !self.marked {
            let next = self.slices.get(self.next);
            self.time = next.map_or(u64::MAX, |slice| slice.begin + slice.step);
            if let Some(slice) = next {
                (self.end, self.step) = (slice.end, slice.step);
                self.next += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use carom_base::{Access, AccessKind, Addr, Ip};

    use super::*;

    /// No turns.
    const NONE: Ahead = Ahead { turn: 1, time: 0, until: 0 };

    fn cut(stamps: &[(usize, u64)], count: usize, during: Range<u64>, pace: u64) -> (Vec<u64>, u64) {
        let mut slices = Vec::new();
        let pace = slice(&mut slices, stamps.iter().copied(), count, during, pace);
        let access = Access { ip: Ip(1), addr: Addr(0), width: 8, kind: AccessKind::Load };
        let mut held = Held::new(Domain(0), vec![access; count], slices, std::iter::empty());
        let mut times = Vec::new();
        while !held.is_over() {
            let next = held.next();
            let (accesses, last) = held.take(next, NONE);
            assert!(last == next && !accesses.is_empty());
            times.extend(accesses.iter().map(|_| next));
        }
        assert_eq!(held.next(), u64::MAX);
        (times, pace)
    }

    /// Three accesses from 100 to 130, two more up to 150; then two at that pace of 10.
    #[test]
    fn accesses_lie_evenly_between_stamps() {
        let (times, pace) = cut(&[(0, 100), (3, 130), (5, 150)], 7, 90..1000, 5);
        assert_eq!((times, pace), (vec![110, 120, 130, 140, 150, 160, 170], 10));
        // There is no time for that pace.
        assert_eq!(cut(&[(0, 100), (1, 110)], 3, 90..114, 5).0, [110, 112, 114]);
    }

    #[test]
    fn without_stamps_the_pace_is_even() {
        assert_eq!(cut(&[], 4, 100..200, 1), (vec![125, 150, 175, 200], 1));
        assert_eq!(cut(&[], 0, 100..200, 1), (Vec::new(), 1));
    }

    /// A stamp before the known time, one that goes back, one after the end; and two at once.
    #[test]
    fn times_never_go_back() {
        let (times, _) = cut(&[(1, 50), (2, 120), (3, 110), (4, 300), (4, 310)], 5, 100..200, 5);
        assert_eq!(times, [100, 120, 120, 200, 200]);
    }

    /// The accesses up to some time may end within a slice, between two, or be none.
    #[test]
    fn slices_are_given_in_pieces() {
        let mut slices = Vec::new();
        slice(&mut slices, [(0, 100), (3, 130), (5, 170)].into_iter(), 5, 100..170, 1);
        let access = Access { ip: Ip(1), addr: Addr(0), width: 8, kind: AccessKind::Load };
        let mut held = Held::new(Domain(0), vec![access; 5], slices, std::iter::empty());
        let mut taken = |until| {
            let (accesses, last) = held.take(until, NONE);
            (accesses.len(), last)
        };
        assert_eq!(taken(109).0, 0);
        assert_eq!(taken(125), (2, 120));
        assert_eq!(taken(150), (2, 150));
        assert_eq!(taken(u64::MAX), (1, 170));
        assert_eq!(taken(u64::MAX).0, 0);
    }

    /// Eight accesses, at 110, 120 and so on, of which the last one is stamped: up to 110, and as many as a turn allows, the time of a turn,
    /// and what is known; but never the last one before its time.
    #[test]
    fn turns_end_before_stamps() {
        let access = Access { ip: Ip(1), addr: Addr(0), width: 8, kind: AccessKind::Load };
        let taken = |turn, time, known| {
            let mut slices = Vec::new();
            slice(&mut slices, [(8, 180)].into_iter(), 8, 100..180, 1);
            let mut held = Held::new(Domain(0), vec![access; 8], slices, std::iter::empty());
            let (accesses, last) = held.take(110, Ahead { turn, time, until: known });
            (accesses.len(), last)
        };
        assert_eq!(taken(1, 1000, 1000), (1, 110));
        assert_eq!(taken(4, 1000, 1000), (4, 140));
        assert_eq!(taken(100, 1000, 1000), (7, 170));
        assert_eq!(taken(4, 39, 1000), (1, 110));
        assert_eq!(taken(4, 1000, 149), (1, 110));
    }
}
