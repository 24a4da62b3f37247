//! Code of which nothing is counted, so that a translation has no more than the program's own instructions.

mod support;

use std::arch::naked_asm;

use carom_collect_translate::Mode;
use support::run_as;

/// Jumps over what is no instruction, more often than a fragment has blocks, and returns 7.
#[unsafe(naked)]
unsafe extern "C" fn jumps(_a: u64, _b: u64) -> u64 {
    naked_asm!(".rept 40", "jmp 2f", "ud2", "2:", ".endr", "mov eax, 7", "ret",)
}

/// A fragment of jumps alone needs no code before it leads on.
#[test]
fn a_fragment_may_consist_of_jumps() {
    support::begin(Mode::Bare, &support::Tester);
    for _ in 0..3 {
        assert_eq!(run_as(0, jumps, 0, 0).0, 7);
    }
}
