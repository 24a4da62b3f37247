use carom_base::{Access, AccessKind, Addr};

/// What counts belong to: the caller numbers its instructions, source lines or fields from 0, without large gaps.
///
/// To have counts by thread as well, number the pairs of thread and instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference(pub u32);

/// One access, in 16 bytes: two words, which compilers keep in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    addr: u64,
    /// The reference, the kind above its [`KIND_SHIFT`] bits, and the width in bytes above [`WIDTH_SHIFT`] bits.
    what: u64,
}

const KIND_SHIFT: u32 = u32::BITS;
const WIDTH_SHIFT: u32 = KIND_SHIFT + 2;

impl Input {
    /// An access to `width` bytes from `addr`. A width of 0 counts as 1; no instruction reaches the largest one,
    /// 1 GiB.
    pub const fn new(addr: Addr, width: u32, kind: AccessKind, reference: Reference) -> Self {
        let most = (u64::MAX >> WIDTH_SHIFT) as u32;
        let width = if width > most { most } else { width };
        let width = if width == 0 { 1 } else { width };
        let what = (width as u64) << WIDTH_SHIFT | (kind as u64) << KIND_SHIFT | reference.0 as u64;
        Self { addr: addr.0, what }
    }

    /// An access of a stream; the reference stands for its instruction.
    pub const fn of(access: Access, reference: Reference) -> Self {
        Self::new(access.addr, access.width, access.kind, reference)
    }

    /// The same access to another place.
    #[must_use]
    #[inline]
    pub const fn at(self, addr: Addr) -> Self {
        Self { addr: addr.0, ..self }
    }

    /// The same to as many bytes.
    #[must_use]
    pub const fn of_width(self, width: u32) -> Self {
        let Self { what, .. } = Self::new(Addr(0), width, AccessKind::Load, self.reference());
        Self { what: what | (self.kind_code() as u64) << KIND_SHIFT, ..self }
    }

    /// The bytes that are touched.
    pub const fn width(self) -> u32 {
        (self.what >> WIDTH_SHIFT) as u32
    }

    /// The same place, only read.
    #[must_use]
    pub const fn as_load(self) -> Self {
        Self::new(Addr(self.addr), self.width(), AccessKind::Load, self.reference())
    }

    /// The first byte touched.
    pub const fn addr(self) -> u64 {
        self.addr
    }

    /// The last byte touched. An access that would go around the end of the address space ends there.
    pub const fn last(self) -> u64 {
        self.addr.saturating_add(self.width() as u64 - 1)
    }

    /// What the counts belong to.
    pub const fn reference(self) -> Reference {
        Reference(self.what as u32)
    }

    /// `AccessKind as u8`, as an index.
    pub(crate) const fn kind_code(self) -> usize {
        (self.what >> KIND_SHIFT) as usize & ((1 << (WIDTH_SHIFT - KIND_SHIFT)) - 1)
    }

    /// Whether it stores.
    pub(crate) const fn writes(self) -> bool {
        self.kind_code() != AccessKind::Load as usize
    }

    /// Whether it loads.
    pub(crate) const fn reads(self) -> bool {
        self.kind_code() != AccessKind::Store as usize
    }
}

/// How addresses are cut into lines, and lines into the bytes or words that masks tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grain {
    pub line_shift: u32,
    /// Of a mask's bit: 0 for bytes, 2 for words of 4 bytes.
    pub mask_shift: u32,
}

impl Grain {
    /// Lines of 64 bytes, each of which has a bit.
    pub const USUAL: Self = Self { line_shift: 6, mask_shift: 0 };

    /// The parts of a line that an access touches from byte `first` to byte `last`, both in that line.
    #[inline]
    pub fn mask(self, first: u64, last: u64) -> u64 {
        let offset = (1 << self.line_shift) - 1;
        let (first, last) = ((first & offset) >> self.mask_shift, (last & offset) >> self.mask_shift);
        u64::MAX >> (63 - (last - first)) << first
    }

    #[inline]
    pub fn line(self, addr: u64) -> u64 {
        addr >> self.line_shift
    }

    /// The lines that an access touches, lowest first, each with its mask.
    pub fn pieces(self, input: Input) -> impl Iterator<Item = (u64, u64)> {
        let (first, last) = (input.addr(), input.last());
        (self.line(first)..=self.line(last)).map(move |line| {
            let begin = line << self.line_shift;
            let end = begin + ((1 << self.line_shift) - 1);
            (line, self.mask(first.max(begin), last.min(end)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: Grain = Grain { line_shift: 6, mask_shift: 0 };
    const WORDS: Grain = Grain { line_shift: 6, mask_shift: 2 };

    #[test]
    fn a_mask_has_a_bit_for_each_part_touched() {
        assert_eq!(BYTES.mask(64 + 3, 64 + 5), 0b11_1000);
        assert_eq!(BYTES.mask(0, 63), u64::MAX);
        assert_eq!(BYTES.mask(63, 63), 1 << 63);
        // Bytes 3 to 4 are in words 0 and 1.
        assert_eq!(WORDS.mask(3, 4), 0b11);
        assert_eq!(WORDS.mask(60, 63), 1 << 15);
    }

    #[test]
    fn an_access_is_cut_at_lines() {
        // 2 bytes of line 0, all of line 1, 6 of line 2.
        let input = Input::new(Addr(62), 72, AccessKind::Store, Reference(7));
        let pieces: Vec<_> = BYTES.pieces(input).collect();
        assert_eq!(pieces, [(0, 0b11 << 62), (1, u64::MAX), (2, 0b11_1111)]);
        assert_eq!((input.reference(), input.writes(), input.reads()), (Reference(7), true, false));
    }

    #[test]
    fn the_ends_of_the_address_space_are_accesses_too() {
        let input = Input::new(Addr(u64::MAX - 1), 8, AccessKind::Load, Reference(0));
        assert_eq!(BYTES.pieces(input).collect::<Vec<_>>(), [(u64::MAX >> 6, 0b11 << 62)]);
        assert_eq!(Input::new(Addr(0), 0, AccessKind::Load, Reference(0)).last(), 0);
    }
}
