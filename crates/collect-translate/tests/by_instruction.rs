//! Counts by instruction: what each has executed, and that all of them together are what the threads have executed.
//!
//! One engine serves a process, so all tests share it, and take turns.
#![allow(clippy::unwrap_used)] // What a test cannot have fails it.

mod support;

use std::sync::{Mutex, MutexGuard, PoisonError};

use carom_collect_translate::{Counts, bound_cache};
use support::{counted, executed, kernels, run, sum, unsignalled};

/// The space that a fragment is given, in blocks, and a few more: an arena of this size is emptied over and over.
const FEW_BLOCKS: usize = 1024 + 60;

/// The test's turn: no other thread counts meanwhile.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    counted(kernels::sum, &raw const ZERO as u64, 0);
    unsignalled(|| bound_cache(usize::MAX, usize::MAX));
    executed();
    turn
}

static ZERO: u64 = 0;

/// `xor eax, eax; mov ecx, 10`, ten rounds of `add rax, [rdi]; dec rcx; jnz`, `ret`.
#[test]
fn each_instruction_of_a_loop_has_its_own() {
    let _turn = turn();
    counted(kernels::sum, &raw const ZERO as u64, 0);
    let found = executed();
    let column = |of: fn(&Counts) -> i64| found.iter().map(|(_, counts)| of(counts)).collect::<Vec<_>>();
    assert_eq!(column(|counts| counts.instructions), [1, 1, 10, 10, 10, 1]);
    assert_eq!(column(|counts| counts.loads), [0, 0, 10, 0, 0, 1]);
    assert_eq!(column(|counts| counts.loaded_bytes), [0, 0, 80, 0, 0, 8]);
    assert_eq!(column(|counts| counts.branches), [0, 0, 0, 0, 10, 1]);
    // The last jump falls through, which the block behind it counts.
    assert_eq!(column(|counts| counts.branches_taken), [0, 0, 0, 0, 9, 1]);
    assert_eq!(column(|counts| counts.returns), [0, 0, 0, 0, 0, 1]);
    assert!(found.is_sorted_by_key(|(ip, _)| *ip));
    assert_eq!(executed(), [], "told once");
}

/// Branches of all kinds, repeated instructions, calls.
#[test]
fn all_instructions_together_are_the_total() {
    let _turn = turn();
    let mut bytes = [0u8; 4096];
    let place = bytes.as_mut_ptr() as u64;
    for (function, a, b) in [
        (kernels::fib as support::Function, 15, 0),
        (kernels::branches, 10, 0),
        (kernels::followers, 10, 0),
        (kernels::followers, 0, 0),
        (support::format, place, 7),
        (support::sort, place, 1000),
    ] {
        let (_, totals) = counted(function, a, b);
        assert_eq!(sum(&executed()), totals.counts);
    }
}

/// What was counted in an arena is divided when that is emptied.
#[test]
fn a_small_cache_changes_nothing() {
    let _turn = turn();
    let mut text = [0u8; 64];
    let place = text.as_mut_ptr() as u64;
    let before = unsignalled(|| bound_cache(1, FEW_BLOCKS));
    let found: Vec<_> = (0..4)
        .map(|_| {
            let (_, first) = counted(support::format, place, 7);
            let (_, second) = counted(kernels::fib, 10, 0);
            let found = executed();
            let mut both = first.counts;
            both.join(&second.counts);
            assert_eq!(sum(&found), both);
            found
        })
        .collect();
    // The first run also binds symbols.
    assert_eq!(found[2], found[1]);
    assert_eq!(found[3], found[1]);
    assert!(unsignalled(|| bound_cache(1, FEW_BLOCKS)) > before, "it was large enough");
}

/// Threads that have ended have counted, too.
#[test]
fn all_threads_count() {
    let _turn = turn();
    let one = || run(kernels::fib, 15, 0).1;
    let totals: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut all = Counts::default();
    totals.iter().for_each(|totals| all.join(&totals.counts));
    assert_eq!(sum(&executed()), all);
}
