//! The handling of exits that come back.

use carom_base::{Access, AccessKind};

use super::{draw::sampled_copy, operands::operands, repeat, sites::Blocks, timing, vector};
use crate::{
    blocks::cache::Cache,
    engine::Engine,
    lane::{exit::Exit, watches::Watches},
    probes::{
        hook::Hook,
        mode::Mode,
        strata::{self, DrawnAs},
    },
    threads::{explicit::Explicit, thread::Thread},
};

/// Runs the hook of an exit.
pub fn run(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    match engine.cache.hooks.get(exit.detail) {
        Some(Hook::Lanes(what)) => vector::count(engine, thread, what),
        Some(Hook::DueLanes(what)) => vector::sample(engine, thread, what),
        Some(Hook::Repeat { what, ends_early }) => repeat::before(engine, thread, what, ends_early),
        Some(Hook::AfterRepeat) => repeat::after(engine, thread),
        Some(Hook::DueIterations { what, over }) => repeat::sample(engine, thread, what, over),
        Some(hook @ Hook::Sample { .. }) => notice_sample(engine, thread, hook),
        Some(Hook::Touch { pc, nth, ahead }) => {
            let found = operands(engine, thread, pc);
            thread.notice(&found, nth as usize, None, i64::from(ahead));
        }
        Some(Hook::Accesses { pc, ahead }) => every_access(engine, thread, pc, i64::from(ahead)),
        Some(Hook::Timed { arena, id }) => timing::draw(engine, thread, arena, id),
        Some(Hook::Near { .. }) | None => {}
    }
}

/// The access of a [`Hook::Sample`] was drawn.
fn notice_sample(engine: &mut Engine, thread: &mut Thread, hook: Hook) {
    let Hook::Sample { of: (block, due), pc, nth, store, ahead } = hook else { return };
    let (doublings, weight) = thread.pending.take(block, due, store);
    let kind = if store { AccessKind::Store } else { AccessKind::Load };
    let wanted = |access: &Access| if store { access.kind.writes() } else { access.kind.reads() };
    let found = operands(engine, thread, pc);
    let mut places = found.iter().enumerate().filter(|(_, access)| wanted(access));
    if let Some((index, _)) = places.nth(nth as usize) {
        thread.notice(&found, index, Some((DrawnAs { kind, doublings }, weight)), i64::from(ahead));
    }
}

/// Where a block that is about to touch a watched place continues, if not where it left: in a copy that looks up each
/// access in front of its instruction.
pub fn watching_copy(cache: &mut Cache, exit: Exit) -> Option<u64> {
    let Some(Hook::Near { block, version }) = cache.hooks.get(exit.detail) else { return None };
    let copy = sampled_copy(cache, (&Blocks::one(block), version), &strata::Due::default(), None)?;
    let (_, code) = cache.arenas.at(copy)?;
    code.place_of(copy, exit.pc)
}

/// The accesses of the instruction at `pc` are observed only here.
fn every_access(engine: &mut Engine, thread: &mut Thread, pc: u64, ahead: i64) {
    let found = operands(engine, thread, pc);
    match engine.cache.mode() {
        Mode::Stream | Mode::Trace { .. } => {
            thread.stream(&Explicit { ip: pc, times: 1, stride: 0, accesses: &found });
        }
        Mode::Watch { .. } | Mode::Episodes { .. } => {
            let watches = Watches::of(thread.lane);
            for (index, access) in found.iter().enumerate() {
                let (address, kind) = (access.addr.0, access.kind);
                if watches.has_line(address, kind) || watches.has_byte(address, kind) {
                    thread.notice(&found, index, None, ahead);
                }
            }
        }
        _ => {}
    }
}
