//! Sends counts to the host.

use carom_base::ReuseCell;
use carom_base_wire::{Counter, MAX_RECORD_WORDS, Record, encode};

use crate::{registry, session};

/// Bytes that are written at a time.
const WRITE_BYTES: usize = 64 << 10;

/// Hands counts to the host, or counts them as lost.
pub fn put_down(cells: &[ReuseCell]) {
    // The child of a fork has its parent's session until it has one of its own.
    let Some(session) = session::current().filter(|session| session.is_of_this_process()) else { return };
    let mut bytes = Vec::with_capacity(WRITE_BYTES);
    let mut pending = 0;
    let mut lost = 0;
    let mut words = [0; MAX_RECORD_WORDS];
    for cell in cells {
        let length = encode(&Record::Cell(*cell), &mut words);
        bytes.extend(words.iter().take(length).flat_map(|word| word.to_le_bytes()));
        pending += 1;
        if bytes.len() + MAX_RECORD_WORDS * size_of::<u64>() > WRITE_BYTES {
            lost += if session.append_cells(&bytes) { 0 } else { pending };
            bytes.clear();
            pending = 0;
        }
    }
    if !bytes.is_empty() && !session.append_cells(&bytes) {
        lost += pending;
    }
    if lost > 0
        && let Some(thread) = registry::current()
    {
        thread.visit(|state| state.slot.count(Counter::CellsLost, lost));
    }
}
