//! Sums per contended line.

use std::collections::{BTreeMap, BTreeSet};

use carom_base::{
    Access, AccessKind, Addr, Ip, Line, Nanos, Population, ProcessId, Sample, SharingClass, SharingEvent,
    StackId, ThreadId,
};
use carom_study_stats::TimeBlocks;

use super::extent::Extent;
use super::handover::ends;
use super::layout::Cell;
use super::matrix::Volume;
use super::scale::Scale;
use super::together::{have_no_owner, move_together};
use super::{MIN_LINE_EVENTS, Primitive};

/// A line of a process, or of memory that the processes of a recording share: see [`super::ThreadEntry::keeper`].
pub(super) type LineKey = (ProcessId, Line);

/// One line: the threads that exchanged it, and the bytes that each touched, by site.
#[derive(Default)]
pub(super) struct LineTally {
    /// By [`Population`], in the order of its codes.
    exchanges: [Exchange; 2],
    /// When it was written, and when others used it.
    pub turns: Turns,
    /// Samples in this line, of those that shares are of.
    pub hits: TimeBlocks,
    last_hit: Option<(ThreadId, Nanos)>,
    /// Bytes that both accesses of an event of true sharing touch, with its weight.
    pub exchanged: BTreeMap<Extent, f64>,
    sites: BTreeMap<SiteKey, SiteTally>,
    /// The volume of events by the primitive whose code made the earlier access.
    pub written_by: BTreeMap<Option<Primitive>, f64>,
    /// The number of the object that lies there.
    pub object: usize,
    /// All threads write the object alike.
    pub alike: bool,
    /// And it moves with a lock that they use alike.
    pub locked: bool,
    /// The arrays of the object that are handed from thread to thread, and whether by one thread; `None` is what has no name.
    pub handed: BTreeMap<Option<String>, bool>,
    /// The bytes as runs, once all accesses are known.
    pub cells: Vec<Cell>,
}

/// Sharing on one line, by events of one population.
#[derive(Default)]
pub(super) struct Exchange {
    pub events: u64,
    pub volume: Volume,
    pub false_sharing: TimeBlocks,
    /// The lower thread number first.
    pub pairs: BTreeMap<(ThreadId, ThreadId), f64>,
    /// False sharing by the bytes that were written and those that another thread accessed then.
    pub conflicts: Conflicts,
}

/// Whether what one thread wrote is written again after another has used it, as far as seen.
#[derive(Clone, Copy, Default)]
pub(super) struct Turns {
    first_use: Option<Nanos>,
    last_write: Option<Nanos>,
}

impl Turns {
    /// A use by another thread than the one that wrote. It may be a write.
    fn met(&mut self, event: &SharingEvent) {
        self.first_use = Some(self.first_use.map_or(event.time, |known| known.min(event.time)));
        self.written(event.earlier.time);
        if event.later.kind.writes() {
            self.written(event.time);
        }
    }

    pub fn written(&mut self, time: Nanos) {
        self.last_write = self.last_write.max(Some(time));
    }

    /// Of this and another line.
    pub fn and(self, other: Self) -> Self {
        let first_use = self.first_use.into_iter().chain(other.first_use).min();
        Self { first_use, last_write: self.last_write.max(other.last_write) }
    }

    /// All that was written had been written when others began to use it.
    pub fn once(self) -> bool {
        self.first_use.is_some() && self.last_write < self.first_use
    }
}

/// Volumes of false sharing, by the bytes written and the bytes accessed.
pub(super) type Conflicts = BTreeMap<(Extent, Extent), f64>;

/// One thread's accesses to one place from one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SiteKey {
    pub thread: ThreadId,
    pub ip: Ip,
    pub kind: AccessKind,
    pub extent: Extent,
    /// False where only the watched bytes are known.
    pub exact: bool,
    /// Whether other bytes of the access lie in another line.
    pub splits_line: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct SiteTally {
    /// Samples of either kind and events.
    pub seen: u64,
    /// Weight of the samples, of those that shares are of.
    pub hits: f64,
    pub stacks: BTreeMap<StackId, u64>,
}

impl SiteTally {
    /// The call path seen most often; none only where none was ever taken.
    pub fn stack(&self) -> StackId {
        let known = self.stacks.iter().filter(|(id, _)| **id != StackId::NONE);
        known.max_by_key(|(_, seen)| **seen).map_or(StackId::NONE, |(id, _)| *id)
    }
}

impl LineTally {
    /// An event, whose class is not known yet: [`class`](Self::class) follows when all accesses to the line are.
    pub fn event(&mut self, event: &SharingEvent, line: Line) {
        self.exchanges[event.population as usize].events += 1;
        self.turns.met(event);
        self.saw(event.thread, event.later, event.exact, event.stack, line);
        self.saw(event.earlier.thread, event.earlier.access, true, event.earlier.stack, line);
    }

    /// The event with what else is known of its thread's accesses, where only the watched bytes are: two fields may lie in them.
    /// Where none of these accesses has a byte that was written before, the event is one of the most frequent of them.
    pub fn informed(&self, event: SharingEvent, line: Line) -> SharingEvent {
        let SharingEvent { thread, later, earlier, exact, .. } = event;
        let ends = (Extent::of(later, line), Extent::of(earlier.access, line));
        let (false, (Some(watched), Some(written))) = (exact, ends) else { return event };
        let is_known =
            |key: &SiteKey| key.exact && key.thread == thread && key.extent.common(watched).is_some();
        let known = || self.sites.iter().filter(|(key, _)| is_known(key));
        if known().any(|(key, _)| key.extent.common(written).is_some()) {
            return event;
        }
        let Some((key, _)) = known().max_by_key(|(_, site)| site.seen) else { return event };
        let addr = Addr(line.start().0 + u64::from(key.extent.offset));
        let later = Access { addr, width: key.extent.width, ..later };
        SharingEvent { later, class: SharingClass::False, ..event }
    }

    /// The class of an event on this line: false sharing only between what would not move together on lines of its own.
    pub fn class(&self, event: &SharingEvent, line: Line) -> SharingClass {
        match ends(event, line, &self.cells) {
            Some((written, accessed))
                if move_together(&self.cells, written, accessed)
                    || self.locked && have_no_owner(written, accessed)
                    || written.is_of_one_array(accessed) && self.handed.contains_key(&written.array) =>
            {
                SharingClass::True
            }
            _ => event.class,
        }
    }

    /// `weight`: how much sharing the event stands for.
    pub fn classified(&mut self, event: &SharingEvent, class: SharingClass, weight: f64, line: Line) {
        let exchange = &mut self.exchanges[event.population as usize];
        exchange.volume.add(class, weight);
        exchange.false_sharing.observe(event.time.0, class == SharingClass::False, weight);
        let pair = (event.thread.min(event.earlier.thread), event.thread.max(event.earlier.thread));
        *exchange.pairs.entry(pair).or_default() += weight;

        let ends = (Extent::of(event.earlier.access, line), Extent::of(event.later, line));
        if let (Some(written), Some(accessed)) = ends {
            match class {
                SharingClass::True => {
                    let common = written.common(accessed).unwrap_or(accessed);
                    *self.exchanged.entry(common).or_default() += weight;
                }
                SharingClass::False => {
                    *exchange.conflicts.entry((written, accessed)).or_default() += weight;
                }
            }
        }
    }

    /// `access` is the sample's. Samples of every kind tell of sites; shares are of one kind.
    pub fn sample(&mut self, sample: &Sample, access: Access, line: Line, scale: Scale<'_>) {
        let weight = scale.sample(sample);
        if let Some(site) = self.saw(sample.thread, access, true, sample.stack, line) {
            site.hits += weight;
        }
        if weight <= 0.0 {
            return;
        }
        // An instruction with two operands in the line is still one sample.
        let id = Some((sample.thread, sample.time));
        let again = scale.by_instruction() && self.last_hit == id;
        self.last_hit = id;
        if !again {
            self.hits.hit(scale.time(sample), weight);
        }
    }

    fn saw(
        &mut self,
        thread: ThreadId,
        access: Access,
        exact: bool,
        stack: StackId,
        line: Line,
    ) -> Option<&mut SiteTally> {
        let extent = Extent::of(access, line)?;
        let key = SiteKey {
            thread,
            ip: access.ip,
            kind: access.kind,
            extent,
            exact,
            splits_line: access.splits_line(),
        };
        let site = self.sites.entry(key).or_default();
        site.seen += 1;
        *site.stacks.entry(stack).or_default() += 1;
        Some(site)
    }

    /// Events of both populations.
    pub fn events(&self) -> u64 {
        self.exchanges.iter().map(|e| e.events).sum()
    }

    /// Events of step samples.
    pub fn stepped(&self) -> usize {
        self.exchanges[Population::Step as usize].events as usize
    }

    /// Which population's events describe this line, and what they say. Never both at once: see
    /// [`super::LineFinding::basis`].
    pub fn basis(&self) -> (Population, &Exchange) {
        let [timed, stepped] = &self.exchanges;
        if stepped.events < MIN_LINE_EVENTS && timed.events > stepped.events {
            (Population::LastInstruction, timed)
        } else {
            (Population::Step, stepped)
        }
    }

    /// The bytes that are accessed most, by all threads together.
    pub fn busiest(&self) -> Option<Extent> {
        let mut seen: BTreeMap<Extent, u64> = BTreeMap::new();
        for (key, site) in self.sites() {
            *seen.entry(key.extent).or_default() += site.seen;
        }
        // The last of several maxima is taken, so the first bytes come last.
        seen.into_iter().rev().max_by_key(|(_, seen)| *seen).map(|(extent, _)| extent)
    }

    /// The sites, most seen first. Watched bytes stand in only for threads whose accesses are not known.
    pub fn sites(&self) -> Vec<(SiteKey, &SiteTally)> {
        let known: BTreeSet<ThreadId> = self.sites.keys().filter(|k| k.exact).map(|k| k.thread).collect();
        let mut sites: Vec<_> = self
            .sites
            .iter()
            .filter(|(key, _)| key.exact || !known.contains(&key.thread))
            .map(|(key, site)| (*key, site))
            .collect();
        sites.sort_by(|a, b| b.1.seen.cmp(&a.1.seen).then(a.0.cmp(&b.0)));
        sites
    }
}

#[cfg(test)]
mod tests {
    use carom_base::SampleOutcome;

    use super::*;
    use crate::share::testing::{Event, Synthetic, TestSample};

    fn tally(events: impl IntoIterator<Item = Event>) -> LineTally {
        let mut tally = LineTally::default();
        for event in events.into_iter().map(Event::build) {
            tally.event(&event, Line(0));
            tally.classified(&event, event.class, f64::from(event.weight), Line(0));
        }
        tally
    }

    #[test]
    fn step_events_describe_a_line_unless_there_are_nearly_none() {
        let stepped = |n: usize| (0..n).map(|_| Event::new(0, 1).class_false(true));
        let timed = |n: usize| (0..n).map(|_| Event::new(0, 1).class_false(false).last_instruction());
        let basis = |n, m| {
            let t = tally(stepped(n).chain(timed(m)));
            let (population, exchange) = t.basis();
            (population, exchange.volume.false_sharing, exchange.volume.true_sharing)
        };
        assert_eq!(basis(3, 50), (Population::Step, 3.0, 0.0));
        assert_eq!(basis(2, 50), (Population::LastInstruction, 0.0, 50.0));
        assert_eq!(basis(2, 1), (Population::Step, 2.0, 0.0));
    }

    #[test]
    fn two_operands_of_one_instruction_are_one_hit_and_two_sites() {
        let mut tally = LineTally::default();
        let recording = Synthetic::new(1);
        for part in [0, 1] {
            let sample = TestSample::new(0, AccessKind::Load, u64::from(part) * 8, 8).part(part).build();
            let SampleOutcome::Access(access) = sample.outcome else { unreachable!() };
            tally.sample(&sample, access, Line(0), Scale::of(&recording));
        }
        assert_eq!(tally.hits.total().hits, 1.0);
        assert_eq!(tally.sites().len(), 2);
        assert!(tally.sites().iter().all(|(_, site)| site.hits == 1.0));
    }

    #[test]
    fn an_access_over_two_lines_is_one_of_each() {
        let mut tally = LineTally::default();
        let recording = Synthetic::new(1);
        let sample = TestSample::new(0, AccessKind::Store, 56, 16).build();
        let SampleOutcome::Access(access) = sample.outcome else { unreachable!() };
        tally.sample(&sample, access, Line(1), Scale::of(&recording));
        let (key, _) = tally.sites()[0];
        assert_eq!((key.extent, key.splits_line), (Extent { offset: 0, width: 8 }, true));
    }

    #[test]
    fn watched_bytes_stand_in_only_where_nothing_better_is_known() {
        // Thread 1 traps once with its access unknown and once known; thread 2 only unknown.
        let t = tally([
            Event::new(0, 1).later(AccessKind::Load, 8, 8).inexact(),
            Event::new(0, 1).later(AccessKind::Load, 8, 4),
            Event::new(0, 2).later(AccessKind::Load, 16, 8).inexact(),
        ]);
        let sites: Vec<_> =
            t.sites().iter().map(|(k, _)| (k.thread.0, k.extent.offset, k.extent.width)).collect();
        // The writer is seen in all three events, so it comes first.
        assert_eq!(sites, [(0, 0, 8), (1, 8, 4), (2, 16, 8)]);
    }

    /// Two fields of four bytes in the eight that a watchpoint covers.
    #[test]
    fn what_is_known_of_a_thread_tells_which_of_the_watched_bytes_it_accessed() {
        let trapped = Event::new(0, 1).earlier_at(8, 4).later(AccessKind::Load, 8, 8).inexact().build();
        assert_eq!(trapped.class, SharingClass::True);
        let informed = |known: &[Event]| {
            let event = tally(known.iter().copied()).informed(trapped, Line(0));
            (event.class, event.later.addr.0, event.later.width)
        };
        let beside = Event::new(0, 1).earlier_at(8, 4).later(AccessKind::Load, 12, 4);
        assert_eq!(informed(&[]), (SharingClass::True, 8, 8), "nothing is known");
        assert_eq!(informed(&[beside]), (SharingClass::False, 12, 4));
        let same = Event::new(0, 1).earlier_at(8, 4).later(AccessKind::Load, 8, 4);
        assert_eq!(informed(&[beside, same]), (SharingClass::True, 8, 8), "it may be either");
        let elsewhere = Event::new(0, 1).earlier_at(8, 4).later(AccessKind::Load, 16, 4);
        assert_eq!(informed(&[elsewhere]), (SharingClass::True, 8, 8));
        let another_thread = Event::new(0, 2).earlier_at(8, 4).later(AccessKind::Load, 12, 4);
        assert_eq!(informed(&[another_thread]), (SharingClass::True, 8, 8));
    }

    #[test]
    fn true_sharing_leaves_the_common_bytes() {
        // The writer of the builder stores bytes 0 to 7; bytes 4 to 7 are common with a load of 4 to 11.
        let t = tally([Event::new(0, 1).later(AccessKind::Load, 4, 8).class_false(false).weight(2.0)]);
        assert_eq!(t.exchanged, BTreeMap::from([(Extent { offset: 4, width: 4 }, 2.0)]));
    }

    #[test]
    fn the_call_path_is_the_most_frequent_known_one() {
        let stacks = BTreeMap::from([(StackId::NONE, 9), (StackId(5), 1), (StackId(7), 2)]);
        assert_eq!(SiteTally { stacks, ..SiteTally::default() }.stack(), StackId(7));
        assert_eq!(SiteTally::default().stack(), StackId::NONE);
    }
}
