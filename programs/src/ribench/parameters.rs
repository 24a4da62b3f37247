//! The parameters of listing 6.1, and their sums.

use serde_json::{Value, json};

/// One of the five loops over a private array: `a` and `a1` to `e` and `e1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// Passes over the array in each iteration of the outer loop.
    pub passes: u64,
    /// Accesses of one pass, and bytes of the array: even.
    pub accesses: u64,
}

/// How many private arrays each thread has.
pub const ARRAYS: usize = 5;

/// The names of their passes, in order; a `1` is appended for the accesses.
pub const NAMES: [&str; ARRAYS] = ["a", "b", "c", "d", "e"];

/// All parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Iterations of the outer loop.
    pub outer: u64,
    /// What each iteration does, in order.
    pub loops: [Repeated; ARRAYS],
    /// Stores to the shared array before each pass over a private one.
    pub inv: u64,
}

impl Parameters {
    /// Accesses of one pass, those to the shared array included: the distance from an access to the same one in the
    /// next pass, as table 6.4 counts it.
    pub fn pass(&self, of: Repeated) -> u64 {
        self.inv + of.accesses
    }

    /// Accesses of one thread in one iteration of the outer loop.
    pub fn round(&self) -> u64 {
        self.loops.iter().map(|&of| of.passes * self.pass(of)).sum()
    }

    /// Passes of one thread.
    pub fn passes(&self) -> u64 {
        self.outer * self.loops.iter().map(|of| of.passes).sum::<u64>()
    }

    /// The accesses of this many threads.
    pub fn accesses(&self, threads: u64) -> u64 {
        threads * self.outer * self.round()
    }

    /// Whether all these numbers, and those that follow from them, fit.
    pub fn are_countable(&self, threads: u64) -> bool {
        let round = self.loops.iter().try_fold(0_u64, |sum, of| {
            // Passes without accesses are counted, too.
            let pass = self.inv.checked_add(of.accesses)?.max(1);
            sum.checked_add(of.passes.checked_mul(pass)?)
        });
        round
            .and_then(|round| round.checked_mul(self.outer))
            .and_then(|accesses| accesses.checked_mul(threads))
            .is_some()
    }

    /// As an object, under the names of the listing.
    pub fn json(&self) -> Value {
        let mut object = json!({ "outer": self.outer, "inv": self.inv });
        for (name, of) in NAMES.into_iter().zip(self.loops) {
            object[name] = json!(of.passes);
            object[format!("{name}1")] = json!(of.accesses);
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_counted_is_known_before() {
        let of = |passes, accesses| Repeated { passes, accesses };
        let with =
            |first| Parameters { outer: 2, loops: [first, of(0, 0), of(0, 0), of(0, 0), of(0, 0)], inv: 1 };
        assert!(with(of(1 << 30, 1 << 30)).are_countable(2));
        // 2^31 * 2^30 * 2 * 2 = 2^63 is held, twice as many are not.
        assert!(with(of(1 << 31, (1 << 30) - 1)).are_countable(2));
        assert!(!with(of(1 << 31, (1 << 30) - 1)).are_countable(4));
        assert!(!with(of(1, u64::MAX)).are_countable(1));
    }
}
