//! The fixed addresses of everything, so that a sequence has the same bytes and sees the same addresses in every
//! process.
//!
//! ```text
//!   guard | data | stack | guard | context | constants | ... | code (a file, readable and executable)
//! ```

use std::mem::offset_of;

pub const BASE: u64 = 0x1a00_0000_0000;
/// What memory operands point into.
pub const DATA: u64 = BASE + 0x1000;
pub const DATA_BYTES: u64 = 0x1000;
pub const STACK: u64 = DATA + DATA_BYTES;
pub const STACK_BYTES: u64 = 0x2000;
/// Where the stack pointer begins: pushes go down, unmatched pops up.
pub const STACK_START: u64 = STACK + STACK_BYTES / 2;
/// What is compared after each run.
pub const AREA_BYTES: u64 = DATA_BYTES + STACK_BYTES;
pub const CONTEXT: u64 = STACK + STACK_BYTES + 0x1000;
pub const CONSTANTS: u64 = CONTEXT + 0x1000;
pub const CODE: u64 = BASE + 0x1_0000;

/// The smallest distance of operands from the data's ends: more than displacements, elements and repetitions reach.
pub const MARGIN: u64 = 0x300;

/// The general-purpose registers, the flags and the words for control flow, before and after a run.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Context {
    pub before: [u64; 16],
    pub flags_before: u64,
    pub after: [u64; 16],
    pub flags_after: u64,
    /// Where the sequence returns to.
    pub back: u64,
    /// How many jumps back are left, of those that count with a subtraction; below 0 after another attempt.
    pub fuel: i64,
    /// The same for those that count without touching the flags; never below 0.
    pub flagless_fuel: i64,
}

/// Offsets into the constants: offsets of 32 and of 64 bits for gathers and scatters, values for control registers.
pub const OFFSETS_32: u64 = 0;
pub const OFFSETS_64: u64 = 0x40;
pub const MXCSRS: u64 = 0x80;
pub const X87_CONTROLS: u64 = 0xa0;

/// Rounding, flush to zero and denormals vary; all exceptions stay masked (Intel SDM volume 1, 10.2.3 and 8.1.5).
pub const MXCSR_VALUES: [u32; 8] = [0x1f80, 0x3f80, 0x5f80, 0x7f80, 0x9f80, 0x1fc0, 0x9fc0, 0xffc0];
pub const X87_CONTROL_VALUES: [u16; 8] = [0x37f, 0x77f, 0xb7f, 0xf7f, 0x27f, 0x07f, 0xe7f, 0xc7f];

pub const FUEL: u64 = CONTEXT + offset_of!(Context, fuel) as u64;
pub const FLAGLESS_FUEL: u64 = CONTEXT + offset_of!(Context, flagless_fuel) as u64;
