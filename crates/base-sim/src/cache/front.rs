use super::Slot;

/// Entries for each slot: few lines of a cache have one in common.
const ENTRIES: usize = 4;

/// Where lines of a cache were used last, by their hash: most need no search.
#[derive(Debug)]
pub struct Front {
    slots: Box<[u32]>,
    /// Leaves as many bits of a hash as there are entries.
    shift: u32,
}

impl Front {
    /// For a cache of so many slots.
    pub fn new(slots: usize) -> Self {
        let entries = (ENTRIES * slots).next_power_of_two();
        Self { slots: vec![0; entries].into(), shift: u64::BITS - entries.trailing_zeros() }
    }

    /// The slot of the line, or of another one.
    #[inline(always)]
    pub fn guess(&self, line: u64) -> Slot {
        self.slots.get(self.entry(line)).map_or(0, |slot| *slot as Slot)
    }

    /// The line is in this slot.
    #[inline]
    pub fn note(&mut self, line: u64, slot: Slot) {
        let entry = self.entry(line);
        self.slots[entry] = slot as u32;
    }

    #[inline(always)]
    fn entry(&self, line: u64) -> usize {
        // From the golden ratio: lines at any stride are spread.
        const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
        (line.wrapping_mul(MULTIPLIER) >> self.shift) as usize
    }
}
