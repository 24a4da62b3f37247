//! Samples of repeated string instructions: every iteration is an access of its own.

use std::ops::Range;

use carom_base::{Access, AccessKind, Addr};

use crate::{dispatch::operands, engine::Engine, mode::Mode, state::number, thread::Thread};

/// The direction flag (Intel SDM volume 1, 3.4.3.2).
const DIRECTION: u64 = 1 << 10;

/// A repeated comparison under way: only behind it is it known how many iterations there were.
#[derive(Debug)]
pub struct Comparison {
    first: Vec<Access>,
    /// Iterations counted before.
    from: u64,
}

/// The counter of a repeated instruction: the instruction itself, and where to find the counter.
#[derive(Clone, Copy, Debug)]
pub struct Repeated {
    pub pc: u64,
    pub arena: usize,
    pub id: u64,
    pub ends_early: bool,
}

/// In front of the instruction. Iterations of moves and stores are sampled now.
pub fn before(engine: &mut Engine, thread: &mut Thread, what: Repeated) {
    let iterations = thread.slots().regs[number::RCX];
    let first = operands(engine, thread, what.pc);
    let from = counted(engine, thread, what);
    if what.ends_early {
        thread.comparison = Some(Comparison { first, from });
    } else {
        sample(engine, thread, what, &first, from..from.saturating_add(iterations));
    }
}

/// Behind an instruction that a comparison may have ended early.
pub fn after(engine: &mut Engine, thread: &mut Thread, what: Repeated) {
    if let Some(Comparison { first, from }) = thread.comparison.take() {
        let to = counted(engine, thread, what);
        sample(engine, thread, what, &first, from..to);
    }
}

fn counted(engine: &Engine, thread: &Thread, what: Repeated) -> u64 {
    let code = engine.cache.codes.get(what.arena);
    code.map_or(0, |code| code.windows().value(thread.lane, what.id as usize) as u64)
}

/// Samples among the iterations with these numbers, the first of which makes the accesses `first`.
fn sample(
    engine: &mut Engine,
    thread: &mut Thread,
    what: Repeated,
    first: &[Access],
    iterations: Range<u64>,
) {
    let Mode::Sample { loads, stores } = engine.cache.mode else { return };
    let backwards = thread.slots().flags & DIRECTION != 0;
    for store in [false, true] {
        let kind = if store { AccessKind::Store } else { AccessKind::Load };
        let of_kind: Vec<&Access> = first
            .iter()
            .filter(|access| if store { access.kind.writes() } else { access.kind.reads() })
            .collect();
        let each = of_kind.len() as u64;
        let numbers = iterations.start.saturating_mul(each)..iterations.end.saturating_mul(each);
        if numbers.is_empty() {
            continue;
        }
        for number in thread.due_between(what.arena, what.id, store, [loads, stores], numbers) {
            let Some(access) = of_kind.get((number % each) as usize) else { continue };
            let distance =
                (number / each).wrapping_sub(iterations.start).wrapping_mul(u64::from(access.width));
            let distance = if backwards { distance.wrapping_neg() } else { distance };
            let access = Access { addr: Addr(access.addr.0.wrapping_add(distance)), ..**access };
            thread.sampled.push((access, kind));
        }
    }
}
