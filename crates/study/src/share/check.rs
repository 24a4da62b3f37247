//! The changes of the layout that remedies ask for, and what a simulation said of them.

use std::collections::BTreeSet;

use carom_base::{Addr, LINE_BYTES, ThreadId};
use carom_store::{Manifest, RemedyChecks};

use super::{ByteRange, LineFinding, ObjectFinding, Padding, Parts, Remedy, ShareFindings, ShareStudy};
use crate::{
    Study,
    recording::{Names, Offsets, Recordings},
    simulate::{Change, How, Target},
    symbols::DataObject,
};

/// Findings whose remedies are checked, the worst first: each is a simulation.
const CHECKED: usize = 3;

/// A layout that leaves more than this part of the transfers does not help: remedies of layout are given from a tenth of a line's
/// sharing on (`BESIDE` in `remedy.rs`), and mostly for two thirds of it.
const LEFT: f64 = 0.95;

/// Fewer transfers than this say nothing of a layout, as fewer events say nothing of a line.
const FEWEST: u64 = super::ENOUGH_EVENTS as u64;

/// What a simulation said of a remedy.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    /// The remedy is no change of a layout.
    NotOfLayout,
    /// It could not be simulated; the reason.
    Unchecked(String),
    /// It was simulated.
    Simulated(Simulated),
}

/// What became of the layout that a remedy asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// The changes, as `carom simulate --what-if` has them.
    pub changes: Vec<String>,
    /// The name of the simulated machine.
    pub machine: String,
    /// Accesses of the program that were simulated.
    pub accesses: u64,
    /// How often cores took the lines of the changed objects from each other.
    pub before: u64,
    /// The same with the changes.
    pub after: u64,
    /// Nanoseconds that a line takes from one core to another, where measured.
    pub transfer_ns: Option<f64>,
    /// How long threads can wait for the lines, where the recorded run tells.
    pub waiting: Option<Waiting>,
}

impl Simulated {
    /// Whether the layout lowers the transfers.
    pub fn helps(&self) -> bool {
        self.after as f64 <= LEFT * self.before as f64
    }

    /// Seconds of CPU time that the transfers which go away take; `None` where the time of one was not measured.
    pub fn worth_s(&self) -> Option<f64> {
        let worth = self.before.saturating_sub(self.after) as f64 * self.transfer_ns? / 1e9;
        Some(self.waiting.map_or(worth, |waiting| worth.min(waiting.in_turn_s())))
    }

    /// Whether the transfers are too many for threads that wait for each.
    pub fn is_waiting_in_turn(&self) -> bool {
        self.waiting.is_some_and(|waiting| self.worth_s() == Some(waiting.in_turn_s()))
    }
}

/// How long threads can wait for lines that they take from each other.
///
/// In the simulation they wait for nothing and make the next access at once. In the program, one has the line and goes on while the
/// others wait, so that the line is taken the less often the longer it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waiting {
    /// Seconds of CPU time that as many accesses as were simulated took in the recorded run.
    pub cpu_s: f64,
    /// Threads that use the lines and can run at the same time.
    pub threads: usize,
}

impl Waiting {
    /// Seconds of CPU time: all but one of the threads wait all the time. No bound: while a line is on its way, nobody may have it, and
    /// what a processor has in hand otherwise hides the way of a line.
    pub fn in_turn_s(self) -> f64 {
        self.cpu_s * (1.0 - 1.0 / self.threads.max(1) as f64)
    }
}

/// What a remedy asks for.
type Asked = Result<Vec<Change>, Check>;

impl ShareStudy {
    /// The layouts that the remedies of the worst findings ask for.
    pub fn layouts(&self, recordings: &mut Recordings<'_>) -> Vec<Vec<Change>> {
        let found = self.study(recordings);
        let combine = self.combine(recordings);
        let (_, mut names) = recordings.merged(combine);
        let worst = found.objects.iter().take(CHECKED);
        worst.filter_map(|object| asked(object, &found.lines, &mut names).ok()).collect()
    }
}

/// Tells what was simulated for the worst findings, in any of these recordings.
pub(super) fn add_checks(
    found: &mut ShareFindings,
    manifests: &[(&Manifest, Offsets)],
    names: &mut dyn Names,
) {
    let stored: Vec<(&Manifest, &RemedyChecks)> =
        manifests.iter().filter_map(|(manifest, _)| Some((*manifest, manifest.checks.as_ref()?))).collect();
    if stored.is_empty() {
        return;
    }
    for object in found.objects.iter_mut().take(CHECKED) {
        object.check = match asked(object, &found.lines, names) {
            Ok(changes) => outcome(&changes, &stored, users(object, &found.lines)),
            Err(check) => Some(check),
        };
    }
}

/// `None` where no recording has simulated these changes.
fn outcome(changes: &[Change], stored: &[(&Manifest, &RemedyChecks)], users: usize) -> Option<Check> {
    let changes: Vec<String> = changes.iter().map(Change::to_string).collect();
    stored.iter().find_map(|(manifest, all)| {
        let check = all.checks.iter().find(|check| check.changes == changes)?;
        Some(match &check.problem {
            Some(problem) => Check::Unchecked(problem.clone()),
            None if check.before < FEWEST => Check::Unchecked(format!(
                "in the accesses that were simulated, cores took these lines from each other only {} times",
                check.before
            )),
            None => Check::Simulated(Simulated {
                changes: changes.clone(),
                machine: all.machine.clone(),
                accesses: all.accesses,
                before: check.before,
                after: check.after,
                transfer_ns: Some(manifest.engine.costs_ns.transfer as f64).filter(|ns| *ns > 0.0),
                waiting: waiting(manifest, all.loads_and_stores, users),
            }),
        })
    })
}

/// How many threads use the lines of a finding.
fn users(finding: &ObjectFinding, lines: &[LineFinding]) -> usize {
    let lines = finding.lines.iter().filter_map(|number| lines.get(*number));
    let ranges = lines.flat_map(|line| &line.layout);
    let users: BTreeSet<ThreadId> =
        ranges.flat_map(|range| range.readers.iter().chain(&range.writers)).copied().collect();
    users.len()
}

/// How long so many threads can wait during so many loads and stores, by the time that those of the recording took.
fn waiting(manifest: &Manifest, loads_and_stores: u64, users: usize) -> Option<Waiting> {
    let counts = || manifest.threads.iter().filter_map(|thread| thread.counts.as_ref());
    let accesses: f64 =
        counts().flat_map(|counts| [counts.loads, counts.stores]).flatten().map(|count| count as f64).sum();
    let nanos: f64 = counts().map(|counts| counts.translated_ns as f64).sum();
    let processors = Some(manifest.machine.cpus.len()).filter(|cpus| *cpus > 0);
    let threads = processors.map_or(users, |processors| users.min(processors));
    let cpu_s = nanos / 1e9 * loads_and_stores as f64 / accesses;
    (threads > 1 && cpu_s > 0.0 && cpu_s.is_finite()).then_some(Waiting { cpu_s, threads })
}

/// The changes that the remedy of a finding asks for; otherwise, why it cannot be checked.
fn asked(finding: &ObjectFinding, lines: &[LineFinding], names: &mut dyn Names) -> Asked {
    let padding = match &finding.remedy {
        Remedy::Pad(Padding { of: Parts::Pieces, .. }) | Remedy::ShareLess { .. } | Remedy::Contend(_) => {
            return Err(Check::NotOfLayout);
        }
        Remedy::Pad(padding) | Remedy::PadThenShareLess { padding, .. } => padding,
    };
    let unchecked = |why: &str| Check::Unchecked(why.to_owned());
    let line = finding.lines.first().and_then(|number| lines.get(*number));
    let line = line.ok_or_else(|| unchecked("its lines are not listed"))?;
    if line.shared.is_some() {
        return Err(unchecked(
            "the memory is that of several processes, each of which is simulated by itself",
        ));
    }
    let others = finding.lines.iter().skip(1).filter_map(|number| lines.get(*number));
    parted(line, others, padding, names).ok_or_else(|| unchecked("nothing tells which object lies there"))
}

/// The changes that part a line so, and `others` with it where they are asked for as a whole. `None` where an object has no name by
/// which another run could find it.
fn parted<'a>(
    line: &LineFinding,
    others: impl Iterator<Item = &'a LineFinding>,
    padding: &Padding,
    names: &mut dyn Names,
) -> Option<Vec<Change>> {
    // Memory of which nothing is known has no size.
    let mut at = |at: Addr| Some(names.object(line.process, at)).filter(|found| found.size.is_some());
    let change = |object: &DataObject, how| Change {
        object: Target::Named(object.name.clone()),
        how,
        alignment: LINE_BYTES,
    };
    let mut object_on =
        |line: &LineFinding, offset: u32| at(Addr(line.address.0.checked_add(u64::from(offset))?));
    let cuts = padding.at_line_offsets.iter().copied();
    let changes: Vec<Change> = match &padding.of {
        Parts::Elements(array) => vec![change(&at(array.base)?, How::Align(Some(array.element_bytes)))],
        Parts::Repeated(bytes) => {
            vec![change(&object_on(line, *padding.at_line_offsets.first()?)?, How::Align(Some(*bytes)))]
        }
        Parts::Fields => {
            let mut cut = |line: &LineFinding, offset: u32| {
                let object = object_on(line, offset)?;
                let at = u64::try_from(object.offset + i64::from(offset)).ok()?;
                Some(change(&object, How::Pad(at)))
            };
            let mut all = cuts.map(|offset| cut(line, offset)).collect::<Option<Vec<_>>>()?;
            if padding.fields.iter().all(String::is_empty) {
                // Parts without names are spoken of together.
                let of_others = others.flat_map(|line| of_fields(line).map(move |offset| (line, offset)));
                all.extend(of_others.filter_map(|(line, offset)| cut(line, offset)));
            }
            all
        }
        // Each begins a line as a whole, also the first.
        Parts::Variables | Parts::Blocks => {
            let used = |range: &&ByteRange| !range.readers.is_empty() || !range.writers.is_empty();
            let first = line.layout.iter().find(used).map(|range| range.offset);
            let all = first.into_iter().chain(cuts);
            all.map(|offset| Some(change(&object_on(line, offset)?, How::Pad(0)))).collect::<Option<_>>()?
        }
        Parts::Pieces => Vec::new(),
    };
    // Blocks of one allocation have one name.
    let mut distinct: Vec<Change> = Vec::new();
    for change in changes {
        if !distinct.contains(&change) {
            distinct.push(change);
        }
    }
    (!distinct.is_empty()).then_some(distinct)
}

/// Where parts of one object begin on this line, if its remedy is to part them.
fn of_fields(line: &LineFinding) -> impl Iterator<Item = u32> {
    let cuts = match &line.remedy {
        Remedy::Pad(Padding { of: Parts::Fields, at_line_offsets, .. }) => at_line_offsets.as_slice(),
        _ => &[],
    };
    cuts.iter().copied()
}

#[cfg(test)]
mod tests;
