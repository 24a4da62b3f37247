//! A second, larger table behind the three small ones: whole targets, and where their code is.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use super::{MemoryError, reservation::Reservation};

/// Buckets, a power of two: one for every [`GRAIN`] bytes of code, so that targets that are near each other share pages.
pub const BUCKETS: u64 = 1 << 15;

/// log2 of the bytes of code that share a bucket: about two targets.
pub const GRAIN: u32 = 4;

/// Two entries of key and value.
pub const BUCKET_BYTES: u64 = 32;

const ALL_BYTES: u64 = BUCKETS * BUCKET_BYTES;

/// Shared by all threads. The one who writes holds the engine's lock; those who read (`switch::look_up`) read the value
/// first and the key then, so that a key that is right has the right value.
#[derive(Debug)]
pub struct Directory {
    memory: Reservation,
}

impl Directory {
    /// An empty one: no target is 0. Memory is taken as it is used.
    ///
    /// # Errors
    /// Limits on memory.
    pub fn new() -> Result<Self, MemoryError> {
        let memory = Reservation::anywhere("directory of targets", ALL_BYTES)?;
        memory.open(0..ALL_BYTES)?;
        Ok(Self { memory })
    }

    /// Where it lies.
    pub fn range(&self) -> Range<u64> {
        self.memory.range()
    }

    /// The code at `original` is at `cache`. Of those that share a bucket the last two are kept.
    pub fn set(&self, original: u64, cache: u64) {
        let [first, second] = self.bucket(original);
        let [key, value] = first.map(|word| word.load(Ordering::Relaxed));
        if key != 0 && key != original {
            put(second, key, value);
        }
        put(first, original, cache);
    }

    /// Forgets everything.
    ///
    /// # Errors
    /// The kernel does not take the memory back; nothing is forgotten then.
    pub fn reset(&self) -> Result<(), MemoryError> {
        self.memory.discard(0..ALL_BYTES)
    }

    /// Forgets `original`.
    pub fn clear(&self, original: u64) {
        for [key, _] in self.bucket(original) {
            if key.load(Ordering::Relaxed) == original {
                key.store(0, Ordering::Release);
            }
        }
    }

    fn bucket(&self, original: u64) -> [[&AtomicU64; 2]; 2] {
        let at = self.range().start + (original >> GRAIN) % BUCKETS * BUCKET_BYTES;
        let word = |index: u64| {
            let place = std::ptr::with_exposed_provenance_mut((at + 8 * index) as usize);
            // SAFETY: inside of this memory, aligned, and open for good.
            unsafe { AtomicU64::from_ptr(place) }
        };
        [[word(0), word(1)], [word(2), word(3)]]
    }
}

/// ATOMICS: whoever reads the value and then the key has the value of that key, or no key.
fn put([key, value]: [&AtomicU64; 2], original: u64, cache: u64) {
    key.store(0, Ordering::Release);
    value.store(cache, Ordering::Release);
    key.store(original, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(directory: &Directory, original: u64) -> Option<u64> {
        let bucket = directory.bucket(original);
        let [_, value] = bucket.into_iter().find(|[key, _]| key.load(Ordering::Relaxed) == original)?;
        Some(value.load(Ordering::Relaxed))
    }

    #[test]
    fn the_last_two_of_those_that_share_a_bucket_are_found() {
        let directory = Directory::new().expect("memory");
        let [first, second, third] = [0, 1, 2].map(|n| 0x5555_0000_1234 + n * (BUCKETS << GRAIN));
        assert_eq!(found(&directory, first), None);
        directory.set(first, 1);
        directory.set(second, 2);
        assert_eq!([first, second].map(|each| found(&directory, each)), [Some(1), Some(2)]);
        directory.set(third, 3);
        assert_eq!([first, second, third].map(|each| found(&directory, each)), [None, Some(2), Some(3)]);
        directory.clear(third);
        assert_eq!([second, third].map(|each| found(&directory, each)), [Some(2), None]);
    }
}
