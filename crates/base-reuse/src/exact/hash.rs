//! Hashes by multiplication, which show no pattern for arithmetic progressions: most addresses that programs access
//! are in one.

/// From the fraction of the golden ratio.
pub(super) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The upper bits are a hash.
#[inline(always)]
pub(super) fn product(value: u64) -> u64 {
    value.wrapping_mul(GOLDEN)
}

/// All bits are a hash: both halves of a product, combined.
#[inline(always)]
pub(super) fn folded(value: u64, multiplier: u64) -> u64 {
    let product = u128::from(value ^ multiplier) * u128::from(multiplier);
    product as u64 ^ (product >> u64::BITS) as u64
}
