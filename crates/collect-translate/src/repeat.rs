//! Samples of repeated string instructions: every iteration is an access of its own.

use std::ops::Range;

use carom_base::{Access, AccessKind, Addr, LINE_BYTES};

use crate::{
    cache::Cache,
    dispatch::operands,
    engine::Engine,
    mode::Mode,
    state::number,
    stream::Explicit,
    thread::{Noticed, Thread, loads_and_stores},
    watch::Watches,
};

/// The direction flag (Intel SDM volume 1, 3.4.3.2).
const DIRECTION: u64 = 1 << 10;

/// A repeated comparison under way: only behind it is it known how many iterations there were.
#[derive(Debug)]
pub struct Comparison {
    what: Repeated,
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
    /// Loads and stores of the block behind it.
    pub ahead: u32,
}

/// Iterations that are seen at once.
struct Iterations<'a> {
    what: Repeated,
    /// What the first of them accesses.
    first: &'a [Access],
    /// Their numbers among all of the instruction's in this thread.
    numbers: Range<u64>,
    /// Whether they are counted already.
    counted: bool,
    backwards: bool,
}

/// In front of the instruction. Iterations of moves and stores are seen now.
pub fn before(engine: &mut Engine, thread: &mut Thread, what: Repeated) {
    let times = thread.slots().regs[number::RCX];
    let first = operands(engine, thread, what.pc);
    let from = counted(&engine.cache, thread, what);
    if what.ends_early {
        thread.comparison = Some(Comparison { what, first, from });
    } else {
        let backwards = thread.slots().flags & DIRECTION != 0;
        let numbers = from..from.saturating_add(times);
        see(&engine.cache, thread, &Iterations { what, first: &first, numbers, counted: false, backwards });
    }
}

/// Behind an instruction that a comparison may have ended early, or where a signal has interrupted it. `flags`: the
/// program's.
pub fn after(cache: &Cache, thread: &mut Thread, flags: u64) {
    if let Some(Comparison { what, first, from }) = thread.comparison.take() {
        let numbers = from..counted(cache, thread, what);
        let backwards = flags & DIRECTION != 0;
        see(cache, thread, &Iterations { what, first: &first, numbers, counted: true, backwards });
    }
}

fn see(cache: &Cache, thread: &mut Thread, iterations: &Iterations<'_>) {
    let times = iterations.numbers.end.saturating_sub(iterations.numbers.start);
    match cache.mode {
        Mode::Stream => thread.stream(&Explicit {
            ip: iterations.what.pc,
            times,
            stride: iterations.stride(),
            accesses: iterations.first,
        }),
        Mode::Sample { loads, stores } => sample(thread, iterations, [loads, stores]),
        Mode::Watch { loads, stores } => {
            touch(thread, iterations, times);
            sample(thread, iterations, [loads, stores]);
        }
        _ => {}
    }
}

fn counted(cache: &Cache, thread: &Thread, what: Repeated) -> u64 {
    let code = cache.codes.get(what.arena);
    code.map_or(0, |code| code.windows().value(thread.lane, what.id as usize) as u64)
}

impl Iterations<'_> {
    /// From one iteration to the next, in bytes. All accesses of one are equally wide.
    fn stride(&self) -> i64 {
        let width = self.first.first().map_or(0, |access| i64::from(access.width));
        if self.backwards { -width } else { width }
    }

    /// One access of one iteration, counted from the first of these.
    fn notice(&self, index: usize, iteration: u64, drawn_as: Option<AccessKind>) -> Option<Noticed> {
        let first = self.first.get(index)?;
        let distance = (self.stride() as u64).wrapping_mul(iteration);
        let each: i64 = self.first.iter().map(loads_and_stores).sum();
        let done: i64 = self.first.iter().take(index).map(loads_and_stores).sum();
        let times = if self.counted { self.numbers.end - self.numbers.start } else { 0 };
        let to_come = (times as i64 - iteration as i64).wrapping_mul(each).wrapping_sub(done);
        let access = Access { addr: Addr(first.addr.0.wrapping_add(distance)), ..*first };
        Some(Noticed { access, drawn_as, ahead: i64::from(self.what.ahead).wrapping_add(to_come) })
    }
}

/// Samples among the iterations.
fn sample(thread: &mut Thread, iterations: &Iterations<'_>, periods: [u64; 2]) {
    let Iterations { what, first, ref numbers, .. } = *iterations;
    for store in [false, true] {
        let kind = if store { AccessKind::Store } else { AccessKind::Load };
        let wanted = |access: &Access| if store { access.kind.writes() } else { access.kind.reads() };
        let of_kind: Vec<usize> =
            (0..).zip(first).filter(|(_, access)| wanted(access)).map(|(n, _)| n).collect();
        let each = of_kind.len() as u64;
        let wanted = numbers.start.saturating_mul(each)..numbers.end.saturating_mul(each);
        if wanted.is_empty() {
            continue;
        }
        for number in thread.due_between(what.arena, what.id, store, periods, wanted) {
            let iteration = (number / each).wrapping_sub(numbers.start);
            let index = of_kind.get((number % each) as usize);
            if let Some(noticed) = index.and_then(|&index| iterations.notice(index, iteration, Some(kind))) {
                thread.noticed.push(noticed);
            }
        }
    }
}

/// The first access to each watched line, of each operand.
fn touch(thread: &mut Thread, iterations: &Iterations<'_>, times: u64) {
    let watches = Watches::of(thread.lane);
    let mut touched: Vec<(u64, Noticed)> = Vec::new();
    for index in 0..iterations.first.len() {
        let mut iteration = 0;
        while iteration < times
            && let Some(noticed) = iterations.notice(index, iteration, None)
        {
            let Access { addr, width, kind, .. } = noticed.access;
            if watches.has(addr.0, kind) {
                touched.push((iteration, noticed));
            }
            let offset = addr.offset_in_line();
            let bytes = if iterations.backwards { offset } else { LINE_BYTES - 1 - offset };
            // The first element that begins in another line.
            iteration += bytes / u64::from(width.max(1)) + 1;
        }
    }
    // Stable, so that the operands of one iteration stay in their order.
    touched.sort_by_key(|(iteration, _)| *iteration);
    thread.noticed.extend(touched.into_iter().map(|(_, noticed)| noticed));
}
