//! Every access of every thread, recorded by the thread's own code.
//!
//! ```text
//!   buffer of a thread: | token, address, address | token, address | token | explicit record ... | free |
//!                         block of two accesses     block of one                                 ^ position
//! ```
//!
//! A block's code writes the block's *token* and the addresses of its accesses, of those that differ by constants only one; the token leads to
//! a table with everything else (`templates`). The position moves on when the block's last instruction is about to run. So when a
//! signal interrupts a block, the accesses made so far can be recorded (`signal::streamed`). A masked move is a block
//! by itself: its code writes the mask after the first lane's address. Instructions for which all registers are
//! needed, such as iterations and gathered lanes, are recorded in full by the dispatcher (`explicit`).
//!
//! A buffer is handed to the observer when it is full, and before system calls that make others wait or may take long
//! (`blocks::gate`). So accesses of different threads are reported in the order in which these threads synchronised
//! through the kernel. [`flush_streams`](crate::flush_streams) hands over the buffers of other threads.

use std::sync::atomic::Ordering::*;

use crate::{
    engine::{self, observer},
    lane::records::EMPTY,
    probes::batch::Batch,
    threads::{buffer::Buffer, stamp::now, thread::Thread},
};

/// Hands over the streams of all attached threads, including the calling one, also of threads that wait in a system
/// call or run outside the cache. Signals must be blocked. Of an [`Observer`](crate::Observer), only
/// [`streamed`](crate::Observer::streamed) may call it, when it gets the stream of the calling thread. It is then
/// called, nested, with the streams of all other threads that are not being handed over already.
pub fn flush_streams() {
    let mut taken: Vec<Buffer> = Vec::new();
    // A thread that is handing over now need not do it again. It cannot end before its turn.
    engine::with(|engine| {
        taken.extend(engine.threads().filter(|books| books.turn.take()).map(Buffer::of));
    });
    for buffer in taken {
        tell(&buffer);
        buffer.turn.give();
    }
}

/// Hands the calling thread's buffer over, and empties it. Must not be called under the engine's lock.
pub fn hand_over(thread: &mut Thread) {
    if thread.slots().position == EMPTY {
        return;
    }
    thread.save_vectors();
    pass_on(thread);
}

/// The same outside the dispatcher, where native code runs.
pub fn pass_on(thread: &mut Thread) {
    thread.turn.wait();
    tell(&Buffer::of(thread));
    thread.set_streamed(0);
    thread.explicit = 0;
    thread.turn.give();
}

/// Hands over a thread's buffer, which may belong to another thread or be empty: that there was no access is
/// information too. The caller has the thread's turn.
fn tell(buffer: &Buffer) {
    let until = now();
    let all = buffer.streamed();
    let from = buffer.turn.handed.load(Relaxed);
    let words = all.get(from..).unwrap_or_default();
    observer::tell_streamed(buffer.name, &Batch::new(words, until));
    buffer.turn.handed.store(all.len(), Relaxed);
}
