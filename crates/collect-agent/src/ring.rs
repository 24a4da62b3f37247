//! One thread's slot in a segment: its header and the ring that the host drains.

use std::sync::atomic::{AtomicU64, Ordering::*};

use carom_base_wire::{Counter, MAX_RECORD_WORDS, RING_WORDS, Record, SlotHeader, encode};

/// How often a thread pauses in a row: for some 10 ms, which is the longest pause of the host where there are many samples.
const PATIENCE: u32 = 100;

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

    /// Calls `pause` while the ring is three quarters full: on a busy machine the host may be ready to drain it and have no
    /// processor. `paused`: how often it was called since there was room. A host that does not come even so is not
    /// waited for again before it has come.
    pub fn make_room(&self, paused: &mut u32, mut pause: impl FnMut()) {
        const MUCH: u64 = RING_WORDS as u64 / 4 * 3;
        let header = self.header;
        let used = || header.head.load(Relaxed).wrapping_sub(header.tail.load(Relaxed));
        while used() >= MUCH {
            if *paused >= PATIENCE {
                return;
            }
            *paused += 1;
            pause();
        }
        *paused = 0;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_pauses_until_there_is_room_or_patience_ends() {
        let header: &'static SlotHeader = Box::leak(Box::default());
        let ring: Vec<AtomicU64> = (0..RING_WORDS).map(|_| AtomicU64::new(0)).collect();
        let ring: &'static [AtomicU64; RING_WORDS] = (&*ring.leak()).try_into().expect("so many words");
        let slot = Slot { header, ring };
        let (mut paused, mut pauses) = (0, 0);
        let quarter = RING_WORDS as u64 / 4;
        header.head.store(3 * quarter - 1, Relaxed);
        slot.make_room(&mut paused, || unreachable!("there is room"));
        header.head.store(3 * quarter, Relaxed);
        // The host comes at the third pause.
        slot.make_room(&mut paused, || {
            pauses += 1;
            header.tail.store(if pauses == 3 { 3 * quarter } else { 0 }, Relaxed);
        });
        assert_eq!((paused, pauses), (0, 3));
        // It does not come any more.
        header.head.store(7 * quarter, Relaxed);
        for _ in 0..3 {
            slot.make_room(&mut paused, || pauses += 1);
            assert_eq!((paused, pauses), (PATIENCE, 3 + PATIENCE));
        }
        header.tail.store(7 * quarter, Relaxed);
        slot.make_room(&mut paused, || unreachable!("there is room"));
        assert_eq!(paused, 0);
    }
}
