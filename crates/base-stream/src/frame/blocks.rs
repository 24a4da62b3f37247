use std::ops::Range;

/// The blocks of a batch, and the order in which they follow each other. A block that is executed several times in a row counts once.
/// The same for encoder and decoder.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    blocks: Vec<Block>,
    /// By what was executed before: the number of the block that came next, and one; 0 if none has.
    followers: Vec<u16>,
    /// What was executed last, as a number below [`HISTORIES`].
    history: u32,
    /// The block that is expected next.
    next: u32,
    /// The last one.
    last: Option<u32>,
    /// Sites of all blocks, and addresses that are told of them.
    sites: u32,
    addresses: u32,
}

/// Histories that are told apart: the table has 8 KiB.
const HISTORIES: u32 = 1 << 12;

/// Bits by which a block moves on in the history with each block after it: it is forgotten after six.
const HISTORY_SHIFT: u32 = 2;

/// Spreads numbers of blocks over the bits of a history.
const SPREAD: u32 = 0x9E5;

/// A block.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    first_site: u32,
    sites: u32,
    first_address: u32,
    addresses: u32,
    /// The block that came after it the last time.
    followed_by: u32,
    /// How often it was executed in a row the last time.
    times: u32,
    /// What the encoder's caller calls it; nothing to a decoder.
    pub key: u32,
}

impl Block {
    /// Its sites, among those of all blocks.
    #[inline]
    pub const fn sites(&self) -> Range<usize> {
        self.first_site as usize..self.first_site as usize + self.sites as usize
    }

    /// The addresses that are told of each execution, among those of all blocks.
    #[inline]
    pub const fn addresses(&self) -> Range<usize> {
        self.first_address as usize..self.first_address as usize + self.addresses as usize
    }
}

impl Blocks {
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.followers.fill(0);
        (self.history, self.next, self.last, self.sites, self.addresses) = (0, 0, None, 0, 0);
    }

    /// Adds a block of so many sites, for which so many addresses are told. Nothing is known about it: after it the next new block is
    /// expected. Its number.
    pub fn add(&mut self, sites: u32, addresses: u32, key: u32) -> u32 {
        let number = self.blocks.len() as u32;
        let (first_site, first_address) = (self.sites, self.addresses);
        self.sites += sites;
        self.addresses += addresses;
        let (followed_by, times) = (number + 1, 1);
        self.blocks.push(Block { first_site, sites, first_address, addresses, followed_by, times, key });
        number
    }

    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// How many sites each block has.
    pub fn sizes(&self) -> impl Iterator<Item = u32> + '_ {
        self.blocks.iter().map(|block| block.sites)
    }

    /// The block with this number; `None` where there is no such block.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&Block> {
        self.blocks.get(number as usize)
    }

    /// The block that is expected next.
    #[inline]
    pub const fn expected(&self) -> u32 {
        self.next
    }

    /// How often a block is expected to be executed in a row.
    #[inline]
    pub fn times(&self, number: u32) -> u32 {
        self.get(number).map_or(1, |block| block.times)
    }

    /// Notes that this block was executed so often in a row.
    #[inline]
    pub fn executed(&mut self, number: u32, times: u32) {
        if self.followers.is_empty() {
            self.followers.resize(HISTORIES as usize, 0);
        }
        if let Some(before) = self.last.and_then(|last| self.blocks.get_mut(last as usize)) {
            before.followed_by = number;
        }
        if let Some(follower) = self.followers.get_mut(self.history as usize) {
            // The last number that there can be counts as none.
            *follower = (number as u16).wrapping_add(1);
        }
        self.history = (self.history << HISTORY_SHIFT ^ (number + 1).wrapping_mul(SPREAD)) % HISTORIES;
        let follower = self.followers.get(self.history as usize).copied();
        let known = follower.and_then(|follower| follower.checked_sub(1));
        let Some(block) = self.blocks.get_mut(number as usize) else { return };
        block.times = times;
        self.next = known.map_or(block.followed_by, u32::from);
        self.last = Some(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of four blocks, in which one comes twice and is followed by another one each time: from the fourth round on all is
    /// expected.
    #[test]
    fn what_came_before_tells_what_follows() {
        let mut blocks = Blocks::default();
        let round = [0, 1, 2, 1];
        let mut missed = [0; 6];
        for missed in &mut missed {
            for number in round {
                if blocks.len() <= number as usize {
                    blocks.add(1, 1, 0);
                }
                *missed += u32::from(blocks.expected() != number);
                blocks.executed(number, 1);
            }
        }
        assert_eq!(missed[3..], [0; 3], "{missed:?}");
        assert!(missed[0] > 0 && missed[1] > 0);
    }
}
