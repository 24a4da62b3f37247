use std::hash::Hash;

use carom_base::{Access, AccessKind, Addr, difference, varint_bytes};
use rustc_hash::FxHashMap;

use super::{MOST_SITES, blocks::Blocks, codes, stride::Stride};
use crate::record::Streamed;

/// The accesses of a batch, encoded one after the other: at most [`MOST_ACCESSES`](super::MOST_ACCESSES).
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    count: usize,
    /// Of all blocks.
    sites: Vec<Site>,
    /// Of all addresses.
    strides: Vec<Stride>,
    blocks: Blocks,
    /// Of each key, the number of a block. It is that of the key if the block has the key: so nothing is to be emptied.
    by_key: Vec<u32>,
    /// Blocks of single accesses, and of what an instruction repeats: by the first access, and how many there are.
    by_site: FxHashMap<(Kind, usize), u32>,
    /// The block that is being executed, and how often it was.
    current: Option<u32>,
    times: u32,
    /// Blocks in a row of which all was expected.
    run: u64,
    executions: Vec<u8>,
    addresses: Addresses,
}

/// The addresses that are told.
#[derive(Clone, Debug, Default)]
struct Addresses {
    /// How many there are since the last one that was missed.
    since_miss: usize,
    misses: Vec<u8>,
}

impl Addresses {
    /// Those of one execution of a block, with the strides of each.
    #[inline(always)]
    fn tell(&mut self, strides: &mut [Stride], repeats: bool, addresses: &[u64]) {
        debug_assert_eq!(strides.len(), addresses.len(), "a block has as many addresses each time");
        let mut since = self.since_miss;
        for (stride, &addr) in strides.iter_mut().zip(addresses) {
            if let Some(from_last) = stride.miss(repeats, addr) {
                put(&mut self.misses, since as u64);
                put(&mut self.misses, difference(0, from_last));
                since = 0;
            } else {
                since += 1;
            }
        }
        self.since_miss = since;
    }
}

/// In place of a block's key: it is a single access, or what an instruction repeats.
const SINGLE: u32 = u32::MAX;

/// Executions in a row of one block, after which a constant stride is expected.
const LEARNT_AFTER: usize = 3;

/// A site.
#[derive(Clone, Copy, Debug)]
struct Site {
    /// Its first access.
    first: Streamed,
    /// The number of the address that its own follows from, among those of its block.
    of: u32,
    /// It is the first one with that.
    is_told: bool,
}

/// What all accesses of a site have in common, as a key: instruction, width, and the kind as in a frame.
type Kind = (u64, u32, u8);

impl Accesses {
    /// How many there are.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Appends one access.
    #[inline]
    pub fn push(&mut self, access: &Streamed) {
        let kind = kind(access);
        let is_it = |number: &u32| {
            self.blocks.get(*number).is_some_and(|block| {
                let sites = self.sites.get(block.sites()).unwrap_or_default();
                block.key == SINGLE && matches!(sites, [site] if self::kind(&site.first) == kind)
            })
        };
        // Mostly the same again, or the one that is expected.
        let guess = self.current.filter(is_it).or_else(|| Some(self.blocks.expected()).filter(is_it));
        let number = guess.or_else(|| self.by_site.get(&(kind, 1)).copied()).unwrap_or_else(|| {
            let number = self.add(SINGLE, [(*access, 0)].into_iter());
            self.by_site.insert((kind, 1), number);
            number
        });
        self.execute(number, [&[access.access.addr.0][..]].into_iter());
    }

    /// Appends the accesses of an instruction that repeats those of the `first` time, `times` times, and each time `stride` bytes further on.
    /// How long it takes does not depend on how often.
    pub fn repeated(&mut self, first: impl Iterator<Item = Streamed> + Clone, times: usize, stride: u64) {
        let Some(number) = self.repeating(first.clone()).filter(|_| times > LEARNT_AFTER) else {
            let offsets = (0..times as u64).map(|time| time.wrapping_mul(stride));
            return offsets
                .for_each(|offset| first.clone().for_each(|access| self.push(&moved(access, offset))));
        };
        let mut addresses: Vec<u64> = first.map(|access| access.access.addr.0).collect();
        for _ in 0..LEARNT_AFTER {
            self.execute(number, [&*addresses].into_iter());
            addresses.iter_mut().for_each(|addr| *addr = addr.wrapping_add(stride));
        }
        let Some(block) = self.blocks.get(number) else { return };
        let strides = self.strides.get_mut(block.addresses()).unwrap_or_default();
        let rest = times - LEARNT_AFTER;
        strides.iter_mut().for_each(|each| each.hit_often(rest as u64, stride));
        self.addresses.since_miss += rest * strides.len();
        self.count += rest * block.sites().len();
        self.times += rest as u32;
    }

    /// The block of what an instruction repeats. `None` where there is too much of that, or where it has changed.
    fn repeating(&mut self, first: impl Iterator<Item = Streamed> + Clone) -> Option<u32> {
        let count = first.clone().count();
        let key = (kind(&first.clone().next().filter(|_| count <= MOST_SITES)?), count);
        let Some(&number) = self.by_site.get(&key) else {
            let number = self.add(SINGLE, first.zip(0..));
            self.by_site.insert(key, number);
            return Some(number);
        };
        let sites = self.sites.get(self.blocks.get(number)?.sites())?;
        let is_same = sites.iter().map(|site| kind(&site.first)).eq(first.map(|access| kind(&access)));
        is_same.then_some(number)
    }

    /// Appends the accesses of a block that was executed, once or several times in a row: of each time, the addresses that are told, at least
    /// one. Returns how often it was.
    ///
    /// `key` stands for the block and all that its accesses have in common, in this batch; four bytes are kept for each number up to the
    /// largest key. `first`: the accesses of the first time in full, at most [`MOST_SITES`](super::MOST_SITES), which a new block is known by;
    /// each with the number of the address from which its own always differs by the same. The first one with a number is at that address,
    /// and the numbers are in the order of these.
    #[inline]
    pub fn block<'a, I: Iterator<Item = (Streamed, usize)>>(
        &mut self,
        key: u32,
        executions: impl Iterator<Item = &'a [u64]>,
        first: impl FnOnce() -> I,
    ) -> usize {
        let known = self.by_key.get(key as usize).copied();
        let is_it = |number: &u32| self.blocks.get(*number).is_some_and(|block| block.key == key);
        let number = known.filter(is_it).unwrap_or_else(|| self.add_keyed(key, first()));
        self.execute(number, executions)
    }

    #[inline(never)]
    fn add_keyed(&mut self, key: u32, first: impl Iterator<Item = (Streamed, usize)>) -> u32 {
        let number = self.add(key, first);
        let length = self.by_key.len().max(key as usize + 1);
        self.by_key.resize(length, 0);
        if let Some(place) = self.by_key.get_mut(key as usize) {
            *place = number;
        }
        number
    }

    fn add(&mut self, key: u32, all: impl Iterator<Item = (Streamed, usize)>) -> u32 {
        let (mut sites, mut addresses) = (0, 0);
        for (first, of) in all.take(MOST_SITES) {
            let of = of as u32;
            let is_told = of == addresses;
            if is_told {
                self.strides.push(Stride::new(first.access.addr));
                addresses += 1;
            }
            self.sites.push(Site { first, of, is_told });
            sites += 1;
        }
        self.blocks.add(sites, addresses, key)
    }

    #[inline]
    fn execute<'a>(&mut self, number: u32, mut executions: impl Iterator<Item = &'a [u64]>) -> usize {
        let repeats = self.current == Some(number);
        if !repeats {
            self.end_block();
            self.current = Some(number);
        }
        let Some(block) = self.blocks.get(number) else { return 0 };
        let Some(strides) = self.strides.get_mut(block.addresses()) else { return 0 };
        let mut times = 0;
        if let Some(addresses) = executions.next() {
            self.addresses.tell(strides, repeats, addresses);
            times = 1;
        }
        for addresses in executions {
            self.addresses.tell(strides, true, addresses);
            times += 1;
        }
        self.count += times * block.sites().len();
        self.times += times as u32;
        times
    }

    /// Another block follows the current one, or none.
    #[inline]
    fn end_block(&mut self) {
        let Some(number) = self.current.take() else { return };
        let (times, expected) = (self.times, self.blocks.expected());
        self.times = 0;
        if number == expected && times == self.blocks.times(number) {
            self.run += 1;
        } else {
            self.tell(number, times);
        }
        self.blocks.executed(number, times);
    }

    /// Tells of a block of which not all was as expected.
    #[inline(never)]
    fn tell(&mut self, number: u32, times: u32) {
        let other = if number == self.blocks.expected() { 0 } else { codes::OTHER_BLOCK };
        let differs = if times == self.blocks.times(number) { 0 } else { codes::OTHER_TIMES };
        put(&mut self.executions, self.run << codes::FLAG_BITS | other | differs);
        self.run = 0;
        if other != 0 {
            put(&mut self.executions, number.into());
        }
        if differs != 0 {
            put(&mut self.executions, times.into());
        }
    }

    /// Appends them to a frame, and begins anew.
    pub(super) fn take(&mut self, frame: &mut Vec<u8>) {
        self.end_block();
        if self.run > 0 {
            put(&mut self.executions, self.run << codes::FLAG_BITS);
        }
        put(frame, self.blocks.len() as u64);
        self.blocks.sizes().for_each(|sites| put(frame, sites.into()));
        self.put_sites(frame);
        put(frame, self.executions.len() as u64);
        frame.extend_from_slice(&self.executions);
        frame.extend_from_slice(&self.addresses.misses);
        self.clear();
    }

    fn put_sites(&self, frame: &mut Vec<u8>) {
        let (mut ip, mut told) = (0, 0);
        let mut addresses: Vec<u64> = Vec::new();
        for Site { first, of, is_told } in &self.sites {
            let ((at, width, code), Addr(addr)) = (kind(first), first.access.addr);
            put(frame, difference(ip, at));
            put(frame, width.into());
            ip = at;
            if *is_told {
                if *of == 0 {
                    addresses.clear();
                }
                addresses.push(addr);
                frame.push(code);
                put(frame, difference(told, addr));
                told = addr;
            } else {
                let from = addresses.get(*of as usize).copied().unwrap_or(0);
                frame.push(code + codes::FOLLOWS);
                put(frame, (*of).into());
                put(frame, difference(from, addr));
            }
        }
    }

    /// Drops what there is.
    pub fn clear(&mut self) {
        if self.is_empty() {
            return;
        }
        (self.count, self.current, self.times, self.run, self.addresses.since_miss) = (0, None, 0, 0, 0);
        self.executions.clear();
        self.addresses.misses.clear();
        self.sites.clear();
        self.strides.clear();
        self.blocks.clear();
        clear(&mut self.by_site);
    }
}

/// As [`carom_base::put_varint`], which would call a function for each of the few bytes.
#[inline]
fn put(out: &mut Vec<u8>, value: u64) {
    varint_bytes(value, |byte| out.push(byte));
}

/// The same access so many bytes further on.
const fn moved(streamed: Streamed, offset: u64) -> Streamed {
    let Streamed { access, atomic } = streamed;
    Streamed { access: Access { addr: Addr(access.addr.0.wrapping_add(offset)), ..access }, atomic }
}

#[inline]
const fn kind(streamed: &Streamed) -> Kind {
    let access = &streamed.access;
    let kind = if streamed.atomic && matches!(access.kind, AccessKind::ReadModifyWrite) {
        codes::ATOMIC
    } else {
        access.kind as u8
    };
    (access.ip.0, access.width, kind)
}

/// Empties a map: one that was large once is not swept at each batch.
fn clear<K: Eq + Hash>(map: &mut FxHashMap<K, u32>) {
    const KEPT: usize = 1 << 12;
    if map.capacity() > KEPT {
        *map = FxHashMap::default();
    } else {
        map.clear();
    }
}
