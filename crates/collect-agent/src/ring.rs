//! One thread's slot in a segment: its header and the ring that the host drains.

use std::sync::atomic::{AtomicU64, Ordering::*};

use carom_base_wire::{Counter, MAX_RECORD_WORDS, RING_WORDS, Record, SlotHeader, encode};

/// The writing end of a slot. One thread writes; the host reads.
#[derive(Clone, Copy)]
pub struct Slot {
    header: &'static SlotHeader,
    ring: &'static [AtomicU64; RING_WORDS],
}

impl Slot {
    /// # Safety
    /// `place` points to a mapped slot (`SLOT_BYTES`, 8-byte aligned) that is never unmapped.
    pub unsafe fn new(place: *const u8) -> Self {
        // SAFETY: the caller vouches for the mapping; headers are plain atomics, valid for any bytes.
        let header = unsafe { &*place.cast::<SlotHeader>() };
        // SAFETY: the ring follows the header inside the slot.
        let ring = unsafe { place.add(size_of::<SlotHeader>()) };
        // SAFETY: as above.
        let ring = unsafe { &*ring.cast::<[AtomicU64; RING_WORDS]>() };
        Self { header, ring }
    }

    /// The slot's head.
    pub fn header(&self) -> &'static SlotHeader {
        self.header
    }

    /// Adds to a counter. Only this thread writes them, so no atomic addition is needed.
    pub fn count(&self, counter: Counter, amount: u64) {
        let word = &self.header.counters[counter as usize];
        word.store(word.load(Relaxed).wrapping_add(amount), Relaxed);
    }

    /// Sets the number of the thread among all processes. Signal-safe.
    pub fn number_among_processes(&self, number: u32) {
        self.header.among_processes.store(u64::from(number) + 1, Relaxed);
    }

    /// Appends a record; false (and counted) where the ring is full. Signal-safe.
    pub fn push(&self, record: &Record) -> bool {
        let mut words = [0; MAX_RECORD_WORDS];
        let length = encode(record, &mut words);
        let head = self.header.head.load(Relaxed);
        // ATOMICS: pairs with the host's write of the tail after it has copied the words out.
        let used = head.wrapping_sub(self.header.tail.load(Acquire));
        if used.saturating_add(length as u64) > RING_WORDS as u64 {
            self.count(Counter::DroppedRecords, 1);
            return false;
        }
        for (index, &word) in (head..).zip(&words[..length]) {
            self.ring[index as usize % RING_WORDS].store(word, Relaxed);
        }
        // ATOMICS: the host reads the head first, so it sees every word before it.
        self.header.head.store(head.wrapping_add(length as u64), Release);
        true
    }
}
