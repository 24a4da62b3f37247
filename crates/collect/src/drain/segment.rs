//! Reads one segment file: the rings of some threads.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

use carom_base::ThreadId;
use carom_base_wire::{
    DecodeError, Fate, RING_WORDS, Record, SEGMENT_MAGIC, SLOT_HEADER_BYTES, STATE_OFFSET, SegmentHeader,
    SlotSnapshot, SlotState, TAIL_OFFSET, VERSION, decode, slot_offset,
};

/// More slots than any agent makes in one segment.
const MOST_SLOTS: u32 = 4096;

/// An open segment.
pub struct Segment {
    file: File,
    slots: usize,
}

/// The result of one visit to a slot.
pub struct Visit {
    /// The slot's head, read last.
    pub head: SlotSnapshot,
    /// The records since the last visit. Threads are serials.
    pub records: Vec<Record>,
    /// Words that were no record.
    pub garbage: u64,
    /// The part of the ring that was in use, to 1.
    pub fullness: f64,
}

impl Segment {
    /// Opens a segment, or `None` while its agent is still making it.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = File::options().read(true).write(true).open(path)?;
        let mut head = [0; 16];
        if file.read_exact_at(&mut head, 0).is_err() {
            return Ok(None);
        }
        let magic = head.first_chunk().map(|b| u64::from_le_bytes(*b));
        let half =
            |at: usize| head.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes);
        let slots = half(12);
        if magic != Some(SEGMENT_MAGIC) || half(8) != VERSION || slots > MOST_SLOTS {
            return Ok(None);
        }
        Ok(Some(Self { file, slots: slots as usize }))
    }

    /// The end of the process, as the head states it.
    pub fn fate(&self) -> Fate {
        let mut head = [0; size_of::<SegmentHeader>()];
        self.file.read_exact_at(&mut head, 0).map(|()| Fate::parse(&head)).unwrap_or_default()
    }

    pub fn slots(&self) -> usize {
        self.slots
    }

    fn snapshot(&self, slot: usize) -> Option<SlotSnapshot> {
        let mut bytes = [0; SLOT_HEADER_BYTES];
        self.file.read_exact_at(&mut bytes, slot_offset(slot) as u64).ok()?;
        Some(SlotSnapshot::parse(&bytes))
    }

    /// Takes what the thread in `slot` has written since the last visit; frees the slot where the thread has ended.
    /// `None` for a free slot.
    pub fn visit(&self, slot: usize) -> Option<Visit> {
        let first = self.snapshot(slot)?;
        // The state is written last: everything read after `Ended` was seen is final.
        let head = match first.state? {
            SlotState::Free | SlotState::Taken => return None,
            SlotState::Live => first,
            SlotState::Ended => self.snapshot(slot)?,
        };
        let (records, garbage) = self.take(slot, &head);
        self.write(slot, TAIL_OFFSET, &head.head.to_le_bytes());
        if head.state == Some(SlotState::Ended) {
            self.write(slot, STATE_OFFSET, &(SlotState::Free as u32).to_le_bytes());
        }
        let fullness = (head.head.wrapping_sub(head.tail) as f64 / RING_WORDS as f64).min(1.0);
        Some(Visit { head, records, garbage, fullness })
    }

    fn write(&self, slot: usize, offset: usize, bytes: &[u8]) {
        // A failure leads to a full ring, which the agent counts.
        let _ = self.file.write_all_at(bytes, (slot_offset(slot) + offset) as u64);
    }

    fn take(&self, slot: usize, head: &SlotSnapshot) -> (Vec<Record>, u64) {
        let length = head.head.wrapping_sub(head.tail);
        if length > RING_WORDS as u64 {
            return (Vec::new(), length);
        }
        let mut words = Vec::with_capacity(length as usize);
        let ring = (slot_offset(slot) + SLOT_HEADER_BYTES) as u64;
        let mut position = head.tail;
        while position != head.head {
            let index = position % RING_WORDS as u64;
            let run = (head.head - position).min(RING_WORDS as u64 - index);
            let mut bytes = vec![0; run as usize * 8];
            if self.file.read_exact_at(&mut bytes, ring + index * 8).is_err() {
                return (Vec::new(), length);
            }
            words.extend(bytes.chunks_exact(8).filter_map(|b| b.try_into().ok()).map(u64::from_le_bytes));
            position += run;
        }
        parse(&words, ThreadId(head.serial))
    }
}

fn parse(words: &[u64], serial: ThreadId) -> (Vec<Record>, u64) {
    let (mut records, mut garbage, mut rest) = (Vec::new(), 0, words);
    while !rest.is_empty() {
        match decode(rest, serial) {
            Ok((record, length)) => {
                records.push(record);
                rest = rest.get(length..).unwrap_or_default();
            }
            Err(DecodeError::BadContent { words }) => {
                garbage += words as u64;
                rest = rest.get(words..).unwrap_or_default();
            }
            Err(DecodeError::BadLength | DecodeError::Incomplete) => {
                garbage += rest.len() as u64;
                rest = &[];
            }
        }
    }
    (records, garbage)
}
