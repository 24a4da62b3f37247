//! How far a thread has come, in accesses: what distances between accesses are measured with.

use libc::ucontext_t;

use crate::{
    engine::{calling::current, with},
    signal,
};

/// Loads and stores of the calling thread so far; one that reads and writes is both. In [`sampled`](crate::Observer::sampled) and
/// [`touched`](crate::Observer::touched): those before the access that is told. In [`streamed`](crate::Observer::streamed): up to the end of what is
/// told, where it is told by the thread itself. In a handler of the embedder's own: the block that was interrupted is counted as
/// if it were over, as in [`totals`](crate::probes::totals). A multiplication for each block that was translated. Signals must be blocked.
pub fn accesses() -> Option<u64> {
    let pointer = current()?;
    let mut accesses = None;
    with(|engine| {
        // SAFETY: the calling thread's; the dispatcher waits for the observer, or does not run.
        accesses = Some(unsafe { (*pointer).accesses(engine.cache.arenas.all()) });
    });
    accesses
}

/// The same of the thread of that name, which goes on meanwhile. Signals must be blocked.
pub fn accesses_of(name: u64) -> Option<u64> {
    let mut accesses = None;
    with(|engine| {
        accesses = engine.named(name).map(|books| books.accesses(engine.cache.arenas.all()));
    });
    accesses
}

/// As [`accesses`], for a handler of the embedder's own that has been given `context`: those before the instruction in
/// which the thread was interrupted. To be called as [`original_registers`](crate::original_registers).
pub fn accesses_at(context: &ucontext_t) -> Option<u64> {
    let thread = current()?;
    // SAFETY: the calling thread's own, and not in the dispatcher, where no signal arrives.
    let thread = unsafe { &mut *thread };
    let mut accesses = None;
    with(|engine| {
        let ahead = signal::ahead(engine, thread, context);
        accesses =
            Some((thread.accesses(engine.cache.arenas.all()) as i64).saturating_sub(ahead).max(0) as u64);
    });
    accesses
}
