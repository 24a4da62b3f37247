use rustc_hash::FxHashMap;

use crate::{counts::MissClass, protocol::State};

/// What is known of each line that was ever accessed: who holds it, and who lost it how.
///
/// It is asked where a core misses, or stores without the right to: caches keep the line's number in the directory, so
/// that most questions need no search.
#[derive(Debug)]
pub struct Directory {
    /// By number of the chunk: the number of its first line.
    chunks: FxHashMap<u64, u32>,
    lines: Vec<Known>,
    /// Words of a set of cores, but for the first.
    more_words: usize,
    /// By line: the other words of its three sets of cores, one set behind the other.
    more: Vec<u64>,
}

/// What is known of a line, in one line of the machine that simulates.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct Known {
    /// The core that answers requests, if any: its copy's state is not `Shared`.
    pub owner: Option<u16>,
    /// Sockets whose L3 has the line.
    pub in_l3: u64,
    /// Sockets that ever had it.
    had: u64,
    /// Sockets from which a store took it.
    lost: u64,
    /// The first 64 cores of each set.
    cores: [u64; SETS],
}

#[derive(Clone, Copy)]
enum Set {
    Holders = 0,
    Had = 1,
    Lost = 2,
}

const SETS: usize = 3;

/// Lines in a row that are numbered together: one search finds them all, and what is known of them lies together. Where a program
/// touches one of them alone, the others take memory for nothing.
const CHUNK: u64 = 4;

impl Directory {
    pub fn new(cores: usize) -> Self {
        Self {
            chunks: FxHashMap::default(),
            lines: Vec::new(),
            more_words: cores.div_ceil(64).saturating_sub(1),
            more: Vec::new(),
        }
    }

    /// The number of a line, which may be new.
    pub fn number(&mut self, line: u64) -> u32 {
        let next = self.lines.len() as u32;
        let first = *self.chunks.entry(line / CHUNK).or_insert(next);
        if first == next {
            self.lines.resize(self.lines.len() + CHUNK as usize, Known::default());
            self.more.resize(self.lines.len() * SETS * self.more_words, 0);
        }
        first + (line % CHUNK) as u32
    }

    /// The number of a line that was accessed before, or is near one.
    #[cfg(debug_assertions)]
    pub fn existing(&self, line: u64) -> Option<u32> {
        self.chunks.get(&(line / CHUNK)).map(|first| first + (line % CHUNK) as u32)
    }

    pub fn known(&self, number: u32) -> &Known {
        &self.lines[number as usize]
    }

    pub fn known_mut(&mut self, number: u32) -> &mut Known {
        &mut self.lines[number as usize]
    }

    /// Why the core has not got the line.
    pub fn core_class(&self, number: u32, core: usize) -> MissClass {
        class(self.has(number, Set::Had, core), self.has(number, Set::Lost, core))
    }

    /// Why the socket has not got the line.
    pub fn socket_class(&self, number: u32, socket: usize) -> MissClass {
        let known = self.known(number);
        class(known.had >> socket & 1 != 0, known.lost >> socket & 1 != 0)
    }

    /// The core gets the line, in this state.
    pub fn gains(&mut self, number: u32, core: usize, socket: usize, state: State) {
        self.set(number, Set::Holders, core, true);
        self.set(number, Set::Had, core, true);
        self.set(number, Set::Lost, core, false);
        let known = self.known_mut(number);
        known.had |= 1 << socket;
        known.lost &= !(1 << socket);
        self.answers(number, core, state);
    }

    /// The core's copy has this state now.
    pub fn answers(&mut self, number: u32, core: usize, state: State) {
        let owner = &mut self.known_mut(number).owner;
        if state.answers() {
            *owner = Some(core as u16);
        } else if *owner == Some(core as u16) {
            *owner = None;
        }
    }

    /// The core loses the line; by another core's store, if `taken`.
    pub fn loses(&mut self, number: u32, core: usize, taken: bool) {
        self.set(number, Set::Holders, core, false);
        self.set(number, Set::Lost, core, taken);
        self.answers(number, core, State::Invalid);
    }

    /// A store takes the line from these sockets.
    pub fn taken_from(&mut self, number: u32, sockets: u64) {
        self.known_mut(number).lost |= sockets;
    }

    /// Whether some core holds the line, other than this one.
    pub fn held_by_others(&self, number: u32, core: usize) -> bool {
        match self.holder(number, 0) {
            Some(holder) if holder == core => self.holder(number, core + 1).is_some(),
            holder => holder.is_some(),
        }
    }

    /// The next core from `from` on that holds the line.
    #[inline]
    pub fn holder(&self, number: u32, from: usize) -> Option<usize> {
        let first = from / 64;
        for word in first..=self.more_words {
            let above = if word == first { u64::MAX << (from % 64) } else { u64::MAX };
            let bits = self.word(number, Set::Holders, word) & above;
            if bits != 0 {
                return Some(word * 64 + bits.trailing_zeros() as usize);
            }
        }
        None
    }

    #[inline]
    fn has(&self, number: u32, set: Set, core: usize) -> bool {
        self.word(number, set, core / 64) >> (core % 64) & 1 != 0
    }

    #[inline]
    fn word(&self, number: u32, set: Set, word: usize) -> u64 {
        match word.checked_sub(1) {
            None => self.known(number).cores[set as usize],
            Some(more) => self.more[self.first(number, set) + more],
        }
    }

    #[inline]
    fn set(&mut self, number: u32, set: Set, core: usize, member: bool) {
        let bit = 1 << (core % 64);
        let word = match (core / 64).checked_sub(1) {
            None => &mut self.known_mut(number).cores[set as usize],
            Some(more) => {
                let first = self.first(number, set);
                &mut self.more[first + more]
            }
        };
        *word = if member { *word | bit } else { *word & !bit };
    }

    fn first(&self, number: u32, set: Set) -> usize {
        (number as usize * SETS + set as usize) * self.more_words
    }
}

fn class(had: bool, lost: bool) -> MissClass {
    match (had, lost) {
        (false, _) => MissClass::Cold,
        (true, true) => MissClass::Coherence,
        (true, false) => MissClass::Replaced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_beyond_one_word_are_found_in_order() {
        let mut directory = Directory::new(130);
        let number = directory.number(7);
        for core in [129, 0, 64, 63] {
            directory.gains(number, core, 0, State::Shared);
        }
        let holders: Vec<usize> =
            std::iter::successors(directory.holder(number, 0), |core| directory.holder(number, core + 1))
                .collect();
        assert_eq!(holders, [0, 63, 64, 129]);
        directory.loses(number, 64, true);
        assert_eq!(directory.holder(number, 64), Some(129));
        assert_eq!(directory.core_class(number, 64), MissClass::Coherence);
        directory.loses(number, 63, false);
        assert_eq!(directory.core_class(number, 63), MissClass::Replaced);
        assert_eq!(directory.core_class(number, 62), MissClass::Cold);
    }

    #[test]
    fn only_the_owner_of_a_line_answers() {
        let mut directory = Directory::new(2);
        let number = directory.number(7);
        directory.gains(number, 0, 0, State::Modified);
        assert!(directory.held_by_others(number, 1) && !directory.held_by_others(number, 0));
        assert_eq!(directory.known(number).owner, Some(0));
        directory.answers(number, 1, State::Shared);
        assert_eq!(directory.known(number).owner, Some(0));
        directory.loses(number, 0, false);
        assert_eq!(directory.known(number).owner, None);
    }
}
