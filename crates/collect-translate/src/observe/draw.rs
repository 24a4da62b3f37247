//! A block's countdown is over: which of its accesses are sampled, and where.

use super::{
    early,
    sites::{self, Blocks, Sites},
};
use crate::{
    blocks::{cache::Cache, place::Place, translations::Copied},
    emit,
    engine::{
        Engine,
        enter::{cannot_translate, enter},
    },
    lane::exit::Exit,
    probes::{mode::Version, split::Split, strata},
    threads::{next::go_on, thread::Thread},
};

/// New counters begin with the number of executions until the first sample, which the thread that first uses them
/// draws.
pub fn begin_countdowns(engine: &mut Engine, thread: &mut Thread) {
    let cache = &mut engine.cache;
    for (arena, id) in cache.arenas.take_new_counters() {
        let Some(code) = cache.arenas.get(arena) else { continue };
        let place = Place { arena, code, id };
        if let Some(periods) = place.slots().and_then(|slots| cache.mode().countdown(&slots)) {
            thread.begin_countdown(place, periods);
        }
    }
}

/// A block's countdown is over: runs a copy of the block with hooks in front of the accesses to sample, or the block
/// itself again where the countdown had not begun.
pub fn take_samples(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    // The block may have been translated anew, elsewhere and with another counter.
    let record = thread.slots().exit;
    let Some((arena, code)) = engine.cache.arenas.at(record) else { return enter(engine, thread, exit.pc) };
    let Some(periods) = engine.cache.mode().periods() else {
        // The mode has changed since: the block is counted again where it is translated for the new mode.
        thread.uncount(code, exit.detail);
        return enter(engine, thread, exit.pc);
    };
    let mut due = strata::Due::default();
    // All in this execution, the last one counted.
    thread.draw(Place { arena, code, id: exit.detail }, periods, |drawn| {
        due.push(drawn.nth, drawn.store, drawn.doublings);
    });
    due.doublings().for_each(|doublings| thread.purpose.samples(doublings));
    let version = code.counters().get(exit.detail as usize).map_or(Version::Plain, |counter| counter.version);
    let behind = code.accesses_behind(exit.detail);
    let blocks = Blocks::of(code, exit.detail).unwrap_or_else(|| Blocks::one(exit.pc));
    let mut sites = None;
    if due.count() > 0 {
        match engine.observer.weighs(due.count()) {
            Some(weight) => {
                if early::is_allowed(engine)
                    && let Some(split) = split(&mut engine.cache, &blocks, &due, &mut sites)
                {
                    due = early::tell(thread, &due, &split, weight, behind);
                }
                thread.pending.add(exit.pc, &due, weight);
            }
            None => due = strata::Due::default(),
        }
    }
    if due.count() == 0 && exit.back != 0 {
        return go_on(thread, exit.back, exit.pc);
    }
    // The thread does not go back: the arena may be emptied for the copy.
    engine.visit.pinned = 0;
    if let Some((_, code)) = engine.cache.arenas.at(record) {
        thread.leave_superblock(code, exit.detail, 1);
    }
    let cache = sampled_copy(&mut engine.cache, (&blocks, version), &due, sites);
    match cache {
        Some(cache) => go_on(thread, cache, exit.pc),
        None => {
            // It was counted, and will be counted again.
            if let Some((_, code)) = engine.cache.arenas.at(record) {
                thread.leave_superblock(code, exit.detail, -1);
                thread.uncount(code, exit.detail);
            }
            cannot_translate(engine, thread, exit.pc, false);
        }
    }
}

/// Which of the accesses that are due are reported when the first of these blocks begins. If that must be found out, they are in
/// `sites` then.
fn split(cache: &mut Cache, blocks: &Blocks, due: &strata::Due, sites: &mut Option<Sites>) -> Option<Split> {
    let (pc, _) = blocks.first;
    if let Some(known) = cache.translations.split(pc, due) {
        return Some(known);
    }
    let split = sites.insert(sites::find(cache, blocks, due)?).split();
    cache.translations.add_split(pc, due, split);
    Some(split)
}

/// The copy of this version of these blocks in which these accesses are sampled. `sites`: where the accesses are, if that is known.
pub fn sampled_copy(
    cache: &mut Cache,
    (blocks, version): (&Blocks, Version),
    due: &strata::Due,
    sites: Option<Sites>,
) -> Option<u64> {
    let (pc, _) = blocks.first;
    let behind = blocks.behind.iter().map(|(pc, _)| *pc).collect();
    let copied = Copied { pc, version, behind, due: due.key() };
    if let Some(known) = cache.translations.variant(&copied) {
        return Some(known);
    }
    let sites = match sites {
        Some(sites) => sites,
        None => sites::find(cache, blocks, due)?,
    };
    let hooked = sites.hooked(due, cache);
    let copy = emit::variant(cache, &copied, &hooked)?;
    cache.translations.add_variant(copied, copy);
    Some(copy)
}
