//! The places that threads watch.

use crate::{
    engine::{calling, with},
    lane::watches::Watches,
};

/// The calling thread's watched places.
pub fn watches() -> Option<Watches> {
    // SAFETY: the calling thread's, whose lane does not change.
    calling::current_books().map(|books| Watches::of(unsafe { books.as_ref() }.lane))
}

/// The watched places of the thread with this name. Signals must be blocked.
pub fn watches_of(name: u64) -> Option<Watches> {
    let mut watches = None;
    with(|engine| {
        watches = engine.named(name).map(|books| Watches::of(books.lane));
    });
    watches
}
