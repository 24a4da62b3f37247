//! Counts by instruction.

use std::collections::BTreeMap;

use super::totals::Counts;

/// What instructions have executed, by their addresses.
#[derive(Clone, Debug, Default)]
pub struct ByInstruction {
    counts: BTreeMap<u64, Counts>,
    /// How often branches have fallen through, by the address behind them.
    falls: BTreeMap<u64, i64>,
}

impl ByInstruction {
    /// The counts of the instruction at this address, to change them.
    pub fn at(&mut self, ip: u64) -> &mut Counts {
        self.counts.entry(ip).or_default()
    }

    /// The branch in front of this address was counted as taken, and has fallen through this often.
    pub fn fall(&mut self, behind: u64, times: i64) {
        if times != 0 {
            *self.falls.entry(behind).or_default() += times;
        }
    }

    /// Adds the counts of `other`.
    pub fn join(&mut self, other: Self) {
        for (ip, counts) in other.counts {
            self.at(ip).join(&counts);
        }
        for (behind, times) in other.falls {
            self.fall(behind, times);
        }
    }

    /// All instructions that have counted something, in the order of their addresses.
    pub fn into_counts(mut self) -> impl Iterator<Item = (u64, Counts)> {
        for (behind, times) in std::mem::take(&mut self.falls) {
            // It has been counted, unless it was told before: then its last byte stands for it.
            let branch = self.counts.range(..behind).rev().find(|(_, counts)| counts.branches > 0);
            let branch = branch.map_or(behind.saturating_sub(1), |(ip, _)| *ip);
            self.at(branch).branches_taken -= times;
        }
        self.counts.into_iter().filter(|(_, counts)| *counts != Counts::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_that_falls_through_is_the_one_in_front() {
        let mut all = ByInstruction::default();
        // Four times a comparison and a branch of two bytes, behind which the next block begins.
        for (ip, branches) in [(0x10, 0), (0x13, 1), (0x15, 0)] {
            let counts = Counts {
                instructions: 4,
                branches: 4 * branches,
                branches_taken: 4 * branches,
                ..Counts::default()
            };
            all.at(ip).join(&counts);
        }
        all.fall(0x15, 3);
        all.fall(0x40, 0);
        let mut more = ByInstruction::default();
        more.at(0x15).instructions -= 4;
        more.fall(0x15, -1);
        all.join(more);
        let taken: Vec<_> =
            all.into_counts().map(|(ip, counts)| (ip, counts.instructions, counts.branches_taken)).collect();
        assert_eq!(taken, [(0x10, 4, 0), (0x13, 4, 2)]);
    }

    #[test]
    fn a_branch_that_is_not_here_is_named_by_its_last_byte() {
        let mut all = ByInstruction::default();
        all.at(0x10).instructions = 1;
        all.fall(0x100, 2);
        assert_eq!(
            all.into_counts().map(|(ip, counts)| (ip, counts.branches_taken)).collect::<Vec<_>>(),
            [(0x10, 0), (0xff, -2)]
        );
    }
}
