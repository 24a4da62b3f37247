//! The detectors that every sampled access is offered to, and the uses that each of them watches.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use carom_base::{Access, Addr, Ip};
use carom_base_reuse::sampled::{Config, Detector, Odds, REGISTERS, Reach, Slot, Tally, Watch, WatchId};

/// The most accesses between a sample and its instruction: a burst walks ahead that far.
const FAR: u32 = 64;

/// Detectors that one sample is offered to, at most.
pub const MAX_DETECTORS: usize = 3;

/// Names one slot, which holds one watched use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotIndex {
    /// The detector that it belongs to.
    pub detector: usize,
    /// Its number among the slots of all detectors.
    pub index: usize,
}

/// One detector's memory and configuration.
struct DetectorParts {
    slots: &'static [Slot],
    tally: &'static Tally,
    config: Config,
}

/// What is watched for in a slot, for readers that take no lock.
#[derive(Default)]
struct Watched {
    /// The watch's name; 0 where nothing is watched.
    name: AtomicU64,
    /// The instruction that is about to make the sampled access itself, and will trap; 0 once it has, or where it will
    /// not.
    to_come: AtomicU64,
    /// Touches that decided nothing.
    undecided: AtomicU32,
}

/// All detectors.
pub struct DetectorSet {
    all: Vec<DetectorParts>,
    /// Slots of each.
    slots: usize,
    /// By slot: the line that is watched.
    lines: Vec<AtomicU64>,
    watched: Vec<Watched>,
}

impl DetectorSet {
    /// Three detectors with `slots` slots each, where many uses can be watched. The second looks for the thread's own next
    /// access to these bytes, the third for its next access to the line. The first draws one of the other kinds of reuse for
    /// each sample, because each kind costs as much as the others.
    ///
    /// Its watches are set first: they may be about a shared cache, where other threads' reads count as well as their
    /// writes.
    pub fn three(slots: usize) -> Self {
        let asked: [Odds; MAX_DETECTORS] = [
            Odds { private_temporal: 0, private_line: 0, ..Odds::ALL },
            Odds { private_temporal: 1, ..Odds::NONE },
            Odds { private_line: 1, ..Odds::NONE },
        ];
        Self::new(asked.map(|odds| Config { odds, reach: Reach::Line, ..Config::default() }), slots)
    }

    /// One detector, which draws one kind of reuse for each sample, where few uses can be watched.
    pub fn drawn() -> Self {
        Self::new([Config { odds: Odds::ALL, reach: Reach::Chunk, ..Config::default() }], REGISTERS)
    }

    fn new<const N: usize>(configs: [Config; N], slots: usize) -> Self {
        let parts = |config| {
            let slots: Vec<Slot> = (0..slots).map(|_| Slot::default()).collect();
            DetectorParts { slots: slots.leak(), tally: Box::leak(Box::default()), config }
        };
        Self {
            all: configs.into_iter().map(parts).collect(),
            slots,
            lines: (0..N * slots).map(|_| AtomicU64::new(0)).collect(),
            watched: (0..N * slots).map(|_| Watched::default()).collect(),
        }
    }

    /// Slots of all detectors.
    pub fn slot_count(&self) -> usize {
        self.watched.len()
    }

    /// The detector with this number.
    pub fn get(&self, number: usize) -> Option<Detector<'static>> {
        let DetectorParts { slots, tally, config } = self.all.get(number)?;
        Some(Detector::new(slots, tally, *config))
    }

    /// All detectors, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Detector<'static>)> {
        (0..self.all.len()).filter_map(|number| Some((number, self.get(number)?)))
    }

    /// The slot of a watch of the detector with this number.
    pub fn slot(&self, detector: usize, id: WatchId) -> SlotIndex {
        SlotIndex { detector, index: detector * self.slots + usize::from(id.slot) }
    }

    /// The slot with this number.
    pub fn slot_at(&self, index: usize) -> SlotIndex {
        SlotIndex { detector: index / self.slots.max(1), index }
    }

    /// Whether a use is not over yet.
    pub fn is_active(&self, slot: SlotIndex, id: WatchId) -> bool {
        self.get(slot.detector).is_some_and(|detector| detector.is_active(id))
    }

    /// The watches that an access at `addr` may be about.
    pub fn candidates(&self, addr: Addr) -> impl Iterator<Item = (SlotIndex, WatchId)> {
        let line = addr.line().0;
        let there = self.lines.iter().enumerate().filter(move |(_, watched)| watched.load(Relaxed) == line);
        there.filter_map(|(index, _)| {
            let name = self.watched.get(index)?.name.load(Relaxed);
            (name != 0).then(|| (self.slot_at(index), WatchId::from_bits(name)))
        })
    }

    /// Touches of its line concern the watch from now on. `used`: the sampled access, where it will trap itself.
    pub fn publish(&self, slot: SlotIndex, watch: &Watch, used: Option<Access>) {
        let (Some(watched), Some(line)) = (self.watched.get(slot.index), self.lines.get(slot.index)) else {
            return;
        };
        line.store(watch.first.line().0, Relaxed);
        watched.to_come.store(used.map_or(0, |access| access.ip.0), Relaxed);
        watched.undecided.store(0, Relaxed);
        watched.name.store(watch.id.to_bits(), Relaxed);
    }

    /// Touches of its line do not concern the watch any more. Another watch that has taken its slot stays.
    pub fn withdraw(&self, slot: SlotIndex, id: WatchId) {
        if let Some(watched) = self.watched.get(slot.index) {
            let _ = watched.name.compare_exchange(id.to_bits(), 0, Relaxed, Relaxed);
        }
    }

    /// Counts a touch that decided nothing. Returns how many there were before.
    pub fn count_undecided(&self, slot: SlotIndex) -> u32 {
        self.watched.get(slot.index).map_or(0, |watched| watched.undecided.fetch_add(1, Relaxed))
    }

    /// Whether a trap of the owner's register belongs to the sampled access itself, or to one before it. `ip`: the
    /// instruction that trapped, where that is known.
    pub fn is_still_to_come(&self, slot: SlotIndex, ip: Option<Ip>) -> bool {
        let Some(watched) = self.watched.get(slot.index) else { return false };
        let to_come = watched.to_come.load(Relaxed);
        // A signal handler may have jumped away from the instruction. Then it does not come.
        let gone = to_come != 0 && self.count_undecided(slot) >= FAR;
        if gone || ip.is_none_or(|ip| ip.0 == to_come) {
            watched.to_come.store(0, Relaxed);
        }
        to_come != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A watch for writes alone stops a thread at a write. A watch for reads as well that is set after it would find the
    /// thread there.
    #[test]
    fn watches_that_other_threads_reads_end_are_set_first() {
        let detectors = DetectorSet::three(4);
        let of_others = |parts: &DetectorParts| {
            let Odds { shared_temporal, shared_spatial, shared_line, .. } = parts.config.odds;
            shared_temporal + shared_spatial + shared_line > 0
        };
        assert_eq!(detectors.all.iter().map(of_others).collect::<Vec<_>>(), [true, false, false]);
    }
}
