//! Integers of variable length: LEB128, seven bits per byte, the lowest first, the eighth set where more follow.
//! Signed differences are first mapped to small numbers (zigzag: 0, -1, 1, -2 are 0, 1, 2, 3).

use core::fmt;

/// Bits of the number in each byte.
const BITS: u32 = 7;

/// Set where more bytes follow.
const MORE: u8 = 1 << BITS;

/// The largest length of a number in bytes.
pub const MAX_VARINT_BYTES: usize = u64::BITS.div_ceil(BITS) as usize;

/// Why some bytes do not begin with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarintError {
    /// The bytes end before the number does.
    Incomplete,
    /// The number has more than 64 bits.
    TooLarge,
}

impl fmt::Display for VarintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Incomplete => "a number is cut short",
            Self::TooLarge => "a number has more than 64 bits",
        })
    }
}

impl core::error::Error for VarintError {}

/// Appends a number.
#[inline]
pub fn put_varint(out: &mut impl Extend<u8>, value: u64) {
    varint_bytes(value, |byte| out.extend([byte]));
}

/// Gives the bytes of a number to `put`, one after the other.
#[inline]
pub fn varint_bytes(mut value: u64, mut put: impl FnMut(u8)) {
    while value >= u64::from(MORE) {
        put(value as u8 | MORE);
        value >>= BITS;
    }
    put(value as u8);
}

/// Takes the number at the front of `rest`.
///
/// # Errors
/// `rest` does not begin with a number. What is left of it then is unspecified.
#[inline]
pub fn take_varint(rest: &mut &[u8]) -> Result<u64, VarintError> {
    match rest.split_first() {
        Some((&byte, behind)) if byte & MORE == 0 => {
            *rest = behind;
            Ok(byte.into())
        }
        _ => take_long(rest),
    }
}

/// A number of any length: most have one byte.
fn take_long(rest: &mut &[u8]) -> Result<u64, VarintError> {
    let mut value = 0;
    for shift in (0..u64::BITS).step_by(BITS as usize) {
        let (&byte, behind) = rest.split_first().ok_or(VarintError::Incomplete)?;
        *rest = behind;
        let bits = u64::from(byte & !MORE);
        if bits << shift >> shift != bits {
            return Err(VarintError::TooLarge);
        }
        value |= bits << shift;
        if byte & MORE == 0 {
            return Ok(value);
        }
    }
    Err(VarintError::TooLarge)
}

/// A number for `to - from`, modulo 2^64: small where they are near each other.
#[inline]
pub const fn difference(from: u64, to: u64) -> u64 {
    let value = to.wrapping_sub(from) as i64;
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`difference`]: the number with this difference from `from`.
#[inline]
pub const fn at_difference(from: u64, code: u64) -> u64 {
    from.wrapping_add(((code >> 1) as i64 ^ -((code & 1) as i64)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_varint_past_64_bits_is_refused() {
        // Nine full bytes are 63 bits; the tenth may add one bit, not two.
        let mut most = [0xff; MAX_VARINT_BYTES];
        most[9] = 1;
        assert_eq!(take_varint(&mut &most[..]), Ok(u64::MAX));
        most[9] = 2;
        assert_eq!(take_varint(&mut &most[..]), Err(VarintError::TooLarge));
        most[9] = 0x81;
        assert_eq!(take_varint(&mut &most[..]), Err(VarintError::TooLarge));
        assert_eq!(take_varint(&mut &most[..9]), Err(VarintError::Incomplete));
    }

    #[test]
    fn differences_are_the_smaller_the_nearer() {
        assert_eq!([7, 6, 8, 5].map(|to| difference(7, to)), [0, 1, 2, 3]);
        for (from, to) in [(0, u64::MAX), (u64::MAX, 0), (1 << 63, 0), (3, 1 << 63), (5, 5)] {
            assert_eq!(at_difference(from, difference(from, to)), to);
        }
    }
}
