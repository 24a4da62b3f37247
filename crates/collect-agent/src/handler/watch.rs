//! A watchpoint trap, or a touch that translated code tells of: this thread came to a line that another has published.

use carom_base::{Access, Addr, Ip, Nanos, Population, SharingEvent};
use carom_base_detect::{Touch, Trap};
use carom_base_wire::{Counter, Record};

use super::Scene;
use crate::{objects, shared, thread::State};

/// Takes a trap of watchpoint `index`. `accesses`: what the thread had made by then, where that is counted.
pub fn on_trap(mut scene: Scene<'_>, index: usize, accesses: Option<u64>, late: bool) {
    if let Some(reuse) = &scene.state.session.reuse {
        return reuse.on_trap(&mut scene, index, accesses, late);
    }
    let slot = scene.state.slot;
    let detector = &scene.state.detectors[Population::Step as usize];
    let chunk = detector.armed().and_then(|plan| plan.watched().get(index)).copied();
    let Some(chunk) = chunk.filter(|_| !late) else {
        slot.count(Counter::StaleTraps, 1);
        // Left set, it would trap at every access from now on, each time to be thrown away.
        scene.state.sampler.close_watch(index);
        return;
    };
    scene.state.sampler.disarm();
    slot.count(Counter::Traps, 1);
    let watched = shared::local(chunk).unwrap_or(chunk);
    let (access, ip) = match trapping_access(&mut scene, watched) {
        Ok(access) => (Some(shared::common(scene.state, access, scene.time)), access.ip.0),
        Err(ip) => (None, ip),
    };
    let stack = scene.stack(ip);
    let trap = Trap { chunk, time: scene.time, cpu: scene.cpu, stack, access, kind: None, ip: Ip(ip) };
    let event = scene.state.detectors[Population::Step as usize].on_trap(trap);
    tell(scene.state, event);
}

/// Takes a touch of the line that this thread's code watched until now.
pub fn on_touch(scene: &mut Scene<'_>, access: Access) {
    scene.state.slot.count(Counter::Traps, 1);
    let stack = scene.stack(access.ip.0);
    let access = shared::common(scene.state, access, scene.time);
    let touch = Touch { access, time: scene.time, cpu: scene.cpu, stack };
    let event = scene.state.detectors[Population::Step as usize].on_touch(touch);
    tell(scene.state, event);
}

/// Whether the session's window is open. Where it is not, nothing is watched.
pub fn keep_to_window(state: &mut State, time: Nanos) -> bool {
    let open = state.session.settings.window.is_open(time.0);
    let step = &mut state.detectors[Population::Step as usize];
    if !open && step.armed().is_some() {
        step.disarm();
        state.sampler.disarm();
    }
    open
}

fn tell(state: &mut State, event: Option<SharingEvent>) {
    if let Some(event) = event {
        state.slot.push(&Record::Event(event));
        objects::report(state, &event);
    }
}

/// x86 traps behind the access: it is the last instruction's, where that can be told, and touches the chunk. Else where
/// the access is thought to have been.
pub fn trapping_access(scene: &mut Scene<'_>, chunk: Addr) -> Result<Access, u64> {
    let ip = scene.context.ip();
    let start = scene.modules.and_then(|modules| modules.function_start(ip));
    let memory = super::memory(&scene.context, scene.modules, &scene.state.stack);
    let last = scene.state.decoder.predecessor(ip, start, &memory).map_err(|_| ip)?;
    let registers = scene.context.registers(scene.fs_base);
    let operands = scene.state.decoder.operands_after(&registers, last, &memory);
    let end = chunk.0.wrapping_add(carom_base_detect::CHUNK_BYTES);
    let touches = |access: &&Access| access.addr.0 < end && chunk.0 < access.end().0;
    operands.accesses().iter().find(touches).copied().ok_or(last)
}
