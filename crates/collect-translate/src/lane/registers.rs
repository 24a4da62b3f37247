//! General-purpose registers.

/// A general-purpose register by its hardware number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpr(pub u8);

impl Gpr {
    pub const RAX: Self = Self(0);
    pub const RCX: Self = Self(1);
    pub const RDX: Self = Self(2);
    pub const RSI: Self = Self(6);
    pub const R11: Self = Self(11);

    /// The bits of its number that are in ModRM and SIB bytes.
    pub const fn low(self) -> u8 {
        self.0 & 7
    }

    /// The bit that is in a prefix.
    pub const fn high(self) -> u8 {
        self.0 >> 3
    }
}

/// Hardware numbers as indices into saved registers.
pub mod number {
    pub const RAX: usize = 0;
    pub const RCX: usize = 1;
    pub const RDX: usize = 2;
    pub const RBX: usize = 3;
    pub const RSP: usize = 4;
    pub const RBP: usize = 5;
    pub const RSI: usize = 6;
    pub const RDI: usize = 7;
    pub const R10: usize = 10;
    pub const R11: usize = 11;
}
