/// Bins of distances: exact below 32, then 32 for every doubling, so a bin is never wider than 1/32 of its lower
/// bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogBin(pub u16);

/// The bits of a distance that are kept after its leading one.
const KEPT_BITS: u32 = 5;

const PER_OCTAVE: u64 = 1 << KEPT_BITS;

impl LogBin {
    /// The number of bins: every `u64` has one.
    pub const COUNT: usize = ((u64::BITS - KEPT_BITS + 1) as usize) << KEPT_BITS;

    /// The bin of a distance.
    #[inline]
    pub const fn of(distance: u64) -> Self {
        // Without a branch, which would be unpredictable: up to 63 nothing is shifted out.
        let shift = (distance | PER_OCTAVE).ilog2() - KEPT_BITS;
        Self((((shift as u64) << KEPT_BITS) + (distance >> shift)) as u16)
    }

    /// The smallest distance in it.
    pub const fn low(self) -> u64 {
        let index = self.0 as u64;
        if index < 2 * PER_OCTAVE {
            return index;
        }
        let shift = (index >> KEPT_BITS) - 1;
        (PER_OCTAVE | (index & (PER_OCTAVE - 1))).wrapping_shl(shift as u32)
    }

    /// The largest distance in it.
    pub const fn high(self) -> u64 {
        if self.0 as usize + 1 >= Self::COUNT { u64::MAX } else { Self(self.0 + 1).low() - 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_distance_lies_in_its_bin_and_bins_follow_each_other() {
        for distance in (0..4096).chain((0..64).flat_map(|bit| {
            let power = 1u64 << bit;
            [power - 1, power, power + power / 3, power + (power - 1)]
        })) {
            let bin = LogBin::of(distance);
            assert!(bin.low() <= distance && distance <= bin.high(), "{distance}: {bin:?}");
            assert!(bin.high() - bin.low() <= bin.low() / 32, "{distance}: {bin:?}");
        }
        assert_eq!(LogBin::of(u64::MAX).0 as usize + 1, LogBin::COUNT);
        for index in 1..LogBin::COUNT as u16 {
            assert_eq!(LogBin(index).low(), LogBin(index - 1).high() + 1);
        }
    }

    /// 1000 = 0b1111101000: shift 4, 62.5 -> bin 4 * 32 + 62.
    #[test]
    fn a_bin_by_hand() {
        assert_eq!(LogBin::of(1000), LogBin(4 * 32 + 62));
        assert_eq!((LogBin(190).low(), LogBin(190).high()), (992, 1007));
    }
}
