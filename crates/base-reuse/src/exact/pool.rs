//! Memory for entries.

use super::entry::Entry;

/// Entries that are allocated at a time. None ever moves, so growing needs no copy.
const CHUNK: usize = 4096;

/// Pieces have 1, 2, 4 ... entries, up to this many.
pub(super) const LARGEST: usize = 8;

/// The number of these sizes.
const SIZES: usize = LARGEST.ilog2() as usize + 1;

/// Gives out *pieces*: adjacent entries, a power of two of them. Larger ones are split where no small one is free
/// (Knowlton's buddy system, CACM 8(10), 1965), but never merged again: a set that grows leaves its piece to a new
/// one.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    chunks: Vec<Box<[Entry; CHUNK]>>,
    /// Entries in pieces, in use or free.
    used: usize,
    /// The first entries of free pieces, by the logarithm of their size.
    free: [Vec<u32>; SIZES],
}

impl Pool {
    /// A piece of `1 << size` empty entries; returns its first.
    pub fn take(&mut self, size: usize) -> u32 {
        if let Some(first) = self.free.get_mut(size).and_then(Vec::pop) {
            return first;
        }
        if 1 << size < LARGEST {
            let first = self.take(size + 1);
            self.free[size].push(first + (1 << size));
            return first;
        }
        if self.used == self.chunks.len() * CHUNK {
            let chunk = vec![Entry::EMPTY; CHUNK].into_boxed_slice();
            // It has the length of an array: this cannot fail, and needs no room on the stack.
            self.chunks.extend(Box::try_from(chunk).ok());
        }
        let first = self.used as u32;
        self.used += LARGEST;
        first
    }

    /// A piece of twice the size, with the entries of this one of `1 << size`, which becomes free.
    pub fn enlarge(&mut self, first: u32, size: usize) -> u32 {
        let larger = self.take(size + 1);
        for nth in 0..1 << size {
            *self.at(larger + nth) = std::mem::replace(self.at(first + nth), Entry::EMPTY);
        }
        self.free[size].push(first);
        larger
    }

    /// An entry of a piece that is in use.
    #[inline(always)]
    pub fn at(&mut self, number: u32) -> &mut Entry {
        let number = number as usize;
        &mut self.chunks[number / CHUNK][number % CHUNK]
    }

    /// An entry, if it exists.
    #[inline(always)]
    pub fn get(&self, number: u32) -> Option<&Entry> {
        let number = number as usize;
        Some(&self.chunks.get(number / CHUNK)?[number % CHUNK])
    }

    /// All entries of all pieces; those of free pieces are empty.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.chunks.iter_mut().flat_map(|chunk| chunk.iter_mut()).take(self.used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of all sizes, marked; none overlaps another, and a larger one keeps the entries of the smaller one.
    #[test]
    fn pieces_do_not_overlap() {
        let mut pool = Pool::default();
        let mut pieces = Vec::new();
        for nth in 0..3 * CHUNK as u32 {
            let size = (nth % 3) as usize;
            let first = pool.take(size);
            for number in first..first + (1 << size) {
                assert_eq!(pool.at(number).slot(), None);
                pool.at(number).set_slot(nth);
            }
            pieces.push((first, size, nth));
        }
        for (first, size, nth) in pieces {
            let larger = pool.enlarge(first, size);
            let slots: Vec<_> = (larger..larger + (2 << size)).map(|number| pool.at(number).slot()).collect();
            let (old, new) = slots.split_at(1 << size);
            assert!(old.iter().all(|slot| *slot == Some(nth)) && new.iter().all(Option::is_none));
        }
        // Free pieces are empty: as many entries are marked as at first, 1 + 2 + 4 in three.
        assert_eq!(pool.iter_mut().filter(|entry| entry.slot().is_some()).count(), 7 * CHUNK);
    }

    /// Eight single entries fit into one piece of eight, and so do the next.
    #[test]
    fn what_is_split_is_used_up() {
        let mut pool = Pool::default();
        let mut firsts: Vec<u32> = (0..16).map(|_| pool.take(0)).collect();
        firsts.sort_unstable();
        assert_eq!(firsts, (0..16).collect::<Vec<u32>>());
    }
}
