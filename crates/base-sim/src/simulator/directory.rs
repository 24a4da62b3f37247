use rustc_hash::FxHashMap;

use crate::{counts::MissClass, protocol::State};

/// What is known of each line that was ever accessed: who holds it, and who lost it how.
///
/// It is asked where a core misses, or stores without the right to: caches keep the line's number in the directory, so
/// that most questions need no search.
#[derive(Debug)]
pub struct Directory {
    numbers: FxHashMap<u64, u32>,
    lines: Vec<Known>,
    /// Words of a set of cores.
    words: usize,
    /// By line: the three sets of cores, one behind the other.
    cores: Vec<u64>,
}

/// What is known of a line, but for its sets of cores.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// The core that answers requests, if any: its copy's state is not `Shared`.
    pub owner: Option<u16>,
    /// Sockets whose L3 has the line.
    pub in_l3: u64,
    /// Sockets that ever had it.
    had: u64,
    /// Sockets from which a store took it.
    lost: u64,
}

#[derive(Clone, Copy)]
enum Set {
    Holders = 0,
    Had = 1,
    Lost = 2,
}

const SETS: usize = 3;

impl Directory {
    pub fn new(cores: usize) -> Self {
        Self {
            numbers: FxHashMap::default(),
            lines: Vec::new(),
            words: cores.div_ceil(64),
            cores: Vec::new(),
        }
    }

    /// The number of a line, which may be new.
    pub fn number(&mut self, line: u64) -> u32 {
        let next = self.lines.len() as u32;
        let number = *self.numbers.entry(line).or_insert(next);
        if number == next {
            self.lines.push(Known::default());
            self.cores.resize(self.cores.len() + SETS * self.words, 0);
        }
        number
    }

    /// The number of a line that was accessed before.
    #[cfg(debug_assertions)]
    pub fn existing(&self, line: u64) -> Option<u32> {
        self.numbers.get(&line).copied()
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
        let holders = self.words_of(number, Set::Holders);
        holders.iter().enumerate().any(|(word, bits)| {
            let own = if core / 64 == word { 1 << (core % 64) } else { 0 };
            bits & !own != 0
        })
    }

    /// The next core from `from` on that holds the line.
    pub fn holder(&self, number: u32, from: usize) -> Option<usize> {
        let holders = self.words_of(number, Set::Holders);
        let mut above = u64::MAX << (from % 64);
        for (word, bits) in holders.iter().enumerate().skip(from / 64) {
            let bits = bits & above;
            if bits != 0 {
                return Some(word * 64 + bits.trailing_zeros() as usize);
            }
            above = u64::MAX;
        }
        None
    }

    fn has(&self, number: u32, set: Set, core: usize) -> bool {
        self.words_of(number, set)[core / 64] >> (core % 64) & 1 != 0
    }

    fn set(&mut self, number: u32, set: Set, core: usize, member: bool) {
        let at = self.first(number, set) + core / 64;
        let bit = 1 << (core % 64);
        if member {
            self.cores[at] |= bit;
        } else {
            self.cores[at] &= !bit;
        }
    }

    fn words_of(&self, number: u32, set: Set) -> &[u64] {
        let first = self.first(number, set);
        &self.cores[first..first + self.words]
    }

    fn first(&self, number: u32, set: Set) -> usize {
        (number as usize * SETS + set as usize) * self.words
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
