use carom_base::Addr;

/// The addresses of a site: what the next one is expected to be. The same for encoder and decoder.
///
/// It has a stride for executions that follow one of the same block, as within a loop of one block, and a stride for all others, as where
/// that loop begins again: so steps to the next row are expected, too.
#[derive(Clone, Copy, Debug)]
pub struct Stride {
    last: u64,
    /// From one address to the next, as expected: where another block was executed before, and where the same was.
    strides: [u64; 2],
    /// The differences that were seen last.
    before: [u64; 2],
}

impl Stride {
    /// Of a site whose first access is about to come.
    pub const fn new(first: Addr) -> Self {
        Self { last: first.0, strides: [0; 2], before: [0; 2] }
    }

    /// The next access is to this address: its difference from the last one, if it was not expected. `repeats`: the same block was
    /// executed before.
    #[inline]
    pub const fn miss(&mut self, repeats: bool, addr: u64) -> Option<u64> {
        let difference = addr.wrapping_sub(self.last);
        self.last = addr;
        let is_expected = difference == self.strides[repeats as usize];
        self.learn(repeats, difference);
        if is_expected { None } else { Some(difference) }
    }

    /// The next address, which is as expected.
    #[inline]
    pub const fn hit(&mut self, repeats: bool) -> Addr {
        self.at(repeats, self.strides[repeats as usize])
    }

    /// The next address, which is so far from the last one.
    #[inline]
    pub const fn at(&mut self, repeats: bool, difference: u64) -> Addr {
        self.last = self.last.wrapping_add(difference);
        self.learn(repeats, difference);
        Addr(self.last)
    }

    /// A difference that comes twice in a row is the stride: so one that comes once is not.
    #[inline]
    const fn learn(&mut self, repeats: bool, difference: u64) {
        let which = repeats as usize;
        if difference == self.before[which] {
            self.strides[which] = difference;
        }
        self.before[which] = difference;
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
            let back = match miss {
                Some(difference) => stride.at(repeats, difference),
                None => stride.hit(repeats),
            };
            assert_eq!(back.0, addr);
        }
    }
}
