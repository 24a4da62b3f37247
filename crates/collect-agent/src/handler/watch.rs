//! A watchpoint trap: this thread touched a line that another has published.

use carom_base::{Addr, Ip, Population};
use carom_base_detect::Trap;
use carom_base_wire::{Counter, Record};

use super::Scene;
use crate::objects;

/// Takes a trap of watchpoint `index`.
pub fn on_trap(mut scene: Scene<'_>, index: usize, late: bool) {
    let slot = scene.state.slot;
    let detector = &scene.state.detectors[Population::Step as usize];
    let chunk = detector.armed().and_then(|plan| plan.watched().get(index)).copied();
    let Some(chunk) = chunk.filter(|_| !late) else {
        slot.count(Counter::StaleTraps, 1);
        return;
    };
    scene.state.sampler.disarm();
    slot.count(Counter::Traps, 1);
    let (access, ip) = trapping_access(&mut scene, chunk);
    let stack = scene.stack(ip);
    let trap = Trap { chunk, time: scene.time, cpu: scene.cpu, stack, access, kind: None, ip: Ip(ip) };
    if let Some(event) = scene.state.detectors[Population::Step as usize].on_trap(trap) {
        slot.push(&Record::Event(event));
        objects::report(scene.state, &event);
    }
}

/// x86 traps behind the access: it is the last instruction's, where that can be told, and touches the chunk.
fn trapping_access(scene: &mut Scene<'_>, chunk: Addr) -> (Option<carom_base::Access>, u64) {
    let ip = scene.context.ip();
    let start = scene.modules.and_then(|modules| modules.function_start(ip));
    let memory = super::memory(&scene.context, scene.modules, scene.state.stack_high);
    let Ok(last) = scene.state.decoder.predecessor(ip, start, &memory) else { return (None, ip) };
    let registers = scene.context.registers(scene.fs_base);
    let operands = scene.state.decoder.operands_after(&registers, last, &memory);
    let end = chunk.0.wrapping_add(carom_base_detect::CHUNK_BYTES);
    let touches = |access: &&carom_base::Access| access.addr.0 < end && chunk.0 < access.end().0;
    (operands.accesses().iter().find(touches).copied(), last)
}
