//! The unwinder's working memory: as much as x86-64 needs, allocated beforehand.

use framehop::{AllocationPolicy, FrameAddress, x86_64};
use gimli::{
    EvaluationStorage, Reader, ReaderOffset, RegisterRule, UnwindContextStorage, UnwindTableRow, Value,
};

/// framehop's allocation-free mode in less memory: its own has room for the registers of every architecture, 25 KiB
/// for each thread, and moves rows of 6 KiB over the handler's stack.
pub struct Fixed;

/// Registers that a function tells about at most. A signal frame restores 17 (the general-purpose ones and the
/// return address), a function of Microsoft's convention up to 8 of these and XMM6 to XMM15.
const REGISTERS: usize = 32;
/// Rows that are kept at a time: the present one, a common information entry's, and `DW_CFA_remember_state` twice.
const ROWS: usize = 4;
/// As framehop's: depth of the stack of a DWARF expression, and of expressions that call others.
const VALUES: usize = 64;
const EXPRESSIONS: usize = 4;

/// Storage inside the structures themselves.
pub struct InPlace;

impl<O: ReaderOffset> UnwindContextStorage<O> for InPlace {
    type Rules = [(gimli::Register, RegisterRule<O>); REGISTERS];
    type Stack = [UnwindTableRow<O, Self>; ROWS];
}

impl<R: Reader> EvaluationStorage<R> for InPlace {
    type Stack = [Value; VALUES];
    type ExpressionStack = [(R, R); EXPRESSIONS];
    type Result = [gimli::Piece<R>; 1];
}

impl AllocationPolicy for Fixed {
    type GimliUnwindContextStorage<O: ReaderOffset> = InPlace;
    type GimliEvaluationStorage<R: Reader> = InPlace;
}

/// The unwinder over sections in memory.
pub type Unwinder = x86_64::UnwinderX86_64<&'static [u8], Fixed>;

/// An unwinding cache: the rules of up to 509 addresses.
pub type Cache = x86_64::CacheX86_64<Fixed>;

/// A thread's unwinding caches. Samples come from thousands of addresses, and to look a rule up takes ten times as long as
/// all the rest of a frame. Each cache takes 13 KiB.
pub struct Caches([Cache; CACHES]);

/// A power of two.
const CACHES: usize = 8;

impl Caches {
    /// Allocates them. Not for handlers.
    pub fn new() -> Self {
        Self(std::array::from_fn(|_| Cache::new_in()))
    }

    /// The cache for the frame at `address`.
    pub fn of(&mut self, address: FrameAddress) -> &mut Cache {
        // Fibonacci hashing (Knuth, The Art of Computer Programming, section 6.4): within a cache it is the remainder that
        // decides.
        let hash = address.address_for_lookup().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let index = (hash >> (u64::BITS - CACHES.ilog2())) as usize;
        let Self(caches) = self;
        &mut caches[index % CACHES]
    }
}
