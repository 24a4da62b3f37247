//! What is known about accesses before they happen.

use std::sync::{
    OnceLock,
    atomic::{AtomicU32, Ordering::*},
};

use carom_base::{Access, AccessKind, Addr, Ip};
use carom_base_insn::Lanes;
use rustc_hash::FxHashMap;

use crate::{
    analyse::relative::Relative,
    lane::records::Token,
    memory::{MemoryError, Reservation},
};

/// An access of a block, without its address. The templates of a block are adjacent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Template {
    ip: u64,
    width: u32,
    /// [`AccessKind`] as a number.
    kind: u8,
    /// How many lanes there are, active or not, and whether they are `PACKED`; 0 for a single access.
    lanes: u8,
    /// How many templates its block has from this one on; 0 in one that is not stored yet.
    left: u16,
    /// Its address is the one in this word behind the block's token, and so much more.
    word: u16,
    /// The number of words behind the block's token; 0 in one that is not stored yet.
    words: u16,
    offset: i32,
}

impl Template {
    const PACKED: u8 = 1 << 7;

    /// The only access of its block, of the instruction at `ip`.
    pub const fn new(ip: u64, width: u32, kind: AccessKind) -> Self {
        Self { ip, width, kind: kind as u8, lanes: 0, left: 0, word: 0, words: 0, offset: 0 }
    }

    /// Among others in its block.
    pub const fn relative(self, Relative { of, offset }: Relative) -> Self {
        Self { word: of, offset, ..self }
    }

    /// The accesses of an instruction with one for each active lane: after the first one's address, a word has a bit
    /// for each lane. The instruction is a block by itself.
    pub fn lanes(ip: u64, lanes: &Lanes) -> Self {
        let packed = if lanes.is_packed() { Self::PACKED } else { 0 };
        let count = lanes.count as u8 & !Self::PACKED;
        Self { lanes: packed | count, ..Self::new(ip, lanes.lane_bytes, lanes.kind) }
    }

    /// The number of lanes; 0 for a single access.
    #[inline]
    const fn lane_count(self) -> u32 {
        (self.lanes & !Self::PACKED) as u32
    }

    /// Whether a mask follows its address.
    #[inline]
    pub const fn has_mask(self) -> bool {
        self.lane_count() != 0
    }

    /// Calls `each` for the access of every active lane, the lowest one first.
    pub fn each_lane(self, address: u64, mask: u64, mut each: impl FnMut(&Access)) {
        let active = (0..self.lane_count().min(u64::BITS)).filter(|lane| mask >> lane & 1 == 1);
        for (nth, lane) in (0..).zip(active) {
            let place = if self.lanes & Self::PACKED != 0 { nth } else { lane };
            each(&self.at(address.wrapping_add(u64::from(place * self.width))));
        }
    }

    /// The number of words up to its last one, behind the block's token.
    const fn end(self) -> u16 {
        self.word + 1 + self.has_mask() as u16
    }

    /// The number of all words behind its block's token.
    #[inline]
    pub const fn words(self) -> usize {
        self.words as usize
    }

    /// The number of the word behind the token that its address follows from.
    #[inline]
    pub const fn of(self) -> usize {
        self.word as usize
    }

    /// The access, by the words behind the block's token. `None` where they are too few.
    #[inline]
    pub fn among(self, words: &[u64]) -> Option<Access> {
        words.get(usize::from(self.word)).map(|&word| self.at(word))
    }

    /// The access, by the address that it is told from.
    #[inline]
    pub const fn at(self, address: u64) -> Access {
        let address = address.wrapping_add_signed(self.offset as i64);
        let kind = match self.kind {
            0 => AccessKind::Load,
            1 => AccessKind::Store,
            _ => AccessKind::ReadModifyWrite,
        };
        Access { ip: Ip(self.ip), addr: Addr(address), width: self.width, kind }
    }

    /// How many templates its block has from this one on.
    #[inline]
    pub const fn left(self) -> usize {
        self.left as usize
    }
}

/// The largest number of templates: 96 MiB. A program of the size of a compiler has some hundred thousand.
const MOST: u32 = 4 << 20;

const TEMPLATE_BYTES: u64 = size_of::<Template>() as u64;

/// The number of templates that get memory at a time.
const STEP: u32 = 64 << 10;

/// Where the templates lie, and how many there are: read without a lock by anything that has a token.
///
/// ATOMICS: the number is stored with release when the templates are written, and loaded with acquire before they are
/// read. They never change or move.
static MEMORY: OnceLock<Reservation> = OnceLock::new();
static LENGTH: AtomicU32 = AtomicU32::new(0);

/// The address of the template with this number.
#[inline]
fn place(number: u32) -> Option<*mut Template> {
    let address = MEMORY.get()?.range().start + u64::from(number) * TEMPLATE_BYTES;
    Some(std::ptr::with_exposed_provenance_mut(address as usize))
}

/// The templates of the process, made under the engine's lock.
#[derive(Debug, Default)]
pub struct Templates {
    /// The number of templates with memory.
    opened: u32,
    /// The last block that begins with an access of this instruction: when it is translated anew, it is mostly the
    /// same.
    known: FxHashMap<u64, u32>,
}

impl Templates {
    /// Stores a block's templates, at least one, and returns their number. `None` where there is no room.
    pub fn add(&mut self, block: &[Template]) -> Option<u32> {
        let begin = block.first()?.ip;
        if let Some(&known) = self.known.get(&begin)
            && is_same(known, block)
        {
            return Some(known);
        }
        let first = LENGTH.load(Relaxed);
        let length = u16::try_from(block.len()).ok()?;
        let end = first.checked_add(length.into())?;
        if end > MOST || end > Token::NOTE {
            return None;
        }
        while self.opened < end {
            self.grow().ok()?;
        }
        let words = block.iter().map(|template| template.end()).max()?;
        for (nth, template) in (0..length).zip(block) {
            let place = place(first + u32::from(nth))?;
            // SAFETY: open, and nobody's yet.
            unsafe { place.write(Template { left: length - nth, words, ..*template }) };
        }
        LENGTH.store(end, Release);
        self.known.insert(begin, first);
        Some(first)
    }

    fn grow(&mut self) -> Result<(), MemoryError> {
        let memory = match MEMORY.get() {
            Some(memory) => memory,
            None => {
                let memory = Reservation::anywhere("accesses of blocks", u64::from(MOST) * TEMPLATE_BYTES)?;
                MEMORY.get_or_init(|| memory)
            }
        };
        let part = u64::from(self.opened) * TEMPLATE_BYTES..u64::from(self.opened + STEP) * TEMPLATE_BYTES;
        memory.open(part)?;
        self.opened += STEP;
        Ok(())
    }
}

/// Whether these are the templates from `first` on.
fn is_same(first: u32, block: &[Template]) -> bool {
    let kept = from(first);
    let same =
        |(kept, template): (&Template, &Template)| Template { left: 0, words: 0, ..*kept } == *template;
    kept.first().is_some_and(|kept| kept.left() == block.len()) && kept.iter().zip(block).all(same)
}

/// The templates from `first` on: the block's, and others after them. Empty for a number that no block has.
#[inline]
pub fn from(first: u32) -> &'static [Template] {
    all().get(first as usize..).unwrap_or_default()
}

/// All templates that there are.
#[inline]
pub fn all() -> &'static [Template] {
    let length = LENGTH.load(Acquire);
    let Some(first) = place(0) else { return &[] };
    // SAFETY: written before the length was, and never changed.
    unsafe { std::slice::from_raw_parts(first, length as usize) }
}

/// What lies in front of an instruction of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before {
    pub accesses: u32,
    /// Words behind the token that they are told by.
    pub words: usize,
    /// These are all words of the block.
    pub all_words: usize,
    /// These are all accesses of the block.
    pub is_all: bool,
}

/// What lies in front of the instruction at `pc` in the block with this first template.
pub fn before(first: u32, pc: u64) -> Before {
    let block = block(first);
    let before = block.partition_point(|template| template.ip < pc);
    Before {
        accesses: before as u32,
        words: words(block.get(..before).unwrap_or_default()),
        all_words: words(block),
        is_all: before == block.len(),
    }
}

/// The templates of the block with this first one.
#[inline]
pub fn block(first: u32) -> &'static [Template] {
    let known = from(first);
    known.first().and_then(|first| known.get(..first.left())).unwrap_or_default()
}

/// The number of words behind the token by which these first templates of a block are told.
pub fn words(templates: &[Template]) -> usize {
    templates.iter().map(|template| usize::from(template.end())).max().unwrap_or(0)
}

#[cfg(test)]
pub mod tests {
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::*;

    /// The process has only one table: tests that add to it take turns.
    pub fn turn() -> MutexGuard<'static, ()> {
        static TURN: Mutex<()> = Mutex::new(());
        TURN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block that is translated again keeps its number; one that ends elsewhere gets another.
    #[test]
    fn blocks_are_kept_once() {
        let _turn = turn();
        let mut templates = Templates::default();
        let [load, store] = [AccessKind::Load, AccessKind::Store].map(|kind| Template::new(0x77, 8, kind));
        let both = templates.add(&[load, store]).unwrap();
        assert_eq!(templates.add(&[load, store]), Some(both));
        assert_eq!(before(both, 0x77), Before { accesses: 0, words: 0, all_words: 1, is_all: false },);
        let one = templates.add(&[load]).unwrap();
        assert_ne!(one, both);
        assert_eq!((before(one, 0x78).accesses, templates.add(&[load])), (1, Some(one)));
        assert_ne!(templates.add(&[load, store]), Some(one));
        assert_eq!(templates.add(&[]), None);
    }
}
