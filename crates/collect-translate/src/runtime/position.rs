//! A thread's position, in accesses: distances between accesses are differences of positions.

use libc::ucontext_t;

use crate::{
    engine::{calling::current, with},
    signal,
};

/// The number of loads and stores of the calling thread; a read-modify-write is both. In
/// [`sampled`](crate::Observer::sampled) and [`touched`](crate::Observer::touched): those before the reported access.
/// In [`streamed`](crate::Observer::streamed): up to the end of the batch, if the thread itself reports it. In a
/// handler of the embedder, after [`catch_up`](crate::catch_up): an interrupted block counts as if it were complete, as in
/// [`totals`](crate::probes::totals). Costs a multiplication for each translated block. Signals must be blocked.
pub fn accesses() -> Option<u64> {
    let pointer = current()?;
    let mut accesses = None;
    with(|engine| {
        // SAFETY: the calling thread's; the dispatcher waits for the observer, or does not run.
        accesses = Some(unsafe { (*pointer).accesses(engine.cache.arenas.all(), engine.cache.episode()) });
    });
    accesses
}

/// The same for the thread with this name, which runs on meanwhile: see [`count_in_memory`](crate::count_in_memory). Signals
/// must be blocked.
pub fn accesses_of(name: u64) -> Option<u64> {
    let mut accesses = None;
    with(|engine| {
        accesses = engine
            .named(name)
            .map(|books| books.accesses_by_others(engine.cache.arenas.all(), engine.cache.episode()));
    });
    accesses
}

/// As [`accesses`], for a handler of the embedder that has been given `context`: the accesses before the interrupted
/// instruction. May be called like [`original_registers`](crate::original_registers).
pub fn accesses_at(context: &ucontext_t) -> Option<u64> {
    let thread = current()?;
    // SAFETY: the calling thread's own, and not in the dispatcher, where no signal arrives.
    let thread = unsafe { &mut *thread };
    let mut accesses = None;
    with(|engine| {
        let ahead = signal::ahead(engine, thread, context);
        accesses = Some(
            (thread.accesses(engine.cache.arenas.all(), engine.cache.episode()) as i64)
                .saturating_sub(ahead)
                .max(0) as u64,
        );
    });
    accesses
}
