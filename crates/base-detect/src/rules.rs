//! The two schemes: what a sample is compared with, which line is watched, and what is published.

use carom_base::{Access, EarlierWrite, Line, Nanos, SharingClass, SharingEvent, Via};

use crate::board::Board;
use crate::sharing::{Armed, Decision, Input, ThreadDetector};
use crate::slot::Entry;
use crate::watch::WatchPlan;

/// The number of store samples that a published address survives (ComDetective 3.2, "Expiration period").
const ENTRY_LIFETIME: u32 = 2;

/// Samples of the thread, the current one included, after which its watchpoints are old: they were set
/// before the previous sample (ComDetective 3.2, "Expiration period").
const WATCH_LIFETIME: u32 = 2;

impl ThreadDetector {
    /// PMUSampleHandler in Algorithm 1. The numbers in the comments are its lines.
    pub(crate) fn sample_by_paper(&mut self, board: &Board<'_>, input: &Input) -> Decision {
        let line = input.access.addr.line();
        let epoch = input.access.kind.writes().then(|| self.note_store(board, line));
        let mut decision = Decision::default();
        // 6
        let occupant = board.occupant(line);
        // 7, 11
        match occupant.filter(|entry| line_of(entry) == line && self.uncounted(entry, input.time)) {
            Some(entry) => {
                // 12-17
                self.latest_counted = Some(entry.write.time);
                decision.event = Some(self.lookup_event(input, &entry));
            }
            // 8, 19
            None if self.watchpoints_are_old() => {
                let entry = self.pick_any(board, input.time);
                self.rearm(entry, input, &mut decision);
            }
            None => {}
        }
        // 23-26
        if let Some(epoch) = epoch {
            match occupant.filter(|entry| !self.expired(board, entry)) {
                Some(live) => decision.collision = line_of(&live) != line,
                None => decision.published = board.try_put(&self.entry(input, epoch)),
            }
        }
        decision
    }

    /// [`Scheme::Balanced`](crate::Scheme::Balanced).
    pub(crate) fn sample_balanced(&mut self, board: &Board<'_>, input: &Input) -> Decision {
        let line = input.access.addr.line();
        let mut decision = Decision::default();
        match self.pick_latest(board, input.time) {
            Some(entry) if line_of(&entry) == line => {
                decision.event = Some(self.lookup_event(input, &entry));
                decision.disarm = self.armed.take().is_some();
            }
            Some(entry) => self.rearm(Some(entry), input, &mut decision),
            None if self.watchpoints_are_old() => self.rearm(None, input, &mut decision),
            None => {}
        }
        if input.access.kind.writes() {
            let epoch = self.note_store(board, line);
            let overwritten = board.occupant(line).filter(|entry| line_of(entry) != line);
            decision.collision = overwritten.is_some_and(|entry| !self.expired(board, &entry));
            decision.published = board.try_put(&self.entry(input, epoch));
        }
        decision
    }

    /// Replaces the current watchpoints by new ones, or removes them.
    ///
    /// They are removed even if the sample may not set new ones: how long a write is watched does not depend on how
    /// many samples may watch.
    fn rearm(&mut self, entry: Option<Entry>, input: &Input, decision: &mut Decision) {
        let had = self.armed.take().is_some();
        let watch = self.config.watch;
        decision.declined = entry.is_some() && watch.is_possible() && input.watch.is_none();
        let planned = entry.zip(input.watch).and_then(|(entry, samples)| {
            Some((entry, samples, WatchPlan::new(line_of(&entry), watch, &mut self.random)?))
        });
        match planned {
            Some((entry, samples, plan)) => {
                self.armed = Some(Armed {
                    plan,
                    earlier: entry.write,
                    weight: entry.weight * samples,
                    population: input.population,
                    age: 0,
                });
                decision.arm = Some(plan);
            }
            None => decision.disarm = had,
        }
    }

    /// One of the entries that the paper allows to be watched, each with equal probability (a reservoir of one, so a
    /// single scan suffices).
    fn pick_any(&mut self, board: &Board<'_>, now: Nanos) -> Option<Entry> {
        if !self.config.watch.is_possible() {
            return None;
        }
        let mut picked = None;
        let mut candidates = 0;
        for entry in board.entries() {
            let live = board.store_samples_since(&entry) < ENTRY_LIFETIME;
            if live && self.recent(&entry) && self.uncounted(&entry, now) {
                candidates += 1;
                if self.random.below(candidates) == 0 {
                    picked = Some(entry);
                }
            }
        }
        picked
    }

    /// The latest recent entry of another thread. Nothing that this thread publishes can hide it: entries after the
    /// previous sample came after everything that this thread has published.
    ///
    /// So it is in the slot that its thread wrote last: if another thread had replaced it there, that thread's entry
    /// would be later. The exception is a thread that has published since this sample began; then all slots are
    /// searched.
    fn pick_latest(&self, board: &Board<'_>, now: Nanos) -> Option<Entry> {
        let (mut latest, mut hidden) = (None, false);
        for entry in board.latest() {
            hidden |= entry.write.time > now;
            latest = self.later(latest, entry, now);
        }
        if hidden {
            board.entries().fold(None, |latest, entry| self.later(latest, entry, now))
        } else {
            latest
        }
    }

    /// The later one of two entries, of which the second need not be recent or foreign.
    fn later(&self, latest: Option<Entry>, entry: Entry, now: Nanos) -> Option<Entry> {
        let is_later = latest.is_none_or(|latest| latest.write.time <= entry.write.time);
        if is_later && self.recent(&entry) && self.foreign(&entry, now) { Some(entry) } else { latest }
    }

    fn watchpoints_are_old(&self) -> bool {
        self.armed.is_none_or(|armed| armed.age >= WATCH_LIFETIME)
    }

    /// Whether the entry is from another thread, and not from after this sample, which began before the entry was
    /// read.
    fn foreign(&self, entry: &Entry, now: Nanos) -> bool {
        let thread = Some(entry.write.thread);
        thread != Some(self.thread) && thread != self.among_processes && entry.write.time <= now
    }

    /// Foreign, and newer than everything that this thread has counted.
    fn uncounted(&self, entry: &Entry, now: Nanos) -> bool {
        self.foreign(entry, now) && self.latest_counted.is_none_or(|latest| entry.write.time > latest)
    }

    /// Published after this thread's previous sample.
    fn recent(&self, entry: &Entry) -> bool {
        self.previous_sample.is_none_or(|previous| entry.write.time > previous)
    }

    /// Whether the entry's slot may be reused: after two store samples of its publisher. Or when the entry is older
    /// than the last two store samples of this thread, so that a thread that blocks or ends does not keep its slot
    /// forever.
    fn expired(&self, board: &Board<'_>, entry: &Entry) -> bool {
        let by_publisher = board.store_samples_since(entry) >= ENTRY_LIFETIME;
        let by_us = self.previous_stores[1].is_some_and(|store| entry.write.time < store);
        by_publisher || by_us
    }

    /// Counts a store sample in `line`, on every board where the thread is known. Returns its epoch on the line's
    /// board.
    fn note_store(&self, board: &Board<'_>, line: Line) -> u32 {
        let own = board.note_store(self.thread);
        let common = self.among_processes.map(|thread| board.note_store(thread));
        common.filter(|_| line.is_shared()).unwrap_or(own)
    }

    fn entry(&self, input: &Input, epoch: u32) -> Entry {
        let &Input { access, time, cpu, stack, weight, .. } = input;
        let common = self.among_processes.filter(|_| access.addr.line().is_shared());
        let thread = common.unwrap_or(self.thread);
        Entry { write: EarlierWrite { thread, time, cpu, access, stack }, epoch, weight }
    }

    /// The event stands for the published write, whose weight compensates for the probability with which it was
    /// drawn.
    fn lookup_event(&self, input: &Input, entry: &Entry) -> SharingEvent {
        let earlier = entry.write;
        SharingEvent {
            thread: self.thread,
            time: input.time,
            cpu: input.cpu,
            population: input.population,
            via: Via::Lookup,
            class: class(input.access, earlier.access),
            weight: entry.weight,
            later: input.access,
            exact: true,
            stack: input.stack,
            earlier,
        }
    }
}

fn line_of(entry: &Entry) -> Line {
    entry.write.access.addr.line()
}

/// True sharing if the two accesses have a byte in common.
pub(crate) fn class(later: Access, earlier: Access) -> SharingClass {
    if later.overlaps(earlier) { SharingClass::True } else { SharingClass::False }
}
