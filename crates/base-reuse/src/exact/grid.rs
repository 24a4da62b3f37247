//! The division of addresses into places.

/// Names a place within one granularity. Never [`VACANT`].
pub(super) type Key = u64;

/// The key of no place: its number, or width, would be beyond any address space.
pub(super) const VACANT: Key = Key::MAX;

/// The widest place at granularity 1, in bytes.
const WIDEST: u32 = 64;

/// Bits for the width of a place in its key, at granularity 1.
const WIDTH_BITS: u32 = 7;

/// An upper bound of the bits of user addresses, even with five levels of page tables.
const ADDRESS_BITS: u32 = u64::BITS - WIDTH_BITS;

/// Bytes of a word, as a power of two.
const WORD_BITS: u32 = 3;

/// Neighbouring places that share a word of [`Presence`](super::presence::Presence), as a power of two.
const BLOCK_BITS: u32 = 3;

/// Bytes of the blocks at granularity 1, as a power of two. Not less than [`WIDEST`].
const BYTE_BLOCK_BITS: u32 = 6;

/// The places of one granularity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    /// Bytes of a place, as a power of two.
    shift: u32,
}

impl Grid {
    pub fn new(granularity: u32) -> Self {
        Self { shift: granularity.max(1).ilog2() }
    }

    /// Bytes of a place; 1 where places are ranges.
    pub fn granularity(self) -> u32 {
        1 << self.shift
    }

    fn by_range(self) -> bool {
        self.shift == 0
    }

    /// The place that these bytes touch; `None` where there may be several.
    #[inline(always)]
    pub fn only(self, addr: u64, width: u32) -> Option<Key> {
        if self.by_range() {
            return (width <= WIDEST).then(|| range_key(addr, width));
        }
        let last = addr.wrapping_add(width.into()).wrapping_sub(1);
        ((addr ^ last) >> self.shift == 0).then_some(addr >> self.shift)
    }

    /// Calls for each place that these bytes touch, the lowest first.
    pub fn each(self, addr: u64, width: u32, mut touched: impl FnMut(Key)) {
        if self.by_range() {
            for offset in (0..width.max(1)).step_by(WIDEST as usize) {
                touched(range_key(addr.wrapping_add(offset.into()), width.saturating_sub(offset)));
            }
        } else {
            let last = addr.saturating_add(u64::from(width).saturating_sub(1)) >> self.shift;
            (addr >> self.shift..=last).for_each(touched);
        }
    }

    /// The number of lowest bits in which the keys of neighbours agree. In keys of ranges these are the width, and
    /// most ranges are aligned words of the same width.
    pub fn neighbour_bits(self) -> u32 {
        if self.by_range() { WIDTH_BITS + WORD_BITS } else { 0 }
    }

    /// The first and the last block that contain a part of the place.
    pub fn blocks(self, key: Key) -> (u64, u64) {
        if self.by_range() {
            let (addr, width) = range(key);
            (addr >> BYTE_BLOCK_BITS, (addr + width - 1) >> BYTE_BLOCK_BITS)
        } else {
            (key >> BLOCK_BITS, key >> BLOCK_BITS)
        }
    }

    /// The unit whose hash decides whether a place is followed when places are sampled. Ranges that overlap are
    /// followed together, unless they begin in different lines.
    #[inline(always)]
    pub fn sampling_unit(self, key: Key) -> u64 {
        if self.by_range() { key >> (WIDTH_BITS + BYTE_BLOCK_BITS) } else { key }
    }

    /// The bit for the place's width in the set that [`overlapping`](Self::overlapping) takes.
    pub fn width_bit(self, key: Key) -> u64 {
        if self.by_range() { 1 << ((range(key).1 - 1) & u64::from(u64::BITS - 1)) } else { 1 }
    }

    /// The place's kind.
    pub fn kind(self, key: Key) -> Kinds {
        if !self.by_range() {
            return Kinds::default();
        }
        let (addr, width) = range(key);
        match width {
            _ if !width.is_power_of_two() => Kinds::ODD,
            _ if addr % width == 0 => Kinds::aligned(width),
            _ => Kinds::unaligned(width),
        }
    }

    /// Calls for each place that has a byte in common with this one, and has one of these kinds and `widths`.
    pub fn overlapping(self, key: Key, kinds: Kinds, widths: u64, mut found: impl FnMut(Key)) {
        if !self.by_range() {
            return found(key);
        }
        let (addr, width) = range(key);
        let mut each = |other: u64, step: u64| {
            let first = (addr + 1).saturating_sub(other).next_multiple_of(step);
            let starts = (first..addr + width).step_by(step as usize);
            starts.for_each(|start| found(range_key(start, other as u32)));
        };
        for power in (0..=WIDEST.ilog2()).map(|log| 1 << log) {
            if kinds.have(Kinds::unaligned(power)) {
                each(power, 1);
            } else if kinds.have(Kinds::aligned(power)) {
                each(power, power);
            }
        }
        if kinds.have(Kinds::ODD) {
            let odd = (1..=u64::from(WIDEST)).filter(|other| !other.is_power_of_two());
            odd.filter(|other| widths >> (other - 1) & 1 != 0).for_each(|other| each(other, 1));
        }
    }
}

/// Kinds of ranges, one bit each: for each power of two the aligned and the misaligned ranges, and all ranges of
/// other widths. Places that are not ranges have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kinds(pub u16);

impl Kinds {
    /// Powers of two up to [`WIDEST`].
    const POWERS: u32 = WIDEST.ilog2() + 1;
    const ODD: Self = Self(1 << (2 * Self::POWERS));

    const fn aligned(width: u64) -> Self {
        Self(1 << width.ilog2())
    }

    const fn unaligned(width: u64) -> Self {
        Self(1 << (Self::POWERS + width.ilog2()))
    }

    const fn have(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }
}

/// An access of no bytes counts as one of one byte.
fn range_key(addr: u64, width: u32) -> Key {
    (addr << WIDTH_BITS) | u64::from(width.clamp(1, WIDEST))
}

/// Address and width, the latter from 1 to [`WIDEST`].
fn range(key: Key) -> (u64, u64) {
    (key >> WIDTH_BITS & ((1 << ADDRESS_BITS) - 1), (key & ((1 << WIDTH_BITS) - 1)).clamp(1, WIDEST.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(grid: Grid, addr: u64, width: u32) -> Vec<Key> {
        let mut keys = Vec::new();
        grid.each(addr, width, |key| keys.push(key));
        assert!(grid.only(addr, width).is_none_or(|key| keys == [key]));
        keys
    }

    #[test]
    fn an_access_touches_every_place_that_it_spans() {
        let lines = Grid::new(64);
        assert_eq!(keys(lines, 60, 4), [0]);
        assert_eq!(keys(lines, 60, 5), [0, 1]);
        assert_eq!(keys(lines, 64, 200), [1, 2, 3, 4]);
        assert_eq!(keys(lines, 128, 0), [2]);
        assert_eq!(keys(lines, u64::MAX, 8), [u64::MAX >> 6]);
        assert_eq!(keys(Grid::new(1), 60, 5), [range_key(60, 5)]);
        // 150 bytes: 64, 64 and 22.
        assert_eq!(keys(Grid::new(1), 10, 150), [range_key(10, 64), range_key(74, 64), range_key(138, 22)]);
    }

    /// Ranges that overlap the bytes 8 and 9 are found if their kind is given.
    #[test]
    fn overlapping_ranges_are_found() {
        let grid = Grid::new(1);
        let found = |places: &[(u64, u32)]| {
            let keys: Vec<_> = places.iter().map(|&(addr, width)| range_key(addr, width)).collect();
            let kinds = keys.iter().fold(0, |all, key| all | grid.kind(*key).0);
            let widths = keys.iter().fold(0, |all, key| all | grid.width_bit(*key));
            let mut found = Vec::new();
            grid.overlapping(range_key(8, 2), Kinds(kinds), widths, |key| found.push(range(key)));
            found
        };
        // Aligned: of width 2 only itself, of width 4 that from 8 on, single bytes, and the line's.
        assert_eq!(found(&[(100, 2), (100, 4)]), [(8, 2), (8, 4)]);
        assert_eq!(found(&[(100, 1), (64, 64)]), [(8, 1), (9, 1), (0, 64)]);
        // Not aligned: of width 2 those that begin at 7, 8, 9, of width 4 those at 5 to 9.
        assert_eq!(found(&[(101, 2)]), [(7, 2), (8, 2), (9, 2)]);
        assert_eq!(found(&[(101, 4)]), [(5, 4), (6, 4), (7, 4), (8, 4), (9, 4)]);
        assert_eq!(found(&[(99, 3)]), [(6, 3), (7, 3), (8, 3), (9, 3)]);
        assert_eq!(found(&[]), []);
        assert_eq!(grid.width_bit(range_key(8, 2)), 0b10);
        assert_eq!(grid.width_bit(range_key(8, 64)), 1 << 63);
    }

    #[test]
    fn a_range_lies_in_the_blocks_of_its_first_and_last_byte() {
        assert_eq!(Grid::new(1).blocks(range_key(60, 4)), (0, 0));
        assert_eq!(Grid::new(1).blocks(range_key(60, 5)), (0, 1));
        assert_eq!(Grid::new(64).blocks(17), (2, 2));
    }
}
