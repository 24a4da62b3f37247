//! Where a thread continues that is to run some code of the program.

use super::{Engine, room::Room};
use crate::{
    blocks::passages,
    probes::{
        coverage::Leave,
        mode::{Mode, Version},
    },
    threads::{
        next::{go_on, leave},
        thread::Thread,
    },
};

/// Where a thread continues that must be dispatched once more: like 0, no address that a program could jump to.
pub const LATER: u64 = 1 << 63;

/// The thread continues at `pc`, in the cache if possible.
pub fn enter(engine: &mut Engine, thread: &mut Thread, pc: u64) {
    match engine.cache.get(pc) {
        Some(cache) => {
            engine.cache.ahead.note(None, pc);
            go_on(thread, cache, pc);
        }
        None => cannot_translate(engine, thread, pc, false),
    }
}

/// Handles code that is not in the cache and cannot be: the agent's own, code made at run time, or any code when the
/// arenas are full.
pub fn cannot_translate(engine: &mut Engine, thread: &mut Thread, pc: u64, called: bool) {
    // It may leave to native code.
    thread.save_vectors();
    let cache = &mut engine.cache;
    if cache.mode() == Mode::Off {
        thread.clock.pause();
        return go_on(thread, pc, pc);
    }
    if cache.source.is_native(pc) {
        if called {
            thread.expect_return();
            return go_on(thread, pc, pc);
        }
        // A native function continued in the cache and is done there: its caller is one step away.
        if pc == passages::native_return as *const () as u64 {
            return go_on(thread, pc, pc);
        }
        return leave(thread, pc, Leave::ForeignCode);
    }
    if cache.source.sequences().contains(pc) {
        return leave(thread, pc, Leave::Instruction);
    }
    if cache.find_code(pc)
        && let Some(found) = cache.get(pc)
    {
        return go_on(thread, found, pc);
    }
    if !cache.source.has(pc) {
        return leave(thread, pc, Leave::ForeignCode);
    }
    match engine.make_room(pc, Version::Plain) {
        Room::Soon if engine.visit.may_wait => return go_on(thread, LATER, pc),
        _ => {}
    }
    match engine.cache.get(pc) {
        Some(found) => go_on(thread, found, pc),
        None => leave(thread, pc, Leave::NoMemory),
    }
}
