//! The libraries that a program names.

use carom_base_sys::raw::File;
use carom_base_wire::SANITIZERS;

/// Segments of a program remembered; linkers make four or five that are loaded.
const MOST_SEGMENTS: usize = 8;

/// Bytes of the dynamic section looked at: 64 entries, of which linkers make about 30 and put these in front.
const SECTION_BYTES: usize = 1024;

const ENTRY_BYTES: usize = 16;

/// Tags of the dynamic section (System V ABI, chapter 5).
const NEEDED: u64 = 1;
const STRING_TABLE: u64 = 5;

/// Where a program's dynamic section and its names lie in the file.
#[derive(Default)]
pub struct Dynamic {
    place: (u64, u64),
    /// Address, offset in the file, and bytes there, of each.
    loaded: [(u64, u64, u64); MOST_SEGMENTS],
    segments: usize,
}

impl Dynamic {
    /// A segment that is loaded.
    pub fn load(&mut self, address: u64, offset: u64, bytes: u64) {
        if let Some(segment) = self.loaded.get_mut(self.segments) {
            *segment = (address, offset, bytes);
            self.segments += 1;
        }
    }

    /// The dynamic section.
    pub const fn section(&mut self, offset: u64, bytes: u64) {
        self.place = (offset, bytes);
    }

    /// Whether the program needs the library of a sanitizer.
    pub fn names_sanitizer(&self, file: &File) -> bool {
        let (offset, bytes) = self.place;
        let mut section = [0; SECTION_BYTES];
        let length = SECTION_BYTES.min(bytes as usize);
        let read = file.read_at(&mut section[..length], offset);
        let entries = section[..read].chunks_exact(ENTRY_BYTES);
        let values =
            |tag| entries.clone().filter(move |entry| word(entry, 0) == tag).map(|entry| word(entry, 8));
        let Some(names) = values(STRING_TABLE).find_map(|address| self.offset_of(address)) else {
            return false;
        };
        values(NEEDED).any(|at| {
            let mut name = [0; 16];
            let read = file.read_at(&mut name, names.wrapping_add(at));
            SANITIZERS.iter().any(|sanitizer| name[..read].starts_with(sanitizer))
        })
    }

    fn offset_of(&self, address: u64) -> Option<u64> {
        self.loaded.iter().find_map(|&(start, offset, bytes)| {
            let within = address.checked_sub(start).filter(|&within| within < bytes)?;
            Some(offset.wrapping_add(within))
        })
    }
}

/// `bytes[at..at + 8]` as a number; zeroes beyond the end.
pub fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(bytes.get(at..).unwrap_or_default()) {
        *to = *from;
    }
    u64::from_le_bytes(word)
}
