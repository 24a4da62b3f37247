/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014, fig. 17): expands
/// one random word of the caller to as many as a decision needs.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from 0 to `bound` - 1; 0 for a bound of 0. The bias of at most `bound` / 2^64 is far below what any
    /// sample can show.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(bound)) >> u64::BITS) as u32
    }

    /// A number from 0 to 1, 1 excluded: a multiple of 2^-53, which is what an `f64` can hold.
    pub fn unit(&mut self) -> f64 {
        const BITS: u32 = f64::MANTISSA_DIGITS;
        (self.next() >> (u64::BITS - BITS)) as f64 / (1u64 << BITS) as f64
    }
}
