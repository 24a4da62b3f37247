//! A watchpoint trap, or a touch that translated code reports: this thread accesses a line that another has published.

use carom_base::{Access, Ip, SharingEvent};
use carom_base_detect::{Touch, Trap};
use carom_base_wire::{Counter, Record};

use super::Share;
use crate::{
    objects,
    scene::{Scene, trapping_access},
    shared,
    thread::State,
};

impl Share {
    /// Takes a trap of watchpoint `index`.
    pub(super) fn on_trap(&self, scene: &mut Scene<'_>, index: usize, late: bool) {
        let slot = scene.state.slot;
        let plan = scene.state.of.share.as_mut().and_then(|own| own.watching().armed());
        let chunk = plan.and_then(|plan| plan.watched().get(index)).copied();
        let Some(chunk) = chunk.filter(|_| !late) else {
            slot.count(Counter::StaleTraps, 1);
            // Left set, it would trap at every access, to no purpose.
            scene.state.sampler.close_watch(index);
            return;
        };
        scene.state.sampler.disarm();
        slot.count(Counter::Traps, 1);
        let watched = shared::local(chunk).unwrap_or(chunk);
        let (access, ip) = match trapping_access(scene, watched) {
            Ok(access) => (Some(shared::common(scene.state, self.common, access, scene.time)), access.ip.0),
            Err(ip) => (None, ip),
        };
        let stack = scene.stack(ip);
        let trap = Trap { chunk, time: scene.time, cpu: scene.cpu, stack, access, kind: None, ip: Ip(ip) };
        let event = scene.state.of.share.as_mut().and_then(|own| own.watching().on_trap(trap));
        tell(scene.state, event);
    }

    /// Takes a touch of the line that this thread's code has watched.
    pub(super) fn on_touch(&self, scene: &mut Scene<'_>, access: Access) {
        scene.state.slot.count(Counter::Traps, 1);
        let stack = scene.stack(access.ip.0);
        let access = shared::common(scene.state, self.common, access, scene.time);
        let touch = Touch { access, time: scene.time, cpu: scene.cpu, stack };
        let event = scene.state.of.share.as_mut().and_then(|own| own.watching().on_touch(touch));
        tell(scene.state, event);
    }
}

fn tell(state: &mut State, event: Option<SharingEvent>) {
    if let Some(event) = event {
        state.slot.push(&Record::Event(event));
        objects::report(state, &event);
    }
}
