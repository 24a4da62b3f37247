//! Seeded randomness and exact probabilities for tests.

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): enough for simulations, and the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to below 1, all alike.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with probability `p`; never for 0, always for 1.
    pub(crate) fn chance(&mut self, p: f64) -> bool {
        ((self.next() >> 11) as f64) < p * (1_u64 << 53) as f64
    }
}

/// The probabilities of 0 to `n` hits in `n` draws, by convolution (no factorials to overflow).
pub(crate) fn binomial_probabilities(n: usize, p: f64) -> Vec<f64> {
    let mut probabilities = vec![1.0];
    for _ in 0..n {
        let mut next = vec![0.0; probabilities.len() + 1];
        for (k, q) in probabilities.iter().enumerate() {
            next[k] += q * (1.0 - p);
            next[k + 1] += q * p;
        }
        probabilities = next;
    }
    probabilities
}
