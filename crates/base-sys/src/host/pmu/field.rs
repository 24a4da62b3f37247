//! Fields of an event's numbers, as `format/` of a PMU describes them.

/// Words of `perf_event_attr` whose meaning the PMU defines.
pub const WORDS: usize = 4;

const NAMES: [&str; WORDS] = ["config", "config1", "config2", "config3"];

/// Where a term such as `umask` goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    word: usize,
    /// The bits that it fills, from the lowest on.
    mask: u64,
}

impl Field {
    /// `config:0-7,32-35`, `config1:0`. `None` where it is not of this form, or of a word that this version does not
    /// know.
    pub fn parse(text: &str) -> Option<Self> {
        let (word, bits) = text.trim().split_once(':')?;
        let mut mask = 0;
        for range in bits.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            if first > last || last > 63 {
                return None;
            }
            mask |= (u64::MAX >> (63 - (last - first))) << first;
        }
        Some(Self { mask, ..Self::whole(word)? })
    }

    /// All bits of a word.
    pub fn whole(word: &str) -> Option<Self> {
        let word = NAMES.iter().position(|known| *known == word)?;
        Some(Self { word, mask: u64::MAX })
    }

    /// The largest value that it holds.
    pub const fn most(self) -> u64 {
        // The mask has a bit at least.
        u64::MAX >> (64 - self.mask.count_ones())
    }

    /// Puts a value of at most [`Self::most`] into its bits, the lowest into the lowest.
    pub fn put(self, words: &mut [u64; WORDS], mut value: u64) {
        let Some(word) = words.get_mut(self.word) else { return };
        let mut left = self.mask;
        while left != 0 {
            let bit = left & left.wrapping_neg();
            *word = if value & 1 == 0 { *word & !bit } else { *word | bit };
            value >>= 1;
            left &= left - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(format: &str, value: u64) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        Field::parse(format).unwrap().put(&mut words, value);
        words
    }

    #[test]
    fn values_go_into_the_bits_of_their_fields() {
        assert_eq!(put("config:0-7", 0xc0), [0xc0, 0, 0, 0]);
        assert_eq!(put("config:18", 1), [1 << 18, 0, 0, 0]);
        assert_eq!(put("config:0-63", u64::MAX), [u64::MAX, 0, 0, 0]);
        // AMD's event number of 12 bits: PMCx18F.
        assert_eq!(put("config:0-7,32-35", 0x18f), [0x1_0000_008f, 0, 0, 0]);
        assert_eq!(put("config1:8-15", 0xff), [0, 0xff00, 0, 0]);
        // In the order of the bits, whatever the order of the ranges.
        assert_eq!(put("config2:4-5,0", 0b110), [0, 0, 0b11_0000, 0]);
        assert_eq!(Field::parse("config:0-7,32-35").map(Field::most), Some(0xfff));
        assert_eq!(Field::parse("config1:0-63").map(Field::most), Some(u64::MAX));
    }

    #[test]
    fn a_later_value_replaces_an_earlier_one() {
        let mut words = [0; WORDS];
        let [event, word] = [Field::parse("config:0-7").unwrap(), Field::whole("config").unwrap()];
        word.put(&mut words, 0xabcd);
        event.put(&mut words, 0x11);
        assert_eq!(words, [0xab11, 0, 0, 0]);
    }

    /// What is put into fields that do not overlap is read back bit by bit.
    #[test]
    fn fields_do_not_disturb_each_other() {
        let bits = [vec![0, 1, 2, 3, 4, 5, 6, 7, 32, 33, 34, 35], (8..=15).collect(), vec![18, 20, 23]];
        let formats = ["config:0-7,32-35", "config:8-15", "config:18,20,23"];
        for seed in 0..4096_u64 {
            let values = [seed, seed % 256, seed / 7 % 8];
            let mut words = [0; WORDS];
            for (format, value) in formats.iter().zip(values) {
                Field::parse(format).unwrap().put(&mut words, value);
            }
            for (bits, value) in bits.iter().zip(values) {
                let read =
                    (0..).zip(bits).map(|(at, bit): (u32, &u32)| (words[0] >> bit & 1) << at).sum::<u64>();
                assert_eq!(read, value, "{words:x?}");
            }
        }
    }

    #[test]
    fn other_texts_are_no_fields() {
        for bad in [
            "",
            "config",
            "config:",
            "config:8-0",
            "config:64",
            "config:0-64",
            "config9:0",
            "config:a",
            "x:1",
        ] {
            assert_eq!(Field::parse(bad), None, "{bad}");
        }
    }
}
