//! The words of a thread's buffer.

use std::{
    ptr::NonNull,
    sync::{
        Arc,
        atomic::{
            AtomicI64,
            Ordering::{Acquire, Release},
        },
    },
};

use super::{books::Books, thread::Thread, turn::Turn};
use crate::{
    lane::{
        records::{EMPTY, RECORDS_BYTES},
        slots::Slots,
    },
    memory::{BUFFER_BYTES, BUFFER_OFFSET},
};

/// The buffer of a thread, for the thread that has its turn.
pub struct Buffer {
    /// The thread's name for the observer.
    pub name: u64,
    pub turn: Arc<Turn>,
    slots: NonNull<Slots>,
}

impl Buffer {
    pub fn of(books: &Books) -> Self {
        Self { name: books.name, turn: Arc::clone(&books.turn), slots: books.slots }
    }

    /// Its words in use.
    pub fn streamed(&self) -> &[u64] {
        streamed(self.slots)
    }
}

impl Thread {
    /// The words of the thread's buffer that are in use.
    pub fn streamed(&self) -> &[u64] {
        streamed(self.slots)
    }

    /// All words of the thread's buffer, mutable.
    pub fn buffer_mut(&mut self) -> &mut [u64] {
        let words = BUFFER_BYTES as usize / size_of::<u64>();
        let start = self.slots.as_ptr().cast::<u8>().wrapping_add(BUFFER_OFFSET as usize).cast::<u64>();
        // SAFETY: in the lane, and the thread's own.
        unsafe { std::slice::from_raw_parts_mut(start, words) }
    }

    /// Sets the number of words in use; the words before the last `words` must not change. Another thread may be
    /// reading these.
    pub fn set_streamed(&mut self, words: usize) {
        let position = EMPTY.saturating_add(8 * words as i64).min((BUFFER_BYTES - RECORDS_BYTES) as i64);
        let place = &raw mut self.slots().position;
        // SAFETY: the thread's own slots.
        let position_now = unsafe { AtomicI64::from_ptr(place) };
        // ATOMICS: release: words that are added were written before. Threads that read them load the position first.
        position_now.store(position, Release);
        self.turn.shorten(words);
    }
}

/// The words in use of the buffer behind these slots.
fn streamed<'a>(slots: NonNull<Slots>) -> &'a [u64] {
    let slots = slots.as_ptr();
    // SAFETY: the lane is open as long as the thread is attached, which it is until it has had its turn.
    let place = unsafe { &raw mut (*slots).position };
    // SAFETY: as above.
    let position = unsafe { AtomicI64::from_ptr(place) };
    // ATOMICS: the thread's own code moves the position on when words are complete, and stores in program order.
    let position = position.load(Acquire);
    let start = slots.cast::<u8>().cast_const().wrapping_add(BUFFER_OFFSET as usize).cast::<u64>();
    // SAFETY: in the lane; words before the position are no longer written to.
    unsafe { std::slice::from_raw_parts(start, words(position)) }
}

/// The number of words before a position; none where it is not a valid position.
fn words(position: i64) -> usize {
    let bytes = RECORDS_BYTES.checked_add_signed(position).filter(|&bytes| bytes <= BUFFER_BYTES);
    bytes.map_or(0, |bytes| bytes as usize / size_of::<u64>())
}
