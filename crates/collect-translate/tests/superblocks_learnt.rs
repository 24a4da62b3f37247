//! Branches that go one way mostly are found by what was counted, and given up when they no longer do.
#![allow(clippy::unwrap_used)] // What a test cannot have fails it.

mod support;

use carom_collect_translate::{biased_branches, look_at_branches_always};
use support::{counted, executed, kernels, sum, unsignalled};

const ROUNDS: u64 = 100_000;

/// As many as make a branch worth it, and some more.
const TIMES: u64 = 8;

/// Runs rounds of which those jump whose number has a bit of `mask`, and checks all that is known of them. Branches are looked at
/// between the times. Returns how many are known to go one way mostly.
#[track_caller]
fn run(mask: u64) -> usize {
    executed();
    let script = [ROUNDS, mask, TIMES];
    let (_, totals) = counted(kernels::leans_often, script.as_ptr() as u64, 0);
    let (rounds, times) = ((ROUNDS * TIMES) as i64, TIMES as i64);
    let jumps = times * (0..ROUNDS).filter(|round| round & mask != 0).count() as i64;
    let falls = rounds - jumps;
    assert_eq!(totals.instructions, 4 + times * (9 + 3) + 5 * rounds + jumps + 2 * falls + 3);
    // In each round two, and the jump over the other way; the loops, the calls and the returns.
    assert_eq!(totals.branches, 2 * rounds + falls + 3 * times + 1);
    assert_eq!(totals.branches - totals.branches_taken, falls + times + 1);
    let by_instruction = executed();
    assert_eq!(sum(&by_instruction), *totals);
    // What falls through does, what the others do, and what all do.
    for (wanted, instructions) in [(falls, 2), (jumps, 1), (rounds, 5)] {
        let found = by_instruction.iter().filter(|(_, counts)| counts.instructions == wanted).count();
        let expected = if falls == 0 && wanted == jumps {
            6
        } else if jumps == 0 && wanted == falls {
            7
        } else {
            instructions
        };
        assert!(wanted <= times || found == expected, "{wanted}: {by_instruction:?}");
    }
    unsignalled(biased_branches)
}

/// The branch of one loop falls through, which is found; then it jumps, and is left alone for good.
#[test]
fn a_branch_is_known_until_it_changes_its_mind() {
    counted(kernels::fib, 1, 0);
    unsignalled(look_at_branches_always);
    let never = 1 << 40;
    assert_eq!((run(never), run(never)), (1, 1));
    assert_eq!(run(7), 0);
    assert_eq!((run(u64::MAX), run(never), run(3)), (0, 0, 0));
}
