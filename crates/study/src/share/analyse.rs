//! The study itself: the events, the samples, and the events once more.

use std::collections::BTreeMap;

use carom_base::{
    EarlierWrite, Line, Nanos, Population, ProcessId, Sample, SampleOutcome, SharingEvent, Skip, ThreadId,
};
use carom_study_stats::TimeBlocks;

use super::extent::{lines, meeting_line};
use super::handover::Handover;
use super::lines::{findings, ranked, share};
use super::naive::LastWriter;
use super::objects::Objects;
use super::order::{InOrder, Step};
use super::parts::Primitives;
use super::pattern::pattern;
use super::protected;
use super::scale::Scale;
use super::tally::{LineKey, LineTally};
use super::together;
use super::transfers::Transfers;
use super::volumes::Volumes;
use super::{Communication, Matrix, Pattern, Quality, ShareFindings, ShareInput, Unit};
use crate::estimate::{Estimate, WeightedCount};
use crate::recording::{Names, ThreadEntry};

/// The part of the volume from which on the pattern of one process is the program's.
const ONE_PROCESS: f64 = 0.9;

/// Finds the contended lines and the communication between threads in a recording.
///
/// The events come first and say which lines are shared; the samples are then read once, and only those in
/// contended lines are kept, as counts. Then it is known what lies on a line, and the events are classified. Memory grows with the distinct lines that have events and the distinct
/// places that access them, not with the length of the recording.
pub fn analyse(input: &dyn ShareInput, names: &mut dyn Names) -> ShareFindings {
    let roster = Roster(input.threads());
    let scale = Scale::of(input);
    let mut lines: BTreeMap<LineKey, LineTally> = BTreeMap::new();
    let mut communicating: BTreeMap<LineKey, f64> = BTreeMap::new();
    let mut quality = Quality::default();
    for event in input.events() {
        quality.events += 1;
        let (key, line) = roster.met(&event);
        lines.entry(key).or_default().event(&event, line);
        *communicating.entry(key).or_default() += scale.event(&event);
    }
    let shared_lines = lines.len();
    let mut objects = Objects::of(&mut lines, &communicating, roster, names);
    if objects.need_samples(scale.unit) {
        input.samples().for_each(|sample| objects.weigh(&sample, &lines, roster, scale));
    }
    lines.retain(|_, tally| objects.contended(tally));
    let moved_once = objects.moved_once();

    let mut samples = Samples::of(scale, lines, objects);
    for sample in input.samples() {
        samples.add(&sample, roster);
    }
    samples.end();
    samples.count_into(&mut quality);
    quality.losses = input.losses();

    let mut primitives = Primitives::default();
    for (key, tally) in &mut samples.lines {
        tally.cells = primitives.cells(*key, tally, roster, names);
    }
    together::drop_doubtful(&mut samples.lines);
    together::judge(&mut samples.lines);
    let mut handover = Handover::default();
    for event in input.events() {
        let met = roster.met(&event);
        if let Some(tally) = samples.lines.get(&met.0) {
            let event = tally.informed(event, met.1);
            handover.add(&event, scale.event(&event), met, tally);
        }
    }
    handover.judge(&mut samples.lines);
    let mut volumes = Volumes::default();
    for event in input.events() {
        let (key, line) = roster.met(&event);
        let weight = scale.event(&event);
        let tally = samples.lines.get_mut(&key);
        let event = tally.as_ref().map_or(event, |tally| tally.informed(event, line));
        let mut class = event.class;
        if let Some(tally) = tally {
            class = tally.class(&event, line);
            tally.classified(&event, class, weight, line);
            let EarlierWrite { thread, access, stack, .. } = event.earlier;
            let writer = primitives.of_site((roster.process(thread), access.ip, stack), names);
            *tally.written_by.entry(writer).or_default() += weight;
        }
        volumes.add(&event, class, weight, |cpu| input.core_of(cpu));
    }

    let everybody = || input.threads().iter().map(|t| t.id);
    let events = volumes.events;
    let transfer = input.transfer_ns().filter(|_| scale.unit == Unit::Accesses).map(|ns| ns / 1e9);
    let false_fraction = volumes.false_fraction();
    let not_enough = volumes.not_enough(input.seconds(), moved_once, transfer);
    let transfers = samples.transfers.finish(everybody());
    let communication = communication(&volumes, samples.contended_accesses, transfers, scale.unit);
    let threads = volumes.threads.finish(everybody());
    let contended_share = share(&samples.contended, &samples.whole);
    let ranked = ranked(samples.lines);
    let mut lines = findings(&ranked, &samples.whole, roster, names);
    protected::by_locks(&mut lines);
    ShareFindings {
        objects: samples.objects.findings(&ranked, &lines, &samples.whole, scale.unit),
        communication,
        unit: scale.unit,
        quality,
        false_fraction,
        contended_share,
        kinds: volumes.kinds,
        pattern: pattern_of_program(&threads, events, roster),
        threads,
        cpus: volumes.cpus.finish(std::iter::empty()),
        distance: volumes.distance,
        last_writer: samples.naive.finish(everybody()),
        other_lines: shared_lines.saturating_sub(ranked.len()),
        lines,
        not_enough,
    }
}

/// Numbers of accesses and transfers, where samples stand for numbers.
fn communication(
    volumes: &Volumes,
    contended: WeightedCount,
    transfers: Option<(Estimate, Matrix<ThreadId>)>,
    unit: Unit,
) -> Option<Communication> {
    let accesses = volumes.all.estimate().filter(|_| unit == Unit::Accesses)?;
    let (transfers, by_thread) = transfers.unzip();
    let contended = contended.estimate();
    Some(Communication { contended, accesses, transfers, by_thread: by_thread.unwrap_or_default() })
}

/// Which process a thread belongs to.
#[derive(Clone, Copy)]
pub(super) struct Roster<'a>(&'a [ThreadEntry]);

impl Roster<'_> {
    /// The first process for a thread that the recording does not list: a valid one lists all.
    fn entry(self, thread: ThreadId) -> ThreadEntry {
        self.0.get(thread.0 as usize).copied().unwrap_or(ThreadEntry::new(thread, ProcessId(0)))
    }

    pub fn process(self, thread: ThreadId) -> ProcessId {
        self.entry(thread).process
    }

    /// The line on which the accesses of an event met.
    fn met(self, event: &SharingEvent) -> (LineKey, Line) {
        let line = meeting_line(event.later, event.earlier.access);
        ((self.keeper(event.thread, line), line), line)
    }

    pub fn keeper(self, thread: ThreadId, line: Line) -> ProcessId {
        self.entry(thread).keeper(line)
    }
}

/// The pattern of the process that has nearly all of the volume, or of processes where nearly all of it goes between them.
/// Processes that do not communicate with each other form no pattern: their memory is their own.
fn pattern_of_program(matrix: &Matrix<ThreadId>, events: usize, roster: Roster<'_>) -> Option<Pattern> {
    // `None` for what goes from one to another.
    let mut volumes: BTreeMap<Option<ProcessId>, f64> = BTreeMap::new();
    for (writer, row) in matrix.labels.iter().zip(&matrix.all) {
        let process = roster.process(*writer);
        for (accessor, volume) in matrix.labels.iter().zip(row) {
            let within = (roster.process(*accessor) == process).then_some(process);
            *volumes.entry(within).or_default() += volume;
        }
    }
    let busiest = volumes.values().copied().fold(0.0, f64::max);
    (busiest >= ONE_PROCESS * (matrix.volume() + matrix.unlisted)).then(|| pattern(matrix, events)).flatten()
}

/// Sums over the samples of a recording.
struct Samples<'a> {
    scale: Scale<'a>,
    lines: BTreeMap<LineKey, LineTally>,
    objects: Objects,
    order: InOrder,
    naive: LastWriter,
    transfers: Transfers,
    /// The denominator of every share: all samples of that kind, also those without an address.
    whole: TimeBlocks,
    /// Those in any contended line.
    contended: TimeBlocks,
    last_contended: Option<(ThreadId, Nanos)>,
    /// How many accesses these stand for.
    contended_accesses: WeightedCount,
    timed: u64,
    stepped: u64,
    doublings: BTreeMap<u8, u64>,
    skipped: BTreeMap<Skip, u64>,
}

impl<'a> Samples<'a> {
    fn of(scale: Scale<'a>, lines: BTreeMap<LineKey, LineTally>, objects: Objects) -> Self {
        Self {
            scale,
            lines,
            objects,
            order: InOrder::default(),
            naive: LastWriter::default(),
            transfers: Transfers::new(scale.input.transfer_ns()),
            whole: TimeBlocks::default(),
            contended: TimeBlocks::default(),
            last_contended: None,
            contended_accesses: WeightedCount::default(),
            timed: 0,
            stepped: 0,
            doublings: BTreeMap::new(),
            skipped: BTreeMap::new(),
        }
    }

    fn add(&mut self, sample: &Sample, roster: Roster<'_>) {
        let weight = self.scale.sample(sample);
        if sample.part == 0 || !self.scale.by_instruction() {
            self.whole.observe(self.scale.time(sample), false, weight);
            *self.doublings.entry(sample.doublings).or_default() += 1;
            match sample.population {
                Population::LastInstruction => self.timed += 1,
                Population::Step => self.stepped += 1,
            }
        }
        let access = match sample.outcome {
            SampleOutcome::Access(access) => access,
            SampleOutcome::Skipped(_, why) => {
                *self.skipped.entry(why).or_default() += 1;
                return;
            }
        };
        let (first, last) = lines(access);
        let process = roster.keeper(sample.thread, first);
        if sample.population == Population::Step {
            let (accesses, operations) = self.scale.step(sample, access.kind);
            let core = self.scale.input.core_of(sample.cpu).unwrap_or(sample.cpu.0);
            let &Sample { thread, time, .. } = sample;
            let step = Step { thread, process, time, core, access, accesses, operations };
            if let Some(next) = self.order.push(step) {
                self.in_order(&next);
            }
        }
        let mut touched = None;
        for ((_, line), tally) in self.lines.range_mut((process, first)..=(process, last)) {
            tally.sample(sample, access, *line, self.scale);
            // An access over two objects counts for the first, so that shares add up.
            touched = touched.or(Some(tally.object));
        }
        let id = Some((sample.thread, sample.time));
        let again = self.scale.by_instruction() && self.last_contended == id;
        if let Some(object) = touched
            && weight > 0.0
            && !again
        {
            self.last_contended = id;
            self.contended.hit(self.scale.time(sample), weight);
            self.objects.hit(object, self.scale.time(sample), weight);
            self.contended_accesses.add(weight);
        }
    }

    fn in_order(&mut self, step: &Step) {
        self.naive.add(step);
        if self.lines.contains_key(&step.line()) {
            self.transfers.add(step);
        }
    }

    fn end(&mut self) {
        while let Some(next) = self.order.pop() {
            self.in_order(&next);
        }
    }

    fn count_into(&self, quality: &mut Quality) {
        quality.last_instruction = self.timed;
        quality.step = self.stepped;
        quality.doublings.clone_from(&self.doublings);
        quality.skipped = self.skipped.iter().map(|(why, n)| (*why, *n)).collect();
    }
}

#[cfg(test)]
mod tests;
