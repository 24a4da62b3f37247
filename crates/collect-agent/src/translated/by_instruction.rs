//! Writes what instructions have executed to a file for the host.

use carom_base_wire::{Count, InstructionRecord};
use carom_collect_translate::Counts;

use super::by_count;
use crate::session::Session;

/// The warning where that fails.
const NOT_WRITTEN: &str = "counts-not-written";

/// Records that are written at a time.
const AT_A_TIME: usize = 1 << 12;

/// Writes the counts of these instructions, which have grown by as much since the last call.
pub fn write(session: &Session, instructions: &mut dyn Iterator<Item = (u64, Counts)>) {
    let mut bytes = Vec::with_capacity(AT_A_TIME * InstructionRecord::BYTES);
    loop {
        bytes.clear();
        bytes.extend((&mut *instructions).take(AT_A_TIME).flat_map(|(ip, counts)| bytes_of(ip, &counts)));
        if bytes.is_empty() {
            return;
        }
        if !session.append_counts(&bytes) {
            return session
                .trouble(NOT_WRITTEN, "counts by instruction could not be written: is the disk full?");
        }
    }
}

fn bytes_of(ip: u64, counts: &Counts) -> Vec<u8> {
    let mut record = InstructionRecord { ip, counts: [0; Count::COUNT] };
    for (place, (_, value)) in record.counts.iter_mut().zip(by_count(counts)) {
        *place = value;
    }
    record.encode().collect()
}
