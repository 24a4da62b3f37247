//! Which way branches go mostly, by what was counted.

use rustc_hash::FxHashMap;

/// Where a branch leads mostly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bias {
    /// To the instruction behind it.
    Falls,
    /// To its target.
    Jumps,
}

/// What is known of branches, by their addresses.
#[derive(Debug, Default)]
pub struct Likely {
    known: FxHashMap<u64, Option<Bias>>,
    /// For tests: all branches have a bias.
    all: bool,
}

impl Likely {
    /// Where the branch at `ip` leads mostly, if it is worth a superblock.
    pub fn bias(&self, ip: u64) -> Option<Bias> {
        let assumed = || self.all.then_some(if ip & 1 == 0 { Bias::Falls } else { Bias::Jumps });
        self.known.get(&ip).copied().unwrap_or_else(assumed)
    }

    /// The branch at `ip` has this bias, or none any more. Returns whether that is news: a branch that has changed its mind once is
    /// left alone.
    pub fn learn(&mut self, ip: u64, bias: Option<Bias>) -> bool {
        match self.known.get(&ip) {
            None => self.known.insert(ip, bias).is_none(),
            Some(Some(_)) if bias.is_none() => self.known.insert(ip, None).is_some(),
            Some(_) => false,
        }
    }

    /// The number of branches with a bias.
    pub fn biased(&self) -> usize {
        self.known.values().flatten().count()
    }

    /// Takes each branch for one with a bias, to either side, until it is known not to have one.
    pub const fn assume_all(&mut self) {
        self.all = true;
    }
}
