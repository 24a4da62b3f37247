use crate::{Addr, Ip, LINE_BYTES};

/// What an instruction does to a memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum AccessKind {
    /// It reads.
    Load = 0,
    /// It writes.
    Store = 1,
    /// It reads and writes the same bytes: `add [m], r`, any locked instruction, any `cmpxchg`.
    ReadModifyWrite = 2,
}

impl AccessKind {
    /// True for stores and read-modify-writes. The detectors treat an atomic as a store (ComDetective 3.2).
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Load)
    }

    /// The accesses that it counts for where a clock counts them: a read-modify-write is a load and a store.
    pub const fn accesses(self) -> u64 {
        1 + matches!(self, Self::ReadModifyWrite) as u64
    }

    /// True for loads and read-modify-writes.
    pub const fn reads(self) -> bool {
        !matches!(self, Self::Store)
    }

    /// The inverse of `self as u8`.
    pub const fn from_u8(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Load),
            1 => Some(Self::Store),
            2 => Some(Self::ReadModifyWrite),
            _ => None,
        }
    }
}

/// One memory operand of one executed instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The instruction's address.
    pub ip: Ip,
    /// The effective address: the first byte touched.
    pub addr: Addr,
    /// The number of bytes touched, at least 1.
    pub width: u32,
    /// Load, store, or both.
    pub kind: AccessKind,
}

impl Access {
    /// One past the last byte touched.
    pub const fn end(self) -> Addr {
        Addr(self.addr.0.wrapping_add(self.width as u64))
    }

    /// True when the two accesses have at least one byte in common (true sharing: ComDetective 3.2).
    pub const fn overlaps(self, other: Self) -> bool {
        self.addr.0 < other.end().0 && other.addr.0 < self.end().0
    }

    /// True when the access touches bytes of two or more lines.
    pub const fn splits_line(self) -> bool {
        self.width as u64 > LINE_BYTES - self.addr.offset_in_line()
    }
}
