//! Notes: what the embedder has to say between two accesses.

use super::{stamp::now, thread::Thread};
use crate::lane::records::{NOTE_WORDS, Token};

impl Thread {
    /// Appends a note, for which there must be room.
    pub fn note(&mut self, [first, second]: [u64; 2]) {
        let start = self.streamed().len();
        let words = [u64::from(Token::NOTE), now(), first, second];
        if let Some(places) = self.buffer_mut().get_mut(start..start + NOTE_WORDS) {
            places.copy_from_slice(&words);
            self.set_streamed(start + NOTE_WORDS);
            self.explicit = 0;
        }
    }
}
