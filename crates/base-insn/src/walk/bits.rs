//! Shifts, rotations and bit counts. `count` is the masked count.

use super::alu::{Outcome, extend, sign_zero_parity, top, when, with};
use crate::registers::flag::{AF, CF, OF, PF, SF, STATUS, ZF};
use crate::registers::mask;

/// The bits of a shift count that are used.
pub(super) const fn masked_count(count: u64, bytes: u32) -> u32 {
    (count & if bytes == 8 { 63 } else { 31 }) as u32
}

pub(super) fn shl(value: u64, count: u32, bytes: u32) -> Outcome {
    let result = value.wrapping_shl(count) & mask(bytes);
    let bits = bytes * 8;
    let carry = count <= bits && value >> (bits - count.min(bits)) & 1 == 1;
    let overflow = top(result, bytes) != carry;
    shifted(result, carry, overflow, count, bytes)
}

pub(super) fn shr(value: u64, count: u32, bytes: u32) -> Outcome {
    let result = value >> count;
    let carry = value >> (count - 1) & 1 == 1;
    shifted(result, carry, top(value, bytes), count, bytes)
}

pub(super) fn sar(value: u64, count: u32, bytes: u32) -> Outcome {
    let wide = extend(value, bytes) as i64;
    let carry = wide >> (count - 1) & 1 == 1;
    let mut outcome = shifted((wide >> count) as u64 & mask(bytes), carry, false, count, bytes);
    // The sign fills in from above, so CF is defined for any count.
    outcome.defined |= CF;
    outcome
}

/// `high:low << count`, upper half.
pub(super) fn shld(high: u64, low: u64, count: u32, bytes: u32) -> Outcome {
    let bits = bytes * 8;
    let result = (high << count | low >> (bits - count)) & mask(bytes);
    let carry = high >> (bits - count) & 1 == 1;
    shifted(result, carry, top(high ^ result, bytes), count, bytes)
}

/// `high:low >> count`, lower half.
pub(super) fn shrd(low: u64, high: u64, count: u32, bytes: u32) -> Outcome {
    let bits = bytes * 8;
    let result = (low >> count | high << (bits - count)) & mask(bytes);
    let carry = low >> (count - 1) & 1 == 1;
    shifted(result, carry, top(low ^ result, bytes), count, bytes)
}

pub(super) fn rol(value: u64, count: u32, bytes: u32) -> Outcome {
    let result = rotate_left(value, count, bytes);
    let carry = result & 1 == 1;
    rotated(result, carry, top(result, bytes) != carry, count)
}

pub(super) fn ror(value: u64, count: u32, bytes: u32) -> Outcome {
    let bits = bytes * 8;
    let result = rotate_left(value, bits - count % bits, bytes);
    let carry = top(result, bytes);
    let second = result >> (bits - 2) & 1 == 1;
    rotated(result, carry, carry != second, count)
}

/// `tzcnt` and `lzcnt`: CF says that the source was zero.
pub(super) fn zeros(count: u32, source: u64) -> Outcome {
    let flags = when(source == 0, CF) | when(count == 0, ZF);
    with(u64::from(count), flags, CF | ZF)
}

/// `popcnt` clears everything but ZF.
pub(super) fn ones(source: u64) -> Outcome {
    with(u64::from(source.count_ones()), when(source == 0, ZF), STATUS)
}

pub(super) fn leading_zeros(value: u64, bytes: u32) -> u32 {
    value.leading_zeros() - (64 - bytes * 8)
}

pub(super) fn trailing_zeros(value: u64, bytes: u32) -> u32 {
    value.trailing_zeros().min(bytes * 8)
}

fn rotate_left(value: u64, count: u32, bytes: u32) -> u64 {
    let bits = bytes * 8;
    match count % bits {
        0 => value,
        count => (value << count | value >> (bits - count)) & mask(bytes),
    }
}

/// OF is defined for shifts by one, CF unless everything was shifted out.
fn shifted(result: u64, carry: bool, overflow: bool, count: u32, bytes: u32) -> Outcome {
    let flags = sign_zero_parity(result, bytes) | when(carry, CF) | when(overflow, OF);
    let carry_defined = when(count < bytes * 8, CF);
    with(result, flags, SF | ZF | PF | carry_defined | when(count == 1, OF) & !AF)
}

fn rotated(result: u64, carry: bool, overflow: bool, count: u32) -> Outcome {
    with(result, when(carry, CF) | when(overflow, OF), CF | when(count == 1, OF))
}
