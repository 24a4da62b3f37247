//! Lines by what lies on them: sharing on many lines of one object, or of many objects of one kind, is one finding.

use std::collections::BTreeMap;
use std::mem::discriminant;

use carom_base::{Addr, Sample, SampleOutcome};
use carom_study_stats::TimeBlocks;

use super::analyse::Roster;
use super::lines::{share, users};
use super::matrix::Volume;
use super::scale::Scale;
use super::tally::{LineKey, LineTally, Turns};
use super::{
    Contended, LineFinding, MIN_LINE_EVENTS, ObjectFinding, Primitive, Remedy, Unit, primitive, whole,
};
use crate::recording::Names;
use crate::symbols::{DataObject, ObjectKind};

/// Lines that have few events each are contended together if their object has this many.
const SPREAD_EVENTS: u64 = 20;

/// And if this part of the accesses to them follows another thread's write. Less is data that is handed over now and then.
const SPREAD_PART: f64 = 0.1;

/// Sharing is spread where no line has this part of the object's events.
const SPREAD_LINE: f64 = 0.1;

/// What the lines of one finding have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    /// The name of the object, and where it was declared or allocated.
    Object(String, Option<String>, Option<u32>),
    /// Memory without a name: the function that uses it most.
    UsedBy(Option<String>),
}

/// An object, or all that have the same identity.
struct Group {
    /// The one of the line with most events.
    object: DataObject,
    most_events: u64,
    turns: Turns,
    /// Events of step samples, on any of its lines.
    stepped: usize,
    /// Events on lines that have few, the accesses that these stand for, and all sampled accesses to these lines.
    weak: (u64, f64, f64),
    /// The samples of which shares are, in any contended line. One that touches two lines is one.
    hits: TimeBlocks,
}

impl Group {
    /// One event alone may have come before the second write.
    fn written_once(&self) -> bool {
        self.stepped as u64 >= MIN_LINE_EVENTS && self.turns.once()
    }
}

/// The objects of a recording. Lines refer to them by number ([`LineTally::object`]).
#[derive(Default)]
pub(super) struct Objects(Vec<Group>);

impl Objects {
    /// Finds the object of every line. `volume`: the accesses that the events of a line stand for.
    pub fn of(
        lines: &mut BTreeMap<LineKey, LineTally>,
        volume: &BTreeMap<LineKey, f64>,
        roster: Roster<'_>,
        names: &mut dyn Names,
    ) -> Self {
        let mut known: BTreeMap<Identity, usize> = BTreeMap::new();
        let mut objects = Self::default();
        for (key, tally) in lines {
            let (identity, object) = identity(*key, tally, roster, names);
            tally.object = *known.entry(identity).or_insert(objects.0.len());
            let events = tally.events();
            if tally.object == objects.0.len() {
                let (weak, hits) = ((0, 0.0, 0.0), TimeBlocks::default());
                let (turns, stepped) = (Turns::default(), 0);
                objects.0.push(Group {
                    object: object.clone(),
                    most_events: events,
                    turns,
                    stepped,
                    weak,
                    hits,
                });
            }
            let Some(group) = objects.0.get_mut(tally.object) else { continue };
            group.turns = group.turns.and(tally.turns);
            group.stepped += tally.stepped();
            if events > group.most_events {
                (group.object, group.most_events) = (object, events);
            }
            if events < MIN_LINE_EVENTS {
                group.weak.0 += events;
                group.weak.1 += volume.get(key).copied().unwrap_or(0.0);
            }
        }
        objects
    }

    /// Whether samples tell more of some object: that it was written again, or, where they stand for accesses, that its lines
    /// with few events are contended together.
    pub fn need_samples(&self, unit: Unit) -> bool {
        let spreads = |group: &Group| unit == Unit::Accesses && group.weak.0 >= SPREAD_EVENTS;
        self.0.iter().any(|group| group.written_once() || spreads(group))
    }

    /// A sample of the recording, to find out when lines are written, and how much those with few events are accessed.
    pub fn weigh(
        &mut self,
        sample: &Sample,
        lines: &BTreeMap<LineKey, LineTally>,
        roster: Roster<'_>,
        scale: Scale<'_>,
    ) {
        let SampleOutcome::Access(access) = sample.outcome else { return };
        let line = access.addr.line();
        let Some(tally) = lines.get(&(roster.keeper(sample.thread, line), line)) else { return };
        let Some(group) = self.0.get_mut(tally.object) else { return };
        if access.kind.writes() {
            group.turns.written(sample.time);
        }
        if tally.events() < MIN_LINE_EVENTS {
            group.weak.2 += scale.sample(sample);
        }
    }

    /// Events of step samples on objects that one thread wrote before all others used them: these moved once, and are no
    /// contention.
    pub fn moved_once(&self) -> usize {
        self.0.iter().filter(|group| group.written_once()).map(|group| group.stepped).sum()
    }

    /// Whether a line is contended, by itself or together with others of its object.
    pub fn contended(&self, tally: &LineTally) -> bool {
        let spread = |group: &Group| {
            let (events, communicating, all) = group.weak;
            events >= SPREAD_EVENTS && communicating > 0.0 && communicating >= SPREAD_PART * all && all > 0.0
        };
        self.0.get(tally.object).is_some_and(|group| {
            !group.written_once() && (tally.events() >= MIN_LINE_EVENTS || spread(group))
        })
    }

    /// A sample of which shares are, in lines of this object.
    pub fn hit(&mut self, object: usize, time: u64, weight: f64) {
        if let Some(group) = self.0.get_mut(object) {
            group.hits.hit(time, weight);
        }
    }

    /// The findings, the one that concerns most accesses first. `ranked`: all contended lines in the order of the report, of
    /// which `lines` are the first; `whole`: all samples of which shares are.
    pub fn findings(
        self,
        ranked: &[(LineKey, LineTally)],
        lines: &[LineFinding],
        whole: &TimeBlocks,
        unit: Unit,
    ) -> Vec<ObjectFinding> {
        let accesses =
            (unit == Unit::Accesses).then(|| whole.total().weight).filter(|accesses| *accesses > 0.0);
        let mut numbers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (number, (_, tally)) in ranked.iter().enumerate() {
            numbers.entry(tally.object).or_default().push(number);
        }
        let mut found: Vec<ObjectFinding> = Vec::new();
        for (object, numbers) in numbers {
            let tallies: Vec<&LineTally> =
                numbers.iter().filter_map(|number| ranked.get(*number)).map(|(_, tally)| tally).collect();
            let volume =
                |of: fn(&Volume) -> f64| tallies.iter().map(|tally| of(&tally.basis().1.volume)).sum();
            let mut listed: Vec<usize> =
                numbers.iter().copied().filter(|number| *number < lines.len()).collect();
            telling_first(&mut listed, lines);
            let worst = listed.first().and_then(|number| lines.get(*number));
            let (Some(group), Some(worst)) = (self.0.get(object), worst) else { continue };
            let (true_sharing, false_sharing) =
                (volume(|all| all.true_sharing), volume(|all| all.false_sharing));
            let events: u64 = tallies.iter().map(|tally| tally.events()).sum();
            let most = tallies.iter().map(|tally| tally.events()).max().unwrap_or(0);
            let spread = (most as f64) < SPREAD_LINE * events as f64;
            let of_lines = || listed.iter().filter_map(|number| lines.get(*number));
            // Counts of references lie beside the object that they are of: padding would part them, and help nobody.
            let matters = |primitive: &Primitive| spread || *primitive == Primitive::ReferenceCount;
            let pooled = primitive_of(&tallies).filter(matters).map(|primitive| {
                let users = users(of_lines().flat_map(|line| &line.sites), primitive);
                Remedy::Contend(Contended { primitive, name: None, users, elsewhere: false, several: false })
            });
            found.push(ObjectFinding {
                object: group.object.clone(),
                share: share(&group.hits, whole),
                following: accesses.map(|accesses| f64::min((true_sharing + false_sharing) / accesses, 1.0)),
                true_sharing,
                false_sharing,
                events,
                remedy: pooled.unwrap_or_else(|| whole::remedy(worst, of_lines(), &tallies)),
                check: None,
                spread,
                other_lines: numbers.len() - listed.len(),
                lines: listed,
            });
        }
        found.sort_by(|a, b| concerned(b).total_cmp(&concerned(a)).then(b.events.cmp(&a.events)));
        found
    }
}

/// Puts that line first of which the advice concerns most of the accesses: the first of those that need the same kind of change.
/// What lies beside a lock moves with it: a lock on the first line stays there.
fn telling_first(listed: &mut [usize], lines: &[LineFinding]) {
    let known = || listed.iter().filter_map(|number| lines.get(*number));
    if known().next().is_some_and(|line| matches!(line.remedy, Remedy::Contend(_))) {
        return;
    }
    let share = |of: &LineFinding| -> f64 {
        let alike = known().filter(|line| discriminant(&line.remedy) == discriminant(&of.remedy));
        alike.map(|line| line.share.value).sum()
    };
    let shares: Vec<f64> = known().map(share).collect();
    // The last of several maxima is taken, so the first line comes last.
    let most = (0..shares.len()).rev().max_by(|a, b| shares[*a].total_cmp(&shares[*b]));
    if let Some(head) = most.and_then(|first| listed.get_mut(..=first)) {
        head.rotate_right(1);
    }
}

/// The part of the accesses that a finding concerns. Where the sharing is spread over many lines, which of these were seen to be
/// shared is chance, and so is their share: of a hash table whose buckets have locks, twice as many accesses go to such nodes, but
/// the locks move four times as often.
fn concerned(finding: &ObjectFinding) -> f64 {
    finding.following.filter(|_| finding.spread).unwrap_or(finding.share.value)
}

/// The primitive whose code made at least half of the writes that other threads met.
fn primitive_of(tallies: &[&LineTally]) -> Option<Primitive> {
    let mut written: BTreeMap<Option<Primitive>, f64> = BTreeMap::new();
    for (by, volume) in tallies.iter().flat_map(|tally| &tally.written_by) {
        *written.entry(*by).or_default() += volume;
    }
    let whole: f64 = written.values().sum();
    let (most, volume) = written.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    most.filter(|_| volume > 0.0 && 2.0 * volume >= whole)
}

fn identity(
    (process, line): LineKey,
    tally: &LineTally,
    roster: Roster<'_>,
    names: &mut dyn Names,
) -> (Identity, DataObject) {
    let sites = tally.sites();
    let busiest = tally.busiest();
    let offset = busiest.map_or(0, |extent| extent.offset);
    let object = names.object(process, Addr(line.start().0.saturating_add(u64::from(offset))));
    if object.kind == ObjectKind::Heap && object.allocation.is_empty() {
        let path = sites
            .iter()
            .find(|(key, _)| Some(key.extent) == busiest)
            .map(|(key, site)| names.call_path(roster.process(key.thread), key.ip, site.stack()));
        let user = path.as_deref().and_then(primitive::user).and_then(|frame| frame.function.clone());
        let name = user.as_ref().map_or(object.name.clone(), |user| format!("heap memory used by {user}"));
        return (Identity::UsedBy(user), DataObject { name, ..object });
    }
    let declared = object.declared.as_ref().map(|frame| (frame.file.clone(), frame.line));
    let (file, at) = declared.unwrap_or_default();
    (Identity::Object(object.name.clone(), file, at), object)
}
