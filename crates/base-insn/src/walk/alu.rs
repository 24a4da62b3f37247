//! Arithmetic with its flags, for operands of 1, 2, 4 or 8 bytes (Intel SDM volume 1, appendix A).

use crate::registers::flag::{AF, CF, OF, PF, SF, STATUS, ZF};
use crate::registers::mask;

/// A result, and the status flags that go with it.
#[derive(Clone, Copy)]
pub(super) struct Outcome {
    pub value: u64,
    pub flags: u64,
    /// Flags that the architecture defines for this operation; the others may be anything.
    pub defined: u64,
}

/// `a + b + carry`.
pub(super) fn add(a: u64, b: u64, carry: u64, bytes: u32) -> Outcome {
    let sum = a.wrapping_add(b).wrapping_add(carry);
    let carries = a & b | (a | b) & !sum;
    let overflows = (a ^ sum) & (b ^ sum);
    arithmetic(sum, carries, overflows, a ^ b ^ sum, bytes)
}

/// `a - b - borrow`.
pub(super) fn sub(a: u64, b: u64, borrow: u64, bytes: u32) -> Outcome {
    let difference = a.wrapping_sub(b).wrapping_sub(borrow);
    let borrows = !a & b | (!a | b) & difference;
    let overflows = (a ^ b) & (a ^ difference);
    arithmetic(difference, borrows, overflows, a ^ b ^ difference, bytes)
}

/// The outcome of `and`, `or`, `xor` and `test`.
pub(super) fn logic(value: u64, bytes: u32) -> Outcome {
    let value = value & mask(bytes);
    Outcome { value, flags: sign_zero_parity(value, bytes), defined: STATUS & !AF }
}

/// A result of which only CF and OF are defined, and equal: multiplications.
pub(super) fn product(value: u64, overflow: bool, bytes: u32) -> Outcome {
    let flags = if overflow { CF | OF } else { 0 };
    Outcome { value: value & mask(bytes), flags, defined: CF | OF }
}

/// A result with these flags, all others undefined.
pub(super) fn with(value: u64, flags: u64, defined: u64) -> Outcome {
    Outcome { value, flags, defined }
}

/// `condition` as this flag.
pub(super) const fn when(condition: bool, flag: u64) -> u64 {
    if condition { flag } else { 0 }
}

/// SF, ZF and PF of a value.
pub(super) fn sign_zero_parity(value: u64, bytes: u32) -> u64 {
    let value = value & mask(bytes);
    when(top(value, bytes), SF)
        | when(value == 0, ZF)
        | when((value as u8).count_ones().is_multiple_of(2), PF)
}

/// The most significant bit.
pub(super) const fn top(value: u64, bytes: u32) -> bool {
    value >> (bytes * 8 - 1) & 1 == 1
}

/// Sign-extends to 64 bits.
pub(super) const fn extend(value: u64, bytes: u32) -> u64 {
    let unused = 64 - bytes * 8;
    ((value << unused) as i64 >> unused) as u64
}

fn arithmetic(result: u64, carries: u64, overflows: u64, half_carries: u64, bytes: u32) -> Outcome {
    let flags = sign_zero_parity(result, bytes)
        | when(top(carries, bytes), CF)
        | when(top(overflows, bytes), OF)
        | half_carries & AF;
    Outcome { value: result & mask(bytes), flags, defined: STATUS }
}
