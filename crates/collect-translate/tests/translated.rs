//! Functions of this very process, run from the cache.
//!
//! One engine serves a process, so all tests share it, with exact counts.
#![allow(clippy::unwrap_used)] // What a test cannot have fails it.

mod support;

use support::{counted, kernels};

/// Ten rounds of `add rax, [rdi]; dec rcx; jnz`, then `ret`; before them `xor eax, eax` and `mov ecx, 10`.
#[test]
fn a_loop_is_counted_to_the_unit() {
    let value = 7u64;
    let (sum, totals) = counted(kernels::sum, &raw const value as u64, 0);
    assert_eq!(sum, 70);
    assert_eq!(totals.instructions, 2 + 3 * 10 + 1);
    // Ten words and the return address.
    assert_eq!((totals.loads, totals.stores), (11, 0));
    assert_eq!((totals.loaded_bytes, totals.stored_bytes), (88, 0));
    assert_eq!((totals.branches, totals.calls, totals.returns), (11, 0, 1));
    // The last jump falls through.
    assert_eq!(totals.branches_taken, 10);
}

/// fib(n) by plain recursion: calls, returns, pushes and pops. The result tells how many calls there were.
#[test]
fn recursion_returns_to_where_it_came_from() {
    let (result, totals) = counted(kernels::fib, 15, 0);
    assert_eq!(result, 610);
    // fib(15) makes 1973 calls in all (2 * fib(16) - 1), the first of them from outside.
    assert_eq!(totals.calls, 1972);
    assert_eq!(totals.returns, 1973);
    // Of its branches only those fall through that find 2 or more, in front of two calls each.
    assert_eq!(totals.branches - totals.branches_taken, 1972 / 2);
}

/// Conditions of all kinds, taken and not. Two branches follow one comparison: counting code between them must
/// preserve the flags.
#[test]
fn branches_that_fall_through_are_not_taken() {
    let (result, totals) = counted(kernels::branches, 10, 0);
    // 10 for each of 6 to 10, 100 for 5, and 1 for each of 1 to 4.
    assert_eq!(result, 154);
    // Executions, and how many of them fall through: `jb` 10, 6; `je` 6, 5; both `jmp` 9, 0; `jrcxz` 10, 10; `loop` 30, 10;
    // `jnz` 10, 1; `ret` 1, 0.
    assert_eq!((totals.branches, totals.branches_taken), (76, 76 - 32));
}

/// A block to which a branch falls through is counted with that branch; a jump there uses another entry. In the first
/// run of ten rounds both are made, the second one finds them, and the third jumps past the loop.
#[test]
fn blocks_behind_branches_are_counted_whichever_way_they_are_reached() {
    for rounds in [10, 10, 0] {
        let (result, totals) = counted(kernels::followers, rounds, 0);
        assert_eq!(result, rounds);
        // xor, test and jz; three for each round; ret.
        assert_eq!(totals.instructions, 3 + 3 * rounds as i64 + 1);
        // jz, jnz for each round, ret.
        assert_eq!(totals.branches, 1 + rounds as i64 + 1);
        // With rounds, jz falls through once, and so does the last jnz.
        assert_eq!(totals.branches - totals.branches_taken, if rounds == 0 { 0 } else { 2 });
    }
}

/// Flags go into functions and come back out of them, through direct and indirect calls, returns that were never called and
/// indirect jumps.
#[test]
fn flags_are_passed_across_calls_and_returns() {
    for rounds in [3, 1000] {
        let (result, _) = counted(kernels::passes_flags, rounds, 0);
        // Below 5 there are 1 to 4; the other three ways pass a carry each.
        assert_eq!(result, rounds.min(4) + 3 * rounds);
    }
}

/// A repeated store of 100 bytes and a comparison of two strings that differ in the sixth byte.
#[test]
fn repeated_instructions_count_their_iterations() {
    let mut buffer = [0u8; 128];
    let (_, totals) = counted(kernels::fill, buffer.as_mut_ptr() as u64, 100);
    assert!(buffer[..100].iter().all(|byte| *byte == b'x') && buffer[100] == 0);
    // mov eax, 'x'; mov rcx, rsi; rep stosb; ret
    assert_eq!((totals.instructions, totals.loads, totals.stores), (4, 1, 100));

    let (left, right) = (b"abcdefgh", b"abcdeXgh");
    let (rest, totals) = counted(kernels::compare, left.as_ptr() as u64, right.as_ptr() as u64);
    assert_eq!(rest, 2, "six of eight were compared");
    // mov ecx, 8; xchg rsi, rdi (three times mov); repe cmpsb; mov rax, rcx; ret
    assert_eq!((totals.loads, totals.stores), (2 * 6 + 1, 0));
}

/// Library functions: the C library's sort with a callback, and its formatting with vector code.
#[test]
fn library_code_gives_the_same_results() {
    let mut numbers: Vec<u32> = (0..1000u32).map(|n| n.wrapping_mul(2_654_435_761) % 1000).collect();
    let mut expected = numbers.clone();
    expected.sort_unstable();
    let (_, totals) = counted(support::sort, numbers.as_mut_ptr() as u64, numbers.len() as u64);
    assert_eq!(numbers, expected);
    assert!(totals.calls > 1000, "{totals:?}");

    let mut text = [0u8; 64];
    let (length, _) = counted(support::format, text.as_mut_ptr() as u64, 42);
    assert_eq!(&text[..length as usize], b"42 is 2a, 0.100 and carom");
}
