/// Why a sample has no effective address.
///
/// Every sample that the engine takes is an access or has one of these reasons, and each is counted. Shares in a
/// report are of all samples, so none may disappear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Skip {
    /// The instruction touches no memory. Not a loss, but an answer.
    NotAnAccess = 0,
    /// No instruction boundary before the interrupted one is known (code without unwind tables).
    UnknownPredecessor = 1,
    /// The instruction before the interrupted one is a jump elsewhere, so another one ran last.
    NotFallThrough = 2,
    /// The instruction overwrote a register of its own address.
    AddressLost = 3,
    /// Gather, scatter and other forms with a vector of addresses.
    VectorAddress = 4,
    /// The bytes are not an instruction that the decoder knows.
    Undecodable = 5,
    /// The walk reached an instruction that must not be stepped over (`syscall`, `pushf`, `popf`, …).
    Unsteppable = 6,
    /// The burst was cut short: budget spent, signal in between, or thread ending.
    Interrupted = 7,
    /// A masked or conditional access that did not take place.
    Masked = 8,
    /// A segment base or processor state that a handler cannot see.
    HiddenState = 9,
}

impl Skip {
    /// Every reason, in the order of its code.
    pub const ALL: [Self; 10] = [
        Self::NotAnAccess,
        Self::UnknownPredecessor,
        Self::NotFallThrough,
        Self::AddressLost,
        Self::VectorAddress,
        Self::Undecodable,
        Self::Unsteppable,
        Self::Interrupted,
        Self::Masked,
        Self::HiddenState,
    ];

    /// The inverse of `self as u8`.
    pub fn from_u8(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// A few words for reports.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::NotAnAccess => "instruction touches no memory",
            Self::UnknownPredecessor => "instruction before the interrupt not known",
            Self::NotFallThrough => "reached by a jump from elsewhere",
            Self::AddressLost => "address registers overwritten",
            Self::VectorAddress => "gather or scatter",
            Self::Undecodable => "not decodable",
            Self::Unsteppable => "instruction that must not be stepped over",
            Self::Interrupted => "burst cut short",
            Self::Masked => "masked out",
            Self::HiddenState => "address depends on state a handler cannot see",
        }
    }
}
