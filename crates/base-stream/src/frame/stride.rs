use carom_base::Addr;

/// The addresses that are told at a site: what the next one is expected to be. The same for encoder and decoder.
///
/// It has a stride for executions that follow one of the same block, as within a loop of one block, and a stride for all others, as where
/// that loop begins again: so steps to the next row are expected, too.
#[derive(Clone, Copy, Debug)]
pub struct Stride {
    last: u64,
    /// Where another block was executed before, and where the same was.
    ways: [Way; 2],
}

#[derive(Clone, Copy, Debug)]
struct Way {
    /// From one address to the next, as expected.
    expected: u64,
    /// The difference that was seen last.
    before: u64,
}

impl Stride {
    /// Of a site whose first access is about to come.
    pub const fn new(first: Addr) -> Self {
        Self { last: first.0, ways: [Way { expected: 0, before: 0 }; 2] }
    }

    /// The next access is to this address: its difference from the last one, if it was not expected. `repeats`: the same block was
    /// executed before.
    #[inline]
    pub const fn miss(&mut self, repeats: bool, addr: u64) -> Option<u64> {
        let difference = addr.wrapping_sub(self.last);
        self.last = addr;
        let is_expected = difference == self.ways[repeats as usize].expected;
        self.learn(repeats, difference);
        if is_expected { None } else { Some(difference) }
    }

    /// The next address is as expected.
    #[inline]
    pub const fn hit(&mut self, repeats: bool) {
        self.at(repeats, self.ways[repeats as usize].expected);
    }

    /// The next address is so far from the last one.
    #[inline]
    pub const fn at(&mut self, repeats: bool, difference: u64) {
        self.last = self.last.wrapping_add(difference);
        self.learn(repeats, difference);
    }

    /// The same block was executed before, so often in a row, and each time the address was this much further on, as expected.
    #[inline]
    pub const fn hit_often(&mut self, times: u64, stride: u64) {
        debug_assert!(self.ways[1].expected == stride && self.ways[1].before == stride);
        self.last = self.last.wrapping_add(times.wrapping_mul(stride));
    }

    /// The last address.
    #[inline]
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// A difference that comes twice in a row is the stride: so one that comes once is not.
    #[inline]
    const fn learn(&mut self, repeats: bool, difference: u64) {
        let Way { expected, before } = self.ways[repeats as usize];
        // Without a branch, which nothing would predict.
        let expected = if difference == before { difference } else { expected };
        self.ways[repeats as usize] = Way { expected, before: difference };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of five elements, 100 apart, in a loop of one block: once both strides are known, nothing is missed.
    #[test]
    fn elements_and_rows_have_their_strides() {
        let all = || (0..25).map(|n| (n % 5 != 0, 1000 + n / 5 * 100 + n % 5 * 8));
        let mut stride = Stride::new(Addr(1000));
        let misses: Vec<Option<u64>> = all().map(|(repeats, addr)| stride.miss(repeats, addr)).collect();
        let first = [None, Some(8), Some(8), None, None];
        let [row, known] = [[Some(68), None, None, None, None], [None; 5]];
        assert_eq!(misses, [first, row, row, known, known].concat());
        let mut stride = Stride::new(Addr(1000));
        for ((repeats, addr), miss) in all().zip(misses) {
            match miss {
                Some(difference) => stride.at(repeats, difference),
                None => stride.hit(repeats),
            }
            assert_eq!(stride.last(), addr);
        }
    }
}
