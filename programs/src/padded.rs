//! Memory that shares its cache lines with nothing else.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicU64;

/// The bytes of a cache line on every x86-64 processor.
pub const LINE_BYTES: usize = 64;

/// The most threads that a workload accepts: what its static arrays have room for.
pub const MAX_THREADS: usize = 1024;

/// A value on cache lines of its own. Aligned and padded to two lines, because the adjacent-line prefetcher
/// moves lines in pairs.
#[repr(align(128))]
pub struct Padded<T>(pub T);

impl<T> Deref for Padded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Padded<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// The address of a word, as profilers print it: hexadecimal with `0x`.
pub fn address(word: &AtomicU64) -> String {
    format!("{:#x}", word.as_ptr() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_in_an_array_are_two_lines_apart() {
        // The type fixes the stride: 8 bytes of data rounded up to its alignment of 2 * 64.
        assert_eq!(size_of::<[Padded<AtomicU64>; 3]>(), 3 * 2 * LINE_BYTES);
    }
}
