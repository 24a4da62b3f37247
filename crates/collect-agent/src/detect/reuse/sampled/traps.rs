//! Traps of debug registers, where these watch.

use carom_base::{Access, AccessKind, Ip};
use carom_base_wire::Counter;

use super::{MOST_UNDECIDED, Sampled};
use crate::{
    detect::reuse::{people::Here, questions::Spot},
    scene::{Scene, trapping_access},
    thread::State,
};

impl Sampled {
    /// The debug register `index` has trapped in the calling thread, which had made `accesses` by then, where that is
    /// counted. `late`: the trap had to wait.
    pub(super) fn on_trap(&self, scene: &mut Scene<'_>, index: usize, accesses: Option<u64>, late: bool) {
        let spot = self.questions.numbered(index);
        let detector = self.questions.detector(spot.question);
        let watch = detector.and_then(|d| d.active().find(|watch| usize::from(watch.id.slot) == index));
        let (Some(watch), false) = (watch, late) else {
            scene.state.slot.count(Counter::StaleTraps, 1);
            // What is touched again and again while traps are blocked would keep the thread from ever going on.
            if let (Some(watch), Some(detector)) = (watch, detector)
                && self.questions.count_undecided(spot) >= MOST_UNDECIDED
            {
                let domain = self.domain_of(scene.state);
                let here = Here::new(&self.people, self.progress(), scene.state.id, domain).at(accesses);
                if let Some(over) = detector.censor(&here, watch.id) {
                    scene.state.slot.count(Counter::Undecided, 1);
                    self.end(scene.state, spot, &over);
                }
            }
            return self.silence(scene.state, spot);
        };
        let found = trapping_access(scene, watch.first);
        let ip = found.ok().map(|access| access.ip);
        if watch.owner == scene.state.id && self.questions.is_still_to_come(spot, ip) {
            return;
        }
        let access = found.unwrap_or_else(|ip| {
            let reads = watch.modes(scene.state.id, self.domain_of(scene.state)).reads;
            let kind = if reads { AccessKind::Load } else { AccessKind::Store };
            Access { ip: Ip(ip), addr: watch.first, width: watch.bytes, kind }
        });
        // It traps behind the access.
        let own = u64::from(access.kind.reads()) + u64::from(access.kind.writes());
        let position = accesses.map(|accesses| accesses.saturating_sub(own));
        self.on_touch(scene, (spot, watch.id), access, position);
    }

    /// A register that watches for a use that is over is to trap no more in the calling thread.
    fn silence(&self, state: &State, spot: Spot) {
        if let (Some(place), Some(mut armoury)) = (state.of.reuse, self.briefly())
            && !armoury.register(spot.index, place).is_some_and(|id| self.questions.is_active(spot, id))
        {
            armoury.silence(spot.index, place);
        }
    }
}
