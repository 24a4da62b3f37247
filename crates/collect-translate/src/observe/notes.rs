//! What the embedder has to say between two accesses of the calling thread.

use super::streams::pass_on;
use crate::engine::{calling::current, with};

/// Notes two words between the accesses that the calling thread has made and those to come. They come back in its batch, with
/// the time ([`Event::Note`](crate::Event::Note)). Nothing is noted where accesses are not streamed, or in a thread that is not
/// attached.
///
/// For native functions that translated code calls, with signals blocked and without locks.
pub fn note(words: [u64; 2]) {
    let Some(thread) = current() else { return };
    let mut streams = false;
    with(|engine| streams = engine.cache.mode().streams());
    if !streams {
        return;
    }
    // SAFETY: the calling thread's own, and outside the dispatcher.
    let thread = unsafe { &mut *thread };
    if thread.is_nearly_full() {
        pass_on(thread);
    }
    thread.note(words);
}
