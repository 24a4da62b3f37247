//! Traps of debug registers, where these watch.

use carom_base::{Access, AccessKind, Ip};
use carom_base_wire::Counter;

use super::{MOST_UNDECIDED, Sampled};
use crate::{
    detect::reuse::{detector_set::SlotIndex, positions::CurrentPositions},
    scene::{Scene, trapping_access},
    thread::State,
};

impl Sampled {
    /// The debug register `index` has trapped in the calling thread, after `accesses` of its accesses, where they are counted.
    /// `late`: the trap had to wait.
    pub(super) fn on_trap(&self, scene: &mut Scene<'_>, index: usize, accesses: Option<u64>, late: bool) {
        let slot = self.detectors.slot_at(index);
        let detector = self.detectors.get(slot.detector);
        let watch = detector.and_then(|d| d.active().find(|watch| usize::from(watch.id.slot) == index));
        let (Some(watch), false) = (watch, late) else {
            scene.state.slot.count(Counter::StaleTraps, 1);
            // A thread that touches the bytes again and again while traps are blocked would never go on.
            if let (Some(watch), Some(detector)) = (watch, detector)
                && self.detectors.count_undecided(slot) >= MOST_UNDECIDED
            {
                let domain = self.domain_of(scene.state);
                let positions = CurrentPositions::new(&self.threads, self.progress(), scene.state.id, domain)
                    .at(accesses);
                if let Some(over) = detector.censor(&positions, watch.id) {
                    scene.state.slot.count(Counter::Undecided, 1);
                    self.end(scene.state, slot, &over);
                }
            }
            return self.silence(scene.state, slot);
        };
        let found = trapping_access(scene, watch.first);
        let ip = found.ok().map(|access| access.ip);
        if watch.owner == scene.state.id && self.detectors.is_still_to_come(slot, ip) {
            return;
        }
        let access = found.unwrap_or_else(|ip| {
            let reads = watch.modes(scene.state.id, self.domain_of(scene.state)).reads;
            let kind = if reads { AccessKind::Load } else { AccessKind::Store };
            Access { ip: Ip(ip), addr: watch.first, width: watch.bytes, kind }
        });
        // The trap comes behind the access.
        let own = u64::from(access.kind.reads()) + u64::from(access.kind.writes());
        let position = accesses.map(|accesses| accesses.saturating_sub(own));
        self.on_touch(scene, (slot, watch.id), access, position);
    }

    /// Has a register trap no more in the calling thread if its use is over.
    fn silence(&self, state: &State, slot: SlotIndex) {
        if let (Some(index), Some(mut armed)) = (state.of.reuse, self.briefly())
            && !armed.register(slot.index, index).is_some_and(|id| self.detectors.is_active(slot, id))
        {
            armed.silence(slot.index, index);
        }
    }
}
