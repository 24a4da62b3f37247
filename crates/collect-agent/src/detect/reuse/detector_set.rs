//! The detectors that every sampled access is offered to, and the uses that each of them watches.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use carom_base::{Access, Addr, Ip};
use carom_base_reuse::sampled::{Config, Detector, Odds, REGISTERS, Reach, Slot, Tally, Watch, WatchId};

/// The most accesses before a sampled access that is still to come: a burst samples one that lies at most this far
/// ahead.
const FAR: u32 = 64;

/// The most detectors that one sample is offered to.
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

/// What a slot watches, for readers that take no lock.
#[derive(Default)]
struct Watched {
    /// The watch's [`WatchId`] as bits; 0 where nothing is watched.
    name: AtomicU64,
    /// The instruction that will make the sampled access itself and trap; 0 once it has trapped, or if it will not.
    to_come: AtomicU64,
    /// Touches that decided nothing.
    undecided: AtomicU32,
}

/// All detectors.
pub struct DetectorSet {
    all: Vec<DetectorParts>,
    /// Slots of each detector.
    slots: usize,
    /// The watched line of each slot.
    lines: Vec<AtomicU64>,
    watched: Vec<Watched>,
}

impl DetectorSet {
    /// Three detectors with `slots` slots each, for where many uses can be watched. The second looks for the thread's
    /// own next access to these bytes, the third for its next access to the line. The first draws one of the other
    /// kinds of reuse for each sample: to watch for all of them would cost as much again for each.
    ///
    /// The first one's watches are set first: in a shared cache other threads' reads count for them too. Watches for
    /// writes alone, if set earlier, would stop other threads at writes, and these watches would find them there.
    pub fn three(slots: usize) -> Self {
        let asked: [Odds; MAX_DETECTORS] = [
            Odds { private_temporal: 0, private_line: 0, ..Odds::ALL },
            Odds { private_temporal: 1, ..Odds::NONE },
            Odds { private_line: 1, ..Odds::NONE },
        ];
        Self::new(asked.map(|odds| Config { odds, reach: Reach::Line, ..Config::default() }), slots)
    }

    /// One detector, for where few uses can be watched. It draws one kind of reuse for each sample.
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

    /// The number of slots of all detectors together.
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

    /// Whether a use has not ended yet.
    pub fn is_active(&self, slot: SlotIndex, id: WatchId) -> bool {
        self.get(slot.detector).is_some_and(|detector| detector.is_active(id))
    }

    /// The watches that an access at `addr` may concern.
    pub fn candidates(&self, addr: Addr) -> impl Iterator<Item = (SlotIndex, WatchId)> {
        let line = addr.line().0;
        let there = self.lines.iter().enumerate().filter(move |(_, watched)| watched.load(Relaxed) == line);
        there.filter_map(|(index, _)| {
            let name = self.watched.get(index)?.name.load(Relaxed);
            (name != 0).then(|| (self.slot_at(index), WatchId::from_bits(name)))
        })
    }

    /// Makes the watch a [candidate](Self::candidates) for touches of its line. `used`: the sampled access, if it will
    /// trap itself.
    pub fn publish(&self, slot: SlotIndex, watch: &Watch, used: Option<Access>) {
        let (Some(watched), Some(line)) = (self.watched.get(slot.index), self.lines.get(slot.index)) else {
            return;
        };
        line.store(watch.first.line().0, Relaxed);
        watched.to_come.store(used.map_or(0, |access| access.ip.0), Relaxed);
        watched.undecided.store(0, Relaxed);
        watched.name.store(watch.id.to_bits(), Relaxed);
    }

    /// Undoes [`publish`](Self::publish), unless another watch has taken the slot.
    pub fn withdraw(&self, slot: SlotIndex, id: WatchId) {
        if let Some(watched) = self.watched.get(slot.index) {
            let _ = watched.name.compare_exchange(id.to_bits(), 0, Relaxed, Relaxed);
        }
    }

    /// Counts a touch that decided nothing. Returns how many were counted before.
    pub fn count_undecided(&self, slot: SlotIndex) -> u32 {
        self.watched.get(slot.index).map_or(0, |watched| watched.undecided.fetch_add(1, Relaxed))
    }

    /// Whether a trap in the using thread comes from the sampled access itself or from an earlier one, and so is no
    /// reuse. `ip`: the instruction that trapped, if known.
    pub fn is_still_to_come(&self, slot: SlotIndex, ip: Option<Ip>) -> bool {
        let Some(watched) = self.watched.get(slot.index) else { return false };
        let to_come = watched.to_come.load(Relaxed);
        // A signal handler may have jumped away, so that the instruction is never executed.
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

    /// A watch for writes alone stops a thread at a write. A watch for reads as well, if set later, would find the
    /// thread at that write.
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
