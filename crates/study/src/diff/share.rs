//! What became of contended data.

use carom_study_stats::{Interval, poisson};

use super::change::{Change, Test, correct};
use super::known::{observations, proportion};
use super::rate::{Rate, RateChange};
use super::subject::{Listed, Pairing, Subject, pair};
use super::{Fate, Incomparable};
use crate::Estimate;
use crate::share::{MIN_LINE_EVENTS, ObjectFinding, SAMPLES_TO_SEE_A_LINE, ShareFindings, Unit};
use crate::symbols::DataObject;

/// Sharing before and after.
#[derive(Clone, Debug)]
pub struct ShareDiff {
    /// What shares are of.
    pub unit: Unit,
    /// The share of all contended lines.
    pub contended: Change,
    /// The fraction of false sharing; `None` where a side has too few events.
    pub false_fraction: Option<Change>,
    /// Contended data by name, the largest change first.
    pub objects: Vec<ObjectChange>,
    /// Objects that take less than either side would surely have shown. They are not compared.
    pub too_small: usize,
    /// The share of the smallest line that both sides would have shown.
    pub smallest: f64,
}

/// One contended object before and after.
#[derive(Clone, Debug)]
pub struct ObjectChange {
    /// What became of it.
    pub fate: Fate,
    /// The object: as it is after, else as it was before. A name by use is that of before.
    pub object: DataObject,
    /// The share of samples that go to its lines or, where it is spread over many lines with few samples each, the part of the
    /// accesses that follow another thread's write of it.
    pub share: Change,
    /// What became of the false sharing on it, where it is contended on both sides and any was seen.
    pub false_fate: Option<Fate>,
    /// Volumes before: the mean of the runs.
    pub before: Volumes,
    /// Volumes after.
    pub after: Volumes,
}

/// Volumes of sharing, in the unit of the findings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Volumes {
    /// True sharing.
    pub true_sharing: f64,
    /// False sharing.
    pub false_sharing: f64,
}

/// Compares the runs before with those after.
///
/// # Errors
/// A side has no run, or shares are not of the same.
pub fn share(before: &[ShareFindings], after: &[ShareFindings]) -> Result<ShareDiff, Incomparable> {
    let unit = before.first().zip(after.first()).ok_or(Incomparable::NoRun)?.0.unit;
    if before.iter().chain(after).any(|run| run.unit != unit) {
        return Err(Incomparable::Units);
    }
    let whole =
        |runs: &[ShareFindings]| -> Vec<Estimate> { runs.iter().map(|r| r.contended_share).collect() };
    let fractions = |runs: &[ShareFindings]| -> Vec<Estimate> {
        runs.iter().filter_map(|run| run.false_fraction).collect()
    };
    let fractions = (fractions(before), fractions(after));
    let enough = !fractions.0.is_empty() && !fractions.1.is_empty();
    let smallest = visible(before).max(visible(after));
    let pairs = pair(listed(before), listed(after), [before.len(), after.len()]);
    let known = pairs.len();
    let mut objects: Vec<Compared> = pairs
        .into_iter()
        .filter_map(|pairing| Compared::new(pairing, before, after))
        .filter(|object| object.share.before.value.max(object.share.after.value) >= smallest)
        .collect();
    let mut contended = Change::between(&whole(before), &whole(after));
    if is_clean(before) != is_clean(after) {
        contended.test = contended.test.and(events_in_all(before, after).test);
    }
    let mut false_fraction = enough.then(|| Change::between(&fractions.0, &fractions.1));
    let mut tests: Vec<&mut Test> = vec![&mut contended.test];
    tests.extend(false_fraction.iter_mut().map(|change| &mut change.test));
    tests.extend(objects.iter_mut().flat_map(Compared::tests));
    correct(&mut tests);
    let too_small = known - objects.len();
    objects.sort_by(|a, b| b.share.difference.value.abs().total_cmp(&a.share.difference.value.abs()));
    let objects = objects.into_iter().map(Compared::finish).collect();
    Ok(ShareDiff { unit, contended, false_fraction, objects, too_small, smallest })
}

/// Whether no run has a finding.
fn is_clean(runs: &[ShareFindings]) -> bool {
    runs.iter().all(|run| run.objects.is_empty())
}

/// The events of all findings. A run without one may have had a few.
fn events_in_all(before: &[ShareFindings], after: &[ShareFindings]) -> RateChange {
    let rate = |run: &ShareFindings| {
        let events: u64 = run.objects.iter().map(|object| object.events).sum();
        Rate { events: events.max(UNLISTED) as f64, samples: samples(run) }
    };
    let [before, after] = [before, after].map(|side| side.iter().map(rate).collect::<Vec<_>>());
    RateChange::between(&before, &after)
}

/// The most events of what a run does not list.
const UNLISTED: u64 = MIN_LINE_EVENTS - 1;

/// Samples that shares are of.
fn samples(run: &ShareFindings) -> f64 {
    let samples = match run.unit {
        Unit::Samples => run.quality.last_instruction,
        Unit::Accesses => run.quality.step,
    };
    samples as f64
}

/// The share of the smallest line that the runs of a side would have shown together.
fn visible(runs: &[ShareFindings]) -> f64 {
    let all: f64 = runs.iter().map(samples).sum();
    if all > 0.0 { (SAMPLES_TO_SEE_A_LINE / all).min(1.0) } else { 1.0 }
}

/// What one run says of one object.
struct Seen {
    object: DataObject,
    share: Estimate,
    /// The part of the accesses that follow another thread's write, and whether that tells the object's size: where it is
    /// spread over more lines than were seen.
    following: Estimate,
    spread: bool,
    events: f64,
    false_events: f64,
    volumes: Volumes,
}

impl Seen {
    fn of(found: &ObjectFinding) -> Self {
        let volumes = Volumes { true_sharing: found.true_sharing, false_sharing: found.false_sharing };
        let all = volumes.true_sharing + volumes.false_sharing;
        let part = if all > 0.0 { volumes.false_sharing / all } else { 0.0 };
        let events = found.events as f64;
        Self {
            object: found.object.clone(),
            share: found.share,
            following: of_events(found.following.unwrap_or(0.0), events),
            spread: found.spread && found.following.is_some(),
            events,
            false_events: events * part,
            volumes,
        }
    }

    /// Adds another finding about the same. The sampling error is that of a proportion of as many samples as the one with
    /// the larger error was seen in.
    fn add(&mut self, other: Self) {
        let samples = observations(&self.share).min(observations(&other.share));
        self.share = proportion((self.share.value + other.share.value).min(1.0), samples);
        self.events += other.events;
        self.following = of_events(self.following.value + other.following.value, self.events);
        self.spread |= other.spread;
        self.false_events += other.false_events;
        self.volumes.true_sharing += other.volumes.true_sharing;
        self.volumes.false_sharing += other.volumes.false_sharing;
    }

    fn size(&self, spread: bool) -> Estimate {
        if spread { self.following } else { self.share }
    }
}

/// A part of the accesses that is known from so many events.
fn of_events(part: f64, events: f64) -> Estimate {
    let Interval { low, high } = poisson(events);
    let one = if events > 0.0 { part / events } else { 0.0 };
    Estimate { value: part, low: low * one, high: high * one }
}

/// The findings of each run with what they are about.
fn listed(runs: &[ShareFindings]) -> Listed<Seen> {
    let all = runs.iter().enumerate().flat_map(|(run, found)| found.objects.iter().map(move |o| (run, o)));
    all.map(|(run, found)| (run, Subject::of_object(&found.object), Seen::of(found))).collect()
}

/// The object as it is after, with the source that the reader has. A name by use wavers: it is the one that the finding had.
fn called(pairing: &Pairing<Seen>) -> Option<&DataObject> {
    let [before, after] = [&pairing.before, &pairing.after].map(|side| {
        let all = side.iter().map(|(_, seen)| seen);
        all.max_by(|a, b| a.share.value.total_cmp(&b.share.value)).map(|seen| &seen.object)
    });
    before.filter(|object| Subject::is_by_use(object)).or(after).or(before)
}

/// An object before the number of comparisons is known.
struct Compared {
    object: DataObject,
    /// Whether it was seen before, and after.
    seen: [bool; 2],
    share: Change,
    false_sharing: RateChange,
    volumes: [Volumes; 2],
}

impl Compared {
    fn new(pairing: Pairing<Seen>, before: &[ShareFindings], after: &[ShareFindings]) -> Option<Self> {
        let object = called(&pairing)?.clone();
        let seen = [!pairing.before.is_empty(), !pairing.after.is_empty()];
        let sides = [by_run(pairing.before, before), by_run(pairing.after, after)];
        let spread = sides.iter().flatten().any(|run| run.seen.as_ref().is_some_and(|seen| seen.spread));
        let [before, after] =
            sides.each_ref().map(|side| side.iter().map(|run| run.share(spread)).collect::<Vec<_>>());
        let mut share = Change::between(&before, &after);
        let rates = |of: fn(&Run) -> Rate| {
            let [before, after] = sides.each_ref().map(|side| side.iter().map(of).collect::<Vec<_>>());
            RateChange::between(&before, &after)
        };
        if seen != [true, true] {
            // A hot line with a few events is listed in one run and not in the next: its events must tell as well that it
            // came or went.
            share.test = share.test.and(rates(Run::events).test);
        }
        let volumes = sides.each_ref().map(|side| volumes(side));
        let [before, after] =
            sides.each_ref().map(|side| side.iter().filter_map(Run::false_part).collect::<Vec<_>>());
        let mut false_sharing = rates(Run::false_events);
        if !before.is_empty() && !after.is_empty() {
            false_sharing = false_sharing.or(&Change::between(&before, &after));
        }
        Some(Self { object, seen, share, false_sharing, volumes })
    }

    /// What may be called a change.
    fn tests(&mut self) -> Vec<&mut Test> {
        let mut tests = vec![&mut self.share.test];
        if self.seen == [true, true] {
            tests.push(&mut self.false_sharing.test);
        }
        tests
    }

    fn finish(self) -> ObjectChange {
        let [before, after] = self.seen;
        let [false_before, false_after] = self.volumes.map(|volumes| volumes.false_sharing > 0.0);
        let is_false = before && after && (false_before || false_after);
        ObjectChange {
            fate: Fate::of(before, after, self.share.trend()),
            false_fate: is_false.then(|| Fate::of(false_before, false_after, self.false_sharing.trend())),
            object: self.object,
            share: self.share,
            before: self.volumes[0],
            after: self.volumes[1],
        }
    }
}

/// What a run says of an object, if anything.
struct Run {
    samples: f64,
    /// The share of what the run does not list: none, or too little to be seen.
    unlisted: Estimate,
    seen: Option<Seen>,
}

/// One for each run; findings of one run are added up.
fn by_run(seen: Vec<(usize, Seen)>, runs: &[ShareFindings]) -> Vec<Run> {
    let mut all: Vec<Run> = runs.iter().map(Run::without).collect();
    for (number, found) in seen {
        let Some(run) = all.get_mut(number) else { continue };
        match &mut run.seen {
            Some(sum) => sum.add(found),
            none => *none = Some(found),
        }
    }
    all
}

impl Run {
    fn without(run: &ShareFindings) -> Self {
        let none = proportion(0.0, observations(&run.contended_share));
        let unlisted = Estimate { high: none.high.max(visible(std::slice::from_ref(run))), ..none };
        Self { samples: samples(run).max(1.0), unlisted, seen: None }
    }

    fn share(&self, spread: bool) -> Estimate {
        self.seen.as_ref().map_or(self.unlisted, |seen| seen.size(spread))
    }

    /// A line that is not listed may have had a few.
    fn events(&self) -> Rate {
        let events = self.seen.as_ref().map_or(UNLISTED as f64, |seen| seen.events);
        Rate { events, samples: self.samples }
    }

    /// False sharing as a part of the sharing; `None` where the run does not list it.
    fn false_part(&self) -> Option<Estimate> {
        let seen = self.seen.as_ref()?;
        (seen.events > 0.0).then(|| proportion(seen.false_events / seen.events, seen.events))
    }

    fn false_events(&self) -> Rate {
        let events = self.seen.as_ref().map_or(0.0, |seen| seen.false_events);
        Rate { events, samples: self.samples }
    }
}

/// The mean over the runs.
fn volumes(runs: &[Run]) -> Volumes {
    let part = 1.0 / runs.len().max(1) as f64;
    let seen = runs.iter().filter_map(|run| run.seen.as_ref()).map(|seen| seen.volumes);
    seen.fold(Volumes::default(), |sum, each| Volumes {
        true_sharing: sum.true_sharing + part * each.true_sharing,
        false_sharing: sum.false_sharing + part * each.false_sharing,
    })
}

#[cfg(test)]
mod tests;
