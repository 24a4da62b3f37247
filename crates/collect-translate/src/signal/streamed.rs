//! What was streamed of a block that a signal has interrupted, as far as it got.

use super::{
    context::Original,
    counts::{Rest, last_counter},
};
use crate::{
    blocks::cache::Cache,
    encode::marks::{Spilled, Undo},
    observe::repeat::{self, At},
    probes::{counter::Unit, hook::Hook},
    threads::thread::Thread,
};

/// The thread's buffer tells of what it has done in front of `original.rip`, and of nothing else. It was interrupted at
/// `address` in a fragment. `rest`: what is still to come of its block; `left`: iterations that were taken back.
pub fn take_back(
    cache: &mut Cache,
    thread: &mut Thread,
    address: u64,
    original: &Original,
    rest: Option<&Rest>,
    left: u64,
) {
    let Some((_, code)) = cache.arenas.at(address) else { return };
    let Some(mark) = code.mark(address) else { return };
    if thread.comparison.is_some() {
        // Its iterations are known now, and the hook behind it will not be met.
        return repeat::end_comparison(cache, thread, At { gpr: original.gpr, flags: original.rflags });
    }
    let counter = last_counter(code, address, Unit::Execution).map(|(_, counter)| counter);
    if counter.is_some_and(|counter| !cache.filter().contains(counter.pc)) {
        return;
    }
    if left > 0 {
        thread.take_repetitions_back(left);
    }
    let template = counter.and_then(|counter| counter.template);
    match (mark.spilled, template) {
        (Spilled::Two(..), Some(template)) if mark.undo != Undo::Streamed => {
            thread.stream_until(template, mark.pc, false);
        }
        (_, Some(template)) if rest.is_some() => {
            thread.stream_until(template, mark.pc, true);
        }
        // Written down in full, and still to run. Lanes are taken back one by one.
        (Spilled::None, None) if rest.is_some_and(|rest| was_written(rest, mark.undo)) => {
            thread.take_accesses_back(usize::MAX);
        }
        _ => {}
    }
}

/// Whether all of an instruction by itself was written down: behind its hook, and before its iterations are counted.
const fn was_written(rest: &Rest, undo: Undo) -> bool {
    matches!(rest.behind, Some(Hook::Accesses { .. } | Hook::Repeat { .. }))
        || matches!(undo, Undo::Rax | Undo::Flags)
}
