//! Every access of every thread, written down by the thread's own code.
//!
//! ```text
//!   buffer of a thread: | token, address, address | token, address | token | explicit record ... | free |
//!                         block of two accesses     block of one                                 ^ position
//! ```
//!
//! A block's code writes the block's *token* and the address of each of its accesses; what else is to be known of them
//! lies in a table, from the token on (`templates`). The position moves on when the block's last instruction is
//! about to run, so that a block which a signal interrupts can be written down as far as it got (`signal::streamed`).
//! A masked move is a block by itself: behind the first lane's address its code writes the mask. What takes a look at all
//! registers, as iterations and gathered lanes do, is written in full by the dispatcher (`explicit`).
//!
//! A buffer is handed to the observer when it is full, and in front of system calls that make others wait or may take
//! long (`blocks::gate`), so that accesses of different threads are told in the order in which these synchronised by
//! the kernel. [`flush_streams`](crate::flush_streams) hands over what others have.

use std::sync::atomic::Ordering::*;

use crate::{
    engine::{self, observer},
    lane::records::EMPTY,
    probes::batch::Batch,
    threads::{buffer::Buffer, stamp::now, thread::Thread},
};

/// Hands over what all attached threads have streamed so far, the calling one too. For those that wait in a system
/// call, or run outside the cache. Signals must be blocked. Of an [`Observer`](crate::Observer), only
/// [`streamed`](crate::Observer::streamed) may call it, when it is told what the calling thread has; it is then told what
/// all others have, but for those that are being handed over, in calls of its own.
pub fn flush_streams() {
    let mut taken: Vec<Buffer> = Vec::new();
    // Whoever is handing over now need not be told to. A thread cannot end before it has had its turn.
    engine::with(|engine| {
        taken.extend(engine.threads().filter(|books| books.turn.take()).map(Buffer::of));
    });
    for buffer in taken {
        tell(&buffer);
        buffer.turn.give();
    }
}

/// Hands the calling thread's buffer over, and empties it. Not under the engine's lock.
pub fn hand_over(thread: &mut Thread) {
    if thread.slots().position == EMPTY {
        return;
    }
    thread.turn.wait();
    tell(&Buffer::of(thread));
    thread.set_streamed(0);
    thread.explicit = 0;
    thread.turn.give();
}

/// Hands over what a thread has in its buffer, which may be another one's, or nothing: that it has accessed nothing else
/// is worth knowing. The caller has its turn.
fn tell(buffer: &Buffer) {
    let until = now();
    let all = buffer.streamed();
    let from = buffer.turn.handed.load(Relaxed);
    let words = all.get(from..).unwrap_or_default();
    observer::tell_streamed(buffer.name, &Batch::new(words, until));
    buffer.turn.handed.store(all.len(), Relaxed);
}
