//! Direct jumps that wait for a block that is not translated yet.

use rustc_hash::FxHashMap;

/// Jumps that leave until their target is translated, in a chain for each target.
#[derive(Debug, Default)]
pub struct Waiting {
    first: FxHashMap<u64, u32>,
    chain: Vec<Entry>,
    /// The first free entry.
    free: Option<u32>,
}

/// A jump, and the next one of its chain.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The address of its displacement.
    patch: u64,
    next: Option<u32>,
}

impl Waiting {
    /// The jump with its displacement at `patch` waits for the block at `pc`.
    pub fn add(&mut self, pc: u64, patch: u64) {
        let entry = Entry { patch, next: self.first.get(&pc).copied() };
        let index = match self.free {
            Some(index) => {
                let place = self.chain.get_mut(index as usize);
                self.free = place.as_ref().and_then(|place| place.next);
                place.map(|place| *place = entry).map(|()| index)
            }
            None => {
                self.chain.push(entry);
                u32::try_from(self.chain.len() - 1).ok()
            }
        };
        if let Some(index) = index {
            self.first.insert(pc, index);
        }
    }

    /// Removes the jumps that wait for the block at `pc`, and returns the addresses of their displacements.
    pub fn take(&mut self, pc: u64) -> Option<impl Iterator<Item = u64> + use<>> {
        let mut next = Some(self.first.remove(&pc)?);
        let mut taken = Vec::new();
        while let Some(index) = next
            && let Some(entry) = self.chain.get_mut(index as usize)
        {
            taken.push(entry.patch);
            next = std::mem::replace(&mut entry.next, self.free);
            self.free = Some(index);
        }
        Some(taken.into_iter())
    }

    /// Forgets the jumps with displacements where `gone` holds.
    pub fn forget(&mut self, mut gone: impl FnMut(u64) -> bool) {
        let targets: Vec<u64> = self.first.keys().copied().collect();
        for pc in targets {
            let kept: Vec<u64> = self.take(pc).into_iter().flatten().filter(|&patch| !gone(patch)).collect();
            kept.into_iter().for_each(|patch| self.add(pc, patch));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(waiting: &mut Waiting, pc: u64) -> Vec<u64> {
        let mut taken: Vec<u64> = waiting.take(pc).into_iter().flatten().collect();
        taken.sort_unstable();
        taken
    }

    #[test]
    fn every_jump_is_told_once() {
        let mut waiting = Waiting::default();
        for (pc, patch) in [(10, 1), (20, 2), (10, 3), (10, 4)] {
            waiting.add(pc, patch);
        }
        assert_eq!(taken(&mut waiting, 10), [1, 3, 4]);
        assert_eq!(taken(&mut waiting, 10), []);
        // Freed entries are used again: the chain does not grow beyond four entries.
        for patch in 5..8 {
            waiting.add(30, patch);
        }
        assert_eq!(waiting.chain.len(), 4);
        assert_eq!((taken(&mut waiting, 20), taken(&mut waiting, 30)), (vec![2], vec![5, 6, 7]));
    }

    #[test]
    fn jumps_in_code_that_is_gone_are_forgotten() {
        let mut waiting = Waiting::default();
        for patch in 0..6 {
            waiting.add(patch % 2, patch);
        }
        waiting.forget(|patch| patch < 3);
        assert_eq!((taken(&mut waiting, 0), taken(&mut waiting, 1)), (vec![4], vec![3, 5]));
    }
}
