//! The stream of a block that a signal has interrupted, up to the interruption.

use super::{context::Original, counts::Rest};
use crate::{
    blocks::cache::Cache,
    encode::marks::{Spilled, Undo},
    observe::repeat::{self, At},
    probes::{counter::Unit, hook::Hook},
    threads::thread::Thread,
};

/// Makes the thread's buffer contain what it has done before `original.rip`, and nothing else. It was interrupted at
/// `address` in a fragment. `rest`: the rest of its block; `left`: iterations that were taken back.
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
        // Its iterations are known now, and it will not reach the hook after it.
        return repeat::end_comparison(cache, thread, At { gpr: original.gpr, flags: original.rflags });
    }
    let counter = code.last_counter(address, Unit::Execution).map(|(_, counter)| counter);
    if counter.is_some_and(|counter| !cache.mode_at(counter.pc).streams()) {
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
        // Recorded in full, and still to run. Lanes are taken back individually.
        (Spilled::None, None) if rest.is_some_and(|rest| was_written(rest, mark.undo)) => {
            thread.take_accesses_back(usize::MAX);
        }
        _ => {}
    }
}

/// Whether an instruction that is recorded by itself has been recorded: after its hook, and before its iterations are
/// counted.
const fn was_written(rest: &Rest, undo: Undo) -> bool {
    matches!(rest.behind, Some(Hook::Accesses { .. } | Hook::Repeat { .. }))
        || matches!(undo, Undo::Rax | Undo::Flags)
}
