use crate::{Addr, Line};

/// The number of bits of the offset in the address of a shared byte; the segment follows.
const OFFSET_BITS: u32 = 40;

/// Bit 63 without bit 62: never an address of x86-64, where all bits from 47 or 56 on are equal.
const MARK: u64 = 0b10 << 62;
const MARK_BITS: u64 = 0b11 << 62;

/// A piece of memory that processes share, numbered from 0 in its recording: at most [`SegmentId::BYTES`] of a file,
/// or of memory that the kernel treats like one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(pub u32);

impl SegmentId {
    /// The size of a segment. Larger memory has several.
    pub const BYTES: u64 = 1 << OFFSET_BITS;

    /// Numbers are below this.
    pub const LIMIT: u32 = 1 << (62 - OFFSET_BITS);
}

impl Addr {
    /// The address of a byte of shared memory, which is the same in all processes, and no virtual address. `None` if
    /// the segment has no such byte.
    pub const fn shared(segment: SegmentId, offset: u64) -> Option<Self> {
        if segment.0 < SegmentId::LIMIT && offset < SegmentId::BYTES {
            Some(Self(MARK | (segment.0 as u64) << OFFSET_BITS | offset))
        } else {
            None
        }
    }

    /// The segment and the offset in it; `None` for a virtual address.
    pub const fn segment(self) -> Option<(SegmentId, u64)> {
        if self.0 & MARK_BITS == MARK {
            let segment = (self.0 & !MARK_BITS) >> OFFSET_BITS;
            Some((SegmentId(segment as u32), self.0 % SegmentId::BYTES))
        } else {
            None
        }
    }
}

impl Line {
    /// Whether the line is in memory that processes share, and so is the same in all of them.
    pub const fn is_shared(self) -> bool {
        self.start().segment().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segment_and_offset_are_found_again() {
        let last = (SegmentId(SegmentId::LIMIT - 1), SegmentId::BYTES - 1);
        for (segment, offset) in [(SegmentId(0), 0), (SegmentId(7), 0x1238), last] {
            let addr = Addr::shared(segment, offset).unwrap();
            assert_eq!(addr.segment(), Some((segment, offset)));
            assert!(addr.line().is_shared());
            assert_eq!(addr.offset_in_line(), offset % 64);
        }
        assert_eq!(Addr::shared(SegmentId(SegmentId::LIMIT), 0), None);
        assert_eq!(Addr::shared(SegmentId(0), SegmentId::BYTES), None);
    }

    #[test]
    fn no_virtual_address_is_one() {
        for addr in [0, 0x1000, (1 << 47) - 1, (1 << 56) - 1, 0xffff_ffff_ff60_0000, u64::MAX] {
            assert_eq!(Addr(addr).segment(), None);
        }
    }
}
