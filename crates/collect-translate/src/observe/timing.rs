//! How long loads take, measured around them ([`Mode::Time`]).
//!
//! ```text
//!   lfence; rdtsc; (keep the answer, give RAX and RDX back) lfence; the load; (keep RAX and RDX) lfence; rdtsc
//! ```
//!
//! The first `lfence` waits for everything before, the last one for the load, so nothing overlaps with the load.
//! Without the middle one, the load begins while the counter is still being read. Then hits of the second level took
//! as long as those of the first and as no load at all; with it they took half as long again (a median of 78 ticks
//! against 52, on an EPYC whose counter moves in steps of 26). [`calibrate`] measures the cost of the bracket itself
//! with the same instructions.
//!
//! Blocks that are chosen by a countdown have a copy in which their loads are timed, to which they jump when the
//! countdown is over. Of the engine, only that copy runs before these loads: a way through the dispatcher would fetch
//! lines that push the program's out of the first-level cache. After the last load the copy leaves for the
//! dispatcher, which draws the next execution and calls the observer. A thread may meet blocks whose countdown it has
//! not begun. Then the copy runs, too, and its measurements are reported only if this execution is drawn.
//!
//! [`Mode::Time`]: crate::Mode::Time

pub mod calibrate;

use crate::{
    blocks::place::Place,
    engine::{Engine, observer},
    threads::thread::Thread,
};

/// A copy of the block with the counter `id` in that arena has timed its loads: keeps the measurements in the buffer
/// only if this execution was drawn.
pub fn draw(engine: &Engine, thread: &mut Thread, arena: usize, id: u64) {
    let Some(code) = engine.cache.arenas.get(arena) else { return };
    let Some(counter) = code.counters().get(id as usize) else { return };
    let mut drawn = false;
    if let Some(periods) = engine.cache.mode().countdown(&counter.sums()) {
        thread.draw(Place { arena, code, id }, periods, |_| drawn = true);
    }
    thread.has_timed = drawn;
    if !drawn {
        thread.set_streamed(0);
    }
}

/// Reports the loads that a thread has timed in an execution that was drawn. Must not be called under the engine's
/// lock.
pub fn tell(thread: &mut Thread) {
    if std::mem::take(&mut thread.has_timed) {
        thread.save_vectors();
        thread.turn.wait();
        observer::tell_timed(thread);
        thread.set_streamed(0);
        thread.turn.give();
    }
}
