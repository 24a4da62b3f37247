//! Numbers for what accesses are counted by, in the order of their first accesses.

use std::{collections::HashMap, hash::Hash};

/// Bits of the cache of numbers.
const RECENT_BITS: u32 = 12;

/// Keys, numbered from 0 on. Of the recent ones the number is found without hashing all of the key.
#[derive(Debug)]
pub(crate) struct Numbers<K> {
    numbers: HashMap<K, u32>,
    /// By a hash: a key and its number.
    recent: Vec<Option<(K, u32)>>,
}

impl<K: Copy + Eq + Hash> Numbers<K> {
    pub fn new() -> Self {
        Self { numbers: HashMap::new(), recent: vec![None; 1 << RECENT_BITS] }
    }

    /// The number of the key, and whether it is a new one. `mark`: what tells most keys apart.
    #[inline]
    pub fn of(&mut self, key: K, mark: u64) -> (u32, bool) {
        let at = (mark.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - RECENT_BITS)) as usize;
        if let Some(Some((known, number))) = self.recent.get(at)
            && *known == key
        {
            return (*number, false);
        }
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if let Some(recent) = self.recent.get_mut(at) {
            *recent = Some((key, number));
        }
        (number, number == next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_numbers_whatever_their_marks_share() {
        let mut numbers = Numbers::new();
        let all = ["a", "b", "a", "c", "b", "a"].map(|key| numbers.of(key, 7));
        assert_eq!(all, [(0, true), (1, true), (0, false), (2, true), (1, false), (0, false)]);
    }
}
