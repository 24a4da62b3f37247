//! Data that threads write for each other, place by place: slots of a ring, blocks of a pipeline, items of a cache.
//!
//! Writer and reader are sampled, so they are mostly seen at different elements of a line, as if these were shared falsely. But every
//! element is written by the one and read by the others: they would move between the threads wherever they lie. What tells both
//! apart is how often they are seen at the same element: as often as chance makes it, or never.

use std::collections::{BTreeMap, BTreeSet};

use carom_base::{LINE_BYTES, Line, SharingClass, SharingEvent, ThreadId};

use super::extent::Extent;
use super::layout::Cell;
use super::tally::{LineKey, LineTally};

/// One thread makes this part of the writes that others meet.
const ONE_WRITER: f64 = 0.9;

/// The least number of lines over which the data extends, and of meetings.
const ENOUGH: (usize, u64) = (4, 20);

/// The least number of lines of what several threads write: a few may be an array of words that all threads update, where padding
/// would help.
const ENOUGH_OF_SEVERAL: usize = 16;

/// Threads change what they meet in place if at least this part of the meetings reads and writes at once. Then they update the
/// data, and nobody hands it over.
const IN_PLACE: f64 = 0.5;

/// If elements are met at random, so many standard deviations below what chance makes at the same element are still chance.
const BY_CHANCE: f64 = 2.0;

/// How threads met at elements of one array, or at bytes without names of one object.
#[derive(Default)]
struct Meetings {
    lines: BTreeSet<LineKey>,
    written: BTreeMap<ThreadId, f64>,
    same_events: u64,
    /// Those in which the later access reads and writes.
    in_place: u64,
    events: u64,
    all: f64,
    /// The bytes of the elements, by weight.
    element_bytes: f64,
}

/// An object by its number, and the array in it.
type Whole = (usize, Option<String>);

/// All meetings of a recording.
#[derive(Default)]
pub(super) struct Handover(BTreeMap<Whole, Meetings>);

impl Handover {
    pub fn add(
        &mut self,
        event: &SharingEvent,
        weight: f64,
        (key, line): (LineKey, Line),
        tally: &LineTally,
    ) {
        let Some((written, accessed)) = ends(event, line, &tally.cells) else { return };
        if !written.is_of_one_array(accessed) {
            return;
        }
        let meetings = self.0.entry((tally.object, accessed.array.clone())).or_default();
        meetings.lines.insert(key);
        *meetings.written.entry(event.earlier.thread).or_default() += weight;
        meetings.all += weight;
        meetings.element_bytes += weight * f64::from(accessed.extent.width);
        meetings.events += 1;
        let kind = event.later.kind;
        meetings.in_place += u64::from(kind.reads() && kind.writes());
        meetings.same_events += u64::from(event.class == SharingClass::True);
    }

    /// Notes in the lines which of their arrays are handed over.
    pub fn judge(self, lines: &mut BTreeMap<LineKey, LineTally>) {
        let mut handed: BTreeMap<usize, BTreeMap<Option<String>, bool>> = BTreeMap::new();
        for ((object, array), meetings) in self.0 {
            let by_one = meetings.by_one();
            // What has a name has a layout: neighbours that different threads use there can be parted.
            if meetings.hand_over()
                && (by_one
                    || array.is_none()
                        && meetings.lines.len() >= ENOUGH_OF_SEVERAL
                        && !meetings.are_in_place())
            {
                handed.entry(object).or_default().insert(array, by_one);
            }
        }
        for tally in lines.values_mut() {
            tally.handed = handed.get(&tally.object).cloned().unwrap_or_default();
        }
    }
}

impl Meetings {
    fn by_one(&self) -> bool {
        self.written.values().copied().fold(0.0, f64::max) >= ONE_WRITER * self.all
    }

    fn are_in_place(&self) -> bool {
        self.in_place as f64 >= IN_PLACE * self.events as f64
    }

    fn hand_over(&self) -> bool {
        // Of a Poisson distribution.
        let by_chance = self.element_bytes / self.all / LINE_BYTES as f64 * self.events as f64;
        self.lines.len() >= ENOUGH.0
            && self.events >= ENOUGH.1
            && self.same_events > 0
            && self.same_events as f64 >= by_chance - BY_CHANCE * by_chance.sqrt()
    }
}

/// The runs at which the two accesses of an event are.
pub(super) fn ends<'a>(event: &SharingEvent, line: Line, cells: &'a [Cell]) -> Option<(&'a Cell, &'a Cell)> {
    let cell = |access| {
        let extent = Extent::of(access, line)?;
        cells.iter().find(|cell| cell.extent.common(extent).is_some())
    };
    cell(event.earlier.access).zip(cell(event.later))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 8-byte elements, eight to a line.
    fn meetings(lines: u64, writers: &[f64], same_events: u64) -> Meetings {
        Meetings {
            lines: (0..lines).map(|line| (carom_base::ProcessId(0), Line(line))).collect(),
            written: writers.iter().zip(0..).map(|(weight, thread)| (ThreadId(thread), *weight)).collect(),
            same_events,
            in_place: 0,
            events: writers.iter().sum::<f64>() as u64,
            all: writers.iter().sum(),
            element_bytes: 8.0 * writers.iter().sum::<f64>(),
        }
    }

    #[test]
    fn as_many_meetings_at_one_element_as_chance_makes() {
        // An eighth of 80 meetings is at the same of eight elements.
        assert!(meetings(10, &[80.0], 10).hand_over());
        // 10 - 2 √10 is 3.7.
        assert!(meetings(10, &[80.0], 4).hand_over());
        assert!(!meetings(10, &[80.0], 3).hand_over(), "the reader has its own elements");
        assert!(meetings(10, &[80.0], 10).by_one() && !meetings(10, &[40.0, 40.0], 10).by_one());
        assert!(!meetings(1, &[80.0], 10).hand_over(), "one line");
        // Of 24 meetings chance makes 3 at the same element, and now and then one.
        assert!(meetings(10, &[24.0], 1).hand_over() && !meetings(10, &[24.0], 0).hand_over());
        assert!(!meetings(10, &[16.0], 2).hand_over(), "too few to tell");
    }
}
