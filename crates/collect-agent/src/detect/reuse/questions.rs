//! What is asked of each sampled access, and which uses are watched for which question.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use carom_base::{Access, Addr, Ip};
use carom_base_reuse::sampled::{Config, Detector, Odds, REGISTERS, Reach, Slot, Tally, Watch, WatchId};

/// Accesses that may lie between a sample and the instruction that it is of, at most: as many as are walked ahead.
const FAR: u32 = 64;

/// Questions that are asked of one sample, at most.
pub const MOST_QUESTIONS: usize = 3;

/// A place for one watched use: a slot of one of the questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The question.
    pub question: usize,
    /// Numbered through all questions.
    pub index: usize,
}

/// Detectors that are each asked about every sample.
struct Question {
    slots: &'static [Slot],
    tally: &'static Tally,
    config: Config,
}

/// What is watched in a spot, for whom comes by without a lock.
#[derive(Default)]
struct Watched {
    /// The watch's name; 0 where nothing is watched.
    name: AtomicU64,
    /// The instruction that is about to make the use itself, and will trap; 0 once it has, or where it will not.
    to_come: AtomicU64,
    /// Touches that decided nothing.
    undecided: AtomicU32,
}

/// All questions.
pub struct Questions {
    all: Vec<Question>,
    /// Slots of each.
    slots: usize,
    /// By spot: the line that is watched.
    lines: Vec<AtomicU64>,
    watched: Vec<Watched>,
}

impl Questions {
    /// Three questions for each sample, with so many uses watched at a time for each: where watches are many. When does the
    /// thread itself use these bytes again, when this line; and one of the others, drawn, each of which costs as much.
    ///
    /// That one is the first to be watched for, since it may be about a shared cache, where the reads of other threads
    /// count as well as their writes.
    pub fn three(slots: usize) -> Self {
        let asked: [Odds; MOST_QUESTIONS] = [
            Odds { private_temporal: 0, private_line: 0, ..Odds::ALL },
            Odds { private_temporal: 1, ..Odds::NONE },
            Odds { private_line: 1, ..Odds::NONE },
        ];
        Self::new(asked.map(|odds| Config { odds, reach: Reach::Line, ..Config::default() }), slots)
    }

    /// One question for each sample, drawn: where watches are few.
    pub fn drawn() -> Self {
        Self::new([Config { odds: Odds::ALL, reach: Reach::Chunk, ..Config::default() }], REGISTERS)
    }

    fn new<const N: usize>(configs: [Config; N], slots: usize) -> Self {
        let question = |config| {
            let slots: Vec<Slot> = (0..slots).map(|_| Slot::default()).collect();
            Question { slots: slots.leak(), tally: Box::leak(Box::default()), config }
        };
        Self {
            all: configs.into_iter().map(question).collect(),
            slots,
            lines: (0..N * slots).map(|_| AtomicU64::new(0)).collect(),
            watched: (0..N * slots).map(|_| Watched::default()).collect(),
        }
    }

    /// Uses that can be watched at a time.
    pub fn spots(&self) -> usize {
        self.watched.len()
    }

    /// The detector of a question.
    pub fn detector(&self, question: usize) -> Option<Detector<'static>> {
        let Question { slots, tally, config } = self.all.get(question)?;
        Some(Detector::new(slots, tally, *config))
    }

    /// All detectors, with their numbers.
    pub fn detectors(&self) -> impl Iterator<Item = (usize, Detector<'static>)> {
        (0..self.all.len()).filter_map(|question| Some((question, self.detector(question)?)))
    }

    /// Where a question's slot is.
    pub fn spot(&self, question: usize, id: WatchId) -> Spot {
        Spot { question, index: question * self.slots + usize::from(id.slot) }
    }

    /// The spot with this number.
    pub fn numbered(&self, index: usize) -> Spot {
        Spot { question: index / self.slots.max(1), index }
    }

    /// Whether a use is not over yet.
    pub fn is_active(&self, spot: Spot, id: WatchId) -> bool {
        self.detector(spot.question).is_some_and(|detector| detector.is_active(id))
    }

    /// The watches that an access at `addr` may be about.
    pub fn candidates(&self, addr: Addr) -> impl Iterator<Item = (Spot, WatchId)> {
        let line = addr.line().0;
        let there = self.lines.iter().enumerate().filter(move |(_, watched)| watched.load(Relaxed) == line);
        there.filter_map(|(index, _)| {
            let name = self.watched.get(index)?.name.load(Relaxed);
            (name != 0).then(|| (self.numbered(index), WatchId::from_bits(name)))
        })
    }

    /// Touches of its line concern the watch from now on. `used`: the access itself, where it will trap.
    pub fn publish(&self, spot: Spot, watch: &Watch, used: Option<Access>) {
        let (Some(watched), Some(line)) = (self.watched.get(spot.index), self.lines.get(spot.index)) else {
            return;
        };
        line.store(watch.first.line().0, Relaxed);
        watched.to_come.store(used.map_or(0, |access| access.ip.0), Relaxed);
        watched.undecided.store(0, Relaxed);
        watched.name.store(watch.id.to_bits(), Relaxed);
    }

    /// They do not any more, unless another watch has taken its place.
    pub fn withdraw(&self, spot: Spot, id: WatchId) {
        if let Some(watched) = self.watched.get(spot.index) {
            let _ = watched.name.compare_exchange(id.to_bits(), 0, Relaxed, Relaxed);
        }
    }

    /// One more touch that decided nothing; how many there were.
    pub fn count_undecided(&self, spot: Spot) -> u32 {
        self.watched.get(spot.index).map_or(0, |watched| watched.undecided.fetch_add(1, Relaxed))
    }

    /// Whether a trap of the owner's register is of the use itself, or of what came before it. `ip`: who trapped, where
    /// that can be told.
    pub fn is_still_to_come(&self, spot: Spot, ip: Option<Ip>) -> bool {
        let Some(watched) = self.watched.get(spot.index) else { return false };
        let to_come = watched.to_come.load(Relaxed);
        // A signal handler may have jumped away from it: then it does not come.
        let gone = to_come != 0 && self.count_undecided(spot) >= FAR;
        if gone || ip.is_none_or(|ip| ip.0 == to_come) {
            watched.to_come.store(0, Relaxed);
        }
        to_come != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that is stopped by what waits for its writes alone would be met at a write by what waits for its reads too.
    #[test]
    fn what_the_reads_of_others_settle_is_watched_for_first() {
        let questions = Questions::three(4);
        let of_others = |question: &Question| {
            let Odds { shared_temporal, shared_spatial, shared_line, .. } = question.config.odds;
            shared_temporal + shared_spatial + shared_line > 0
        };
        assert_eq!(questions.all.iter().map(of_others).collect::<Vec<_>>(), [true, false, false]);
    }
}
