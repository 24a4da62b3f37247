//! How a word is accessed: the four atomic operations of the thesis, section 5.4.1.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use clap::ValueEnum;
use serde::Serialize;

/// Which instruction touches the shared word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// An atomic write: a plain `mov` to memory.
    Store,
    /// An atomic addition: `lock add`.
    Add,
    /// One attempt to compare and swap: `lock cmpxchg`.
    Cas,
    /// An atomic exchange: `xchg`.
    Swap,
}

/// One access to a word. Ordering is relaxed throughout: only the line's movement matters, not the value.
pub trait Update {
    /// Accesses `word` once, with `value` where the operation has a use for one.
    fn update(&mut self, word: &AtomicU64, value: u64);
}

/// [`Operation::Store`].
pub struct Store;

impl Update for Store {
    #[inline(always)]
    fn update(&mut self, word: &AtomicU64, value: u64) {
        word.store(value, Relaxed);
    }
}

/// [`Operation::Add`].
pub struct Add;

impl Update for Add {
    #[inline(always)]
    fn update(&mut self, word: &AtomicU64, value: u64) {
        word.fetch_add(value, Relaxed);
    }
}

/// [`Operation::Cas`]: expects the value that the previous attempt saw, which costs no access of its own. A failed
/// attempt takes the line for writing like a successful one.
#[derive(Default)]
pub struct CompareAndSwap {
    seen: u64,
}

impl Update for CompareAndSwap {
    #[inline(always)]
    fn update(&mut self, word: &AtomicU64, value: u64) {
        self.seen = match word.compare_exchange(self.seen, value, Relaxed, Relaxed) {
            Ok(_) => value,
            Err(now) => now,
        };
    }
}

/// [`Operation::Swap`].
pub struct Swap;

impl Update for Swap {
    #[inline(always)]
    fn update(&mut self, word: &AtomicU64, value: u64) {
        word.swap(value, Relaxed);
    }
}

/// [`Operation::Swap`] of the writer's number instead of the random one, so each writer learns which thread wrote
/// before it. Costs one more read-modify-write, on a line of the writer's own.
pub struct OwnerSwap<'a> {
    /// The writer.
    pub writer: u64,
    /// How often each previous writer was found; indexed by writer. A number outside is not counted.
    pub previous: &'a mut [u64],
}

impl Update for OwnerSwap<'_> {
    #[inline(always)]
    fn update(&mut self, word: &AtomicU64, _value: u64) {
        let previous = word.swap(self.writer, Relaxed);
        if let Some(count) = self.previous.get_mut(previous as usize) {
            *count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_leaves_its_value() {
        let word = AtomicU64::new(40);
        Store.update(&word, 5);
        assert_eq!(word.load(Relaxed), 5);
        Add.update(&word, 2);
        assert_eq!(word.load(Relaxed), 7);
        Swap.update(&word, 9);
        assert_eq!(word.load(Relaxed), 9);
        // The first attempt expects 0, sees 9 and fails; the second expects 9 and succeeds.
        let mut cas = CompareAndSwap::default();
        cas.update(&word, 11);
        assert_eq!(word.load(Relaxed), 9);
        cas.update(&word, 11);
        assert_eq!(word.load(Relaxed), 11);
    }

    #[test]
    fn owners_are_counted_by_the_next_one() {
        // No writer (2) -> 0 -> 1 -> 1: writer 1 finds 0 once and itself once; writer 0 finds no number that it
        // counts.
        let word = AtomicU64::new(2);
        let (mut by_0, mut by_1) = ([0; 2], [0; 2]);
        OwnerSwap { writer: 0, previous: &mut by_0 }.update(&word, 0);
        OwnerSwap { writer: 1, previous: &mut by_1 }.update(&word, 0);
        OwnerSwap { writer: 1, previous: &mut by_1 }.update(&word, 0);
        assert_eq!((by_0, by_1), ([0, 0], [1, 1]));
    }
}
