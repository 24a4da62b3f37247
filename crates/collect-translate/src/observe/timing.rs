//! How long loads take, measured around them ([`Mode::Time`]).
//!
//! ```text
//!   lfence; rdtsc; (keep the answer, give RAX and RDX back) lfence; the load; (keep RAX and RDX) lfence; rdtsc
//! ```
//!
//! The first `lfence` waits for everything before, the last one for the load, so that nothing overlaps with it. Without the one
//! between, the load begins while the counter is still being read: then hits of the second level took as long as those of the
//! first and as nothing at all, with it half as long again (a median of 78 ticks against 52, on an EPYC whose counter moves in
//! steps of 26). What such a bracket takes by itself is [`calibrate`]d with the same instructions.
//!
//! Blocks that are chosen by a countdown have a copy in which their loads are timed, to which they jump when the countdown is
//! over. Nothing of ours runs before those loads but that copy: on the way through the dispatcher lines would be fetched
//! that push the program's out of the first-level cache. Behind the last load the copy leaves for the dispatcher, which
//! draws the next execution and tells the observer. A thread meets blocks whose countdown it has not begun; then the copy
//! runs, too, and what it has measured is told only if that very execution is drawn.
//!
//! [`Mode::Time`]: crate::Mode::Time

pub mod calibrate;

use crate::{
    blocks::place::Place,
    engine::{Engine, observer},
    threads::thread::Thread,
};

/// A copy of the block with the counter `id` in that arena has timed its loads: what it has measured stays in the buffer only
/// if that was drawn.
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

/// Tells the observer of the loads that a thread has timed in an execution that was drawn. Not under the engine's lock.
pub fn tell(thread: &mut Thread) {
    if std::mem::take(&mut thread.has_timed) {
        thread.turn.wait();
        observer::tell_timed(thread);
        thread.set_streamed(0);
        thread.turn.give();
    }
}
