//! The loop behind listings 5.1, 5.2 and 5.4: each iteration accesses one of two words, by chance.

use std::hint::black_box;
use std::sync::atomic::AtomicU64;

use crate::company::Company;
use crate::operation::{Add, CompareAndSwap, Operation, Store, Swap, Update};
use crate::options::Length;
use crate::random::{Chance, Random};

/// The two words of one thread, and how it chooses between them.
pub struct Choice<'a> {
    /// Accessed when the chance hits: the listings' first branch.
    pub first: &'a AtomicU64,
    /// Accessed otherwise.
    pub second: &'a AtomicU64,
    /// The chance of the first.
    pub chance: Chance,
    /// The thread's random numbers.
    pub random: Random,
    /// When to end.
    pub length: Length,
    /// The other thread to look for after every stretch of iterations.
    pub company: Option<Company<'a>>,
}

/// How often a thread accessed which word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Accesses to the first word.
    pub first: u64,
    /// Accesses to either.
    pub total: u64,
    /// Accesses to the first word in stretches in which the other thread ran, too.
    pub together: u64,
}

impl Choice<'_> {
    /// Runs the loop with the same operation on both words.
    pub fn run(self, operation: Operation) -> Taken {
        match operation {
            Operation::Store => self.run_with(Store, Store),
            Operation::Add => self.run_with(Add, Add),
            Operation::Cas => self.run_with(CompareAndSwap::default(), CompareAndSwap::default()),
            Operation::Swap => self.run_with(Swap, Swap),
        }
    }

    /// Runs the loop. The random number, its threshold, both counters and the value that a compare-and-swap has seen
    /// are locals that the compiler keeps in registers: an optimised iteration accesses memory once.
    #[inline(never)]
    pub fn run_with(self, mut on_first: impl Update, mut on_second: impl Update) -> Taken {
        let Self { first, second, chance, mut random, length, mut company } = self;
        let mut taken = Taken::default();
        // The compiler must not learn which words these are: it could then merge or drop accesses.
        let (first, second) = (black_box(first), black_box(second));
        for pass in length.passes() {
            let mut hits = 0;
            for _ in 0..pass {
                let number = random.next();
                if chance.hits(number) {
                    on_first.update(first, number);
                    hits += 1;
                } else {
                    on_second.update(second, number);
                }
            }
            taken.first += hits;
            taken.total += pass;
            if company.as_mut().is_some_and(Company::look) {
                taken.together += hits;
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(fraction: f64, iterations: u64) -> Taken {
        let (first, second) = (AtomicU64::new(0), AtomicU64::new(0));
        let choice = Choice {
            first: &first,
            second: &second,
            chance: Chance::new(fraction),
            random: Random::new(1, 0),
            length: Length::Iterations(iterations),
            company: None,
        };
        choice.run(Operation::Store)
    }

    #[test]
    fn the_fraction_is_realised() {
        // n coin flips of chance p: the share of hits has standard deviation sqrt(p(1-p)/n), 0.00043 here
        // for p = 1/4 and a million flips. Five of them are exceeded once in 1.7 million seeds.
        let (p, n) = (0.25_f64, 1_000_000_u64);
        let taken = taken(p, n);
        assert_eq!(taken.total, n);
        let bound = 5.0 * (p * (1.0 - p) / n as f64).sqrt();
        assert!((taken.first as f64 / n as f64 - p).abs() < bound);
    }

    #[test]
    fn the_ends_are_exact() {
        assert_eq!(taken(0.0, 5000), Taken { first: 0, total: 5000, together: 0 });
        assert_eq!(taken(1.0, 5000), Taken { first: 5000, total: 5000, together: 0 });
    }
}
