/// Bytes in a cache line on every x86-64 processor.
pub const LINE_BYTES: u64 = 64;

/// The size of the largest place for which reuse is measured: a huge page of x86-64.
pub const LARGEST_PLACE_BYTES: u32 = 2 << 20;

/// A virtual data address in the process that made the access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Addr(pub u64);

impl Addr {
    /// The cache line that holds this byte.
    pub const fn line(self) -> Line {
        Line(self.0 / LINE_BYTES)
    }

    /// Position of this byte in its line, 0 to 63.
    pub const fn offset_in_line(self) -> u64 {
        self.0 % LINE_BYTES
    }
}

/// A cache line: its address divided by [`LINE_BYTES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line(pub u64);

impl Line {
    /// The first byte of the line.
    pub const fn start(self) -> Addr {
        Addr(self.0.wrapping_mul(LINE_BYTES))
    }
}

/// An instruction pointer: the address of the first byte of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ip(pub u64);
