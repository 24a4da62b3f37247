//! Explicit records: iterations of string instructions, gathered lanes, and addresses that no `lea` computes.

use carom_base::Access;

use super::thread::Thread;
use crate::{
    lane::records::{EXPLICIT_ACCESS_WORDS, EXPLICIT_WORDS, KIND_SHIFT, STAMP_WORDS, Token},
    probes::templates,
};

/// Accesses that are repeated, each time `stride` bytes further on.
#[derive(Clone, Copy, Debug)]
pub struct Explicit<'a> {
    pub ip: u64,
    pub times: u64,
    pub stride: i64,
    pub accesses: &'a [Access],
}

/// The space for any of these records, with a stamp in front of it.
pub const MOST_WORDS: usize =
    STAMP_WORDS + EXPLICIT_WORDS + EXPLICIT_ACCESS_WORDS * carom_base_insn::MAX_ACCESSES;

impl Explicit<'_> {
    /// Its words, in order.
    pub fn words(&self, mut append: impl FnMut(u64)) {
        let head = [Token::explicit(self.accesses.len() as u32).0, self.ip, self.times, self.stride as u64];
        head.into_iter().for_each(&mut append);
        for access in self.accesses {
            append(access.addr.0);
            append(u64::from(access.width) | (access.kind as u64) << KIND_SHIFT);
        }
    }
}

impl Thread {
    /// Appends a record, for which there must be room, unless it is empty.
    pub fn stream(&mut self, record: &Explicit<'_>) {
        self.explicit = 0;
        if record.times == 0 || record.accesses.is_empty() {
            return;
        }
        self.stamp();
        let start = self.streamed().len();
        let mut end = start;
        let buffer = self.buffer_mut();
        record.words(|word| {
            if let Some(place) = buffer.get_mut(end) {
                *place = word;
            }
            end += 1;
        });
        self.set_streamed(end);
        self.explicit = end - start;
    }

    /// Whether an explicit record might not fit any more.
    pub fn is_nearly_full(&mut self) -> bool {
        self.slots().position > -(8 * MOST_WORDS as i64)
    }

    /// Reduces the last record, which must be explicit, by `times` repetitions.
    pub fn take_repetitions_back(&mut self, times: u64) {
        const TIMES: usize = 2;
        let length = self.streamed().len();
        let Some(start) = length.checked_sub(self.explicit).filter(|_| self.explicit != 0) else { return };
        let Some(place) = self.buffer_mut().get_mut(start + TIMES) else { return };
        *place = place.saturating_sub(times);
        if *place == 0 {
            self.set_streamed(start);
            self.explicit = 0;
        }
    }

    /// Removes the last `accesses` of the last record, which must be explicit: they have not taken place.
    pub fn take_accesses_back(&mut self, accesses: usize) {
        let length = self.streamed().len();
        let Some(start) = length.checked_sub(self.explicit).filter(|_| self.explicit != 0) else { return };
        let all = (self.explicit - EXPLICIT_WORDS) / EXPLICIT_ACCESS_WORDS;
        let left = all.saturating_sub(accesses);
        let words = if left == 0 { 0 } else { EXPLICIT_WORDS + EXPLICIT_ACCESS_WORDS * left };
        if let Some(token) = self.buffer_mut().get_mut(start) {
            *token = Token::explicit(left as u32).0;
        }
        self.set_streamed(start + words);
        self.explicit = words;
    }

    /// The block with these templates is left in front of the instruction at `pc`. `written`: the block is in the
    /// buffer with all its accesses, otherwise with none.
    pub fn stream_until(&mut self, template: u32, pc: u64, written: bool) {
        let done = templates::before(template, pc);
        if done.is_all && written {
            return;
        }
        let length = self.streamed().len();
        let start = if written { length.saturating_sub(done.all_words + 1) } else { length };
        // The addresses follow the token, as the code has written them.
        if let Some(token) = self.buffer_mut().get_mut(start).filter(|_| done.accesses > 0) {
            *token = Token::cut(template, done.accesses).0;
        }
        self.set_streamed(if done.accesses == 0 { start } else { start + 1 + done.words });
        self.explicit = 0;
    }
}
