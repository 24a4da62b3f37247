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
//! long (`system::gate`), so that accesses of different threads are told in the order in which these synchronised by
//! the kernel. [`flush_streams`](crate::flush_streams) hands over what others have.

mod batch;
mod buffer;
mod explicit;
mod record;
mod stamp;
mod templates;

use std::{
    mem,
    sync::atomic::{AtomicUsize, Ordering::*},
};

use carom_base_sys::lock::{Lock, Rank};

pub use batch::{Batch, Event};
use buffer::Buffer;
pub use explicit::Explicit;
pub use record::{TIMED_BYTES, Token};
pub use stamp::{NO_STAMP_YET, STAMP_BYTES, STAMP_EVERY_BYTES, is_fence, is_invariant, is_stamped, now};
pub use templates::{Template, Templates};

use crate::{
    engine,
    exit::{Exit, Reason},
    memory::{BUFFER_BYTES, BUFFER_OFFSET},
    state::number,
    system,
    thread::Thread,
};

/// Bytes of a buffer that records may take.
pub const RECORDS_BYTES: u64 = BUFFER_BYTES - stamp::ROOM_FOR_STAMPS;

/// One past these, relative to GS.
pub const BUFFER_END: u32 = (BUFFER_OFFSET + RECORDS_BYTES) as u32;

/// An empty buffer's position.
pub const EMPTY: i64 = -(RECORDS_BYTES as i64);

/// Whose turn it is to hand a thread's buffer over: the thread itself, or one that flushes.
pub struct Turn {
    held: Lock<()>,
    /// Words that were handed over, and lie in the buffer still.
    handed: AtomicUsize,
}

impl Default for Turn {
    fn default() -> Self {
        Self { held: Lock::new(Rank::Turn, ()), handed: AtomicUsize::new(0) }
    }
}

impl Turn {
    /// Takes it. False where somebody has it.
    pub fn take(&self) -> bool {
        self.held.try_lock().map(mem::forget).is_some()
    }

    /// Gives it back. Then the thread may end.
    pub fn give(&self) {
        self.held.open();
    }

    /// Only so many words are left; of those that were handed over some may not have taken place.
    pub fn shorten(&self, words: usize) {
        self.handed.fetch_min(words, Relaxed);
    }

    /// Waits for it. To be called by the thread itself, without the engine's lock, before it ends.
    pub fn wait(&self) {
        mem::forget(self.held.lock());
    }
}

/// What is to be handed over before an exit is dealt with, because there is no room, or because it may take long.
pub fn before_exit(thread: &mut Thread, exit: &Exit) {
    match exit.reason {
        // Samples are taken where nothing is written, or where a copy that times loads has found something.
        Reason::Full | Reason::Sample => hand_over(thread),
        Reason::SystemCall => {
            // The kernel looks at the lower half of RAX.
            let number = i64::from(thread.slots().regs[number::RAX] as i32);
            hand_over(thread);
            if number == libc::SYS_exit {
                thread.turn.wait();
            }
            let given = system::arguments(thread);
            if matches!(number, libc::SYS_exit_group | libc::SYS_execve | libc::SYS_execveat)
                || system::may_end_here(number, given)
            {
                flush_streams();
            }
        }
        Reason::Hook if thread.is_nearly_full() => hand_over(thread),
        _ => {}
    }
}

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
    engine::tell_streamed(buffer.name, &Batch::new(words, until));
    buffer.turn.handed.store(all.len(), Relaxed);
}
