//! Instructions that access the lanes of a vector individually, and those whose stored size depends on registers.

use super::{
    operands::operands,
    units::{Pattern, Seen},
};
use crate::{
    engine::Engine,
    probes::{totals::Counts, units::Units},
    threads::{explicit::Explicit, thread::Thread},
};

/// In front of an instruction whose lanes its code does not count: counts them. For XSAVE and its kin all lanes are
/// one access.
pub fn count(engine: &mut Engine, thread: &mut Thread, what: Units) {
    let found = operands(engine, thread, what.pc);
    if engine.cache.mode_at(what.pc).streams() {
        thread.stream(&Explicit { ip: what.pc, times: 1, stride: 0, accesses: &found });
    }
    let Some(code) = engine.cache.arenas.get(what.arena) else { return };
    let Some(unit) = code.counters().get(what.id as usize).map(|counter| counter.sums()) else { return };
    code.count(thread.lane, what.id, -(found.len() as i64));
    for access in &found {
        // A unit has no fixed number of bytes where it depends on registers.
        let mut more = Counts::default();
        if access.kind.reads() {
            more.loaded_bytes = i64::from(access.width) - i64::from(unit.loaded_bytes);
        }
        if access.kind.writes() {
            more.stored_bytes = i64::from(access.width) - i64::from(unit.stored_bytes);
        }
        thread.correct(what.pc, &more);
    }
    if what.is_due(&engine.cache, thread) {
        sample(engine, thread, what);
    }
}

/// In front of an instruction whose lanes were counted: takes the samples among them.
pub fn sample(engine: &mut Engine, thread: &mut Thread, what: Units) {
    let found = operands(engine, thread, what.pc);
    let end = what.counted(&engine.cache, thread);
    let number = end.saturating_sub(found.len() as u64);
    Seen { what, pattern: Pattern::Lanes(&found), number, end }.sample(&engine.cache, thread);
}
