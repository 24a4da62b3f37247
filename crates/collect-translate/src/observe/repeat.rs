//! Repeated string instructions: every iteration is an access of its own, or two.

use std::ops::Range;

use carom_base::{Access, LINE_BYTES};

use super::{
    operands::accesses,
    units::{Pattern, Seen},
};
use crate::{
    blocks::cache::Cache,
    engine::Engine,
    lane::{registers::number::RCX, watches::Watches},
    probes::{
        mode::Mode,
        units::{Comparison, Units},
    },
    threads::{
        explicit::Explicit,
        thread::{Noticed, Thread},
    },
};

/// The direction flag (Intel SDM volume 1, 3.4.3.2).
const DIRECTION: u64 = 1 << 10;

/// The program's registers in front of a repeated instruction, or after it.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// By hardware number.
    pub gpr: [u64; 16],
    pub flags: u64,
}

impl At {
    /// Those at the exit from the cache.
    fn exit(thread: &mut Thread) -> Self {
        let slots = thread.slots();
        Self { gpr: slots.regs, flags: slots.flags }
    }

    /// The accesses of the next iteration, if there is one.
    fn next(&self, cache: &mut Cache, thread: &mut Thread, pc: u64) -> Vec<Access> {
        let mut registers = thread.registers(pc);
        registers.gpr = self.gpr;
        registers.rflags = self.flags;
        registers.gpr[RCX] = registers.gpr[RCX].max(1);
        accesses(cache, &registers)
    }

    /// The stride from one iteration to the next, in bytes. All accesses of an instruction are equally wide.
    fn stride(&self, accesses: &[Access]) -> i64 {
        let width = accesses.first().map_or(0, |access| i64::from(access.width));
        if self.flags & DIRECTION == 0 { width } else { -width }
    }
}

/// In front of a repeated instruction whose accesses are all observed: observes those of moves and stores now.
pub fn before(engine: &mut Engine, thread: &mut Thread, what: Units, ends_early: bool) {
    let (cache, at) = (&mut engine.cache, At::exit(thread));
    let from = what.counted(cache, thread);
    if ends_early {
        thread.comparison = Some(Comparison { what, from });
        return;
    }
    let first = at.next(cache, thread, what.pc);
    let pattern = Pattern::Iterations(&first, at.stride(&first));
    see(cache, thread, &Seen { what, pattern, number: from, end: from }, from, at.gpr[RCX]);
}

/// After a comparison whose accesses are all observed.
pub fn after(engine: &mut Engine, thread: &mut Thread) {
    let at = At::exit(thread);
    end_comparison(&mut engine.cache, thread, at);
}

/// A comparison whose accesses are all observed has ended, or was interrupted, at these registers.
pub fn end_comparison(cache: &mut Cache, thread: &mut Thread, at: At) {
    let Some(Comparison { what, from }) = thread.comparison.take() else { return };
    let end = what.counted(cache, thread);
    let next = at.next(cache, thread, what.pc);
    let seen = Seen { what, pattern: Pattern::Iterations(&next, at.stride(&next)), number: end, end };
    see(cache, thread, &seen, from, end.saturating_sub(from));
    if what.is_due(cache, thread) {
        seen.sample(cache, thread);
    }
}

/// Samples among the iterations that were counted: those to come, or (`over`) those that a comparison has made.
pub fn sample(engine: &mut Engine, thread: &mut Thread, what: Units, over: bool) {
    let (cache, at) = (&mut engine.cache, At::exit(thread));
    sample_at(cache, thread, what, at, over);
}

/// As [`sample`], at these registers.
pub fn sample_at(cache: &mut Cache, thread: &mut Thread, what: Units, at: At, over: bool) {
    let end = what.counted(cache, thread);
    let next = at.next(cache, thread, what.pc);
    let number = if over { end } else { end.wrapping_sub(at.gpr[RCX]) };
    Seen { what, pattern: Pattern::Iterations(&next, at.stride(&next)), number, end }.sample(cache, thread);
}

/// The most bytes of one run that are looked at: 16 GiB. A longer one faults before its end.
const MOST_BYTES: u64 = 16 << 30;

/// Observes all accesses of `times` iterations from number `from` on.
fn see(cache: &Cache, thread: &mut Thread, seen: &Seen<'_>, from: u64, times: u64) {
    let width = seen.access(from, 0).map_or(1, |access| u64::from(access.width.max(1)));
    let times = times.min(MOST_BYTES / width);
    match (cache.mode(), seen.pattern) {
        (Mode::Stream | Mode::Trace { .. }, Pattern::Iterations(accesses, stride)) => {
            let first: Vec<_> = (0..accesses.len()).filter_map(|index| seen.access(from, index)).collect();
            thread.stream(&Explicit { ip: seen.what.pc, times, stride, accesses: &first });
        }
        (Mode::Watch { .. } | Mode::Episodes { .. }, Pattern::Iterations(accesses, stride)) => {
            touch(thread, seen, accesses.len(), stride < 0, from..from.saturating_add(times));
        }
        _ => {}
    }
}

/// For each operand: the first access to each watched line, and all accesses that begin at a watched byte.
fn touch(thread: &mut Thread, seen: &Seen<'_>, operands: usize, backwards: bool, iterations: Range<u64>) {
    let watches = Watches::of(thread.lane);
    let mut touched: Vec<(u64, Noticed)> = Vec::new();
    for index in 0..operands {
        let mut iteration = iterations.start;
        while iteration < iterations.end
            && let Some(Access { addr, width, kind, .. }) = seen.access(iteration, index)
        {
            let offset = addr.offset_in_line();
            let bytes = if backwards { offset } else { LINE_BYTES - 1 - offset };
            // The first element that begins in another line.
            let next = (iteration + bytes / u64::from(width.max(1)) + 1).min(iterations.end);
            if watches.has_near(addr.0, kind) {
                let is_told = |number: &u64| {
                    let first = *number == iteration && watches.has_line(addr.0, kind);
                    let byte = |access: Access| watches.has_byte(access.addr.0, kind);
                    first || seen.access(*number, index).is_some_and(byte)
                };
                let told = (iteration..next).filter(is_told);
                touched.extend(told.filter_map(|number| Some((number, seen.notice(number, index, None)?))));
            }
            iteration = next;
        }
    }
    // A stable sort, so that the operands of one iteration keep their order.
    touched.sort_by_key(|(iteration, _)| *iteration);
    thread.noticed.extend(touched.into_iter().map(|(_, noticed)| noticed));
}
