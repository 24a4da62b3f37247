//! Chains of addresses, each in a line of its own.

use std::arch::naked_asm;

/// Lines that certainly fit into a first-level cache, and lines that fit into no cache: 8 KiB and 256 MiB.
pub const NEAR_LINES: usize = 128;
pub const FAR_LINES: usize = 4 << 20;

/// Loads of one run.
pub const VISITS: u64 = 20_000;

/// A line that holds the address of the next.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([u64; 8]);

/// A ring of lines.
pub struct Chain(Vec<Line>);

impl Chain {
    pub fn first(&self) -> u64 {
        self.0.as_ptr() as u64
    }
}

/// A ring of `count` lines, each far from the one before. The number is a power of two, and the steps of a
/// full-period congruential generator are its order (Knuth, The Art of Computer Programming, volume 2, 3.2.1.2).
pub fn chain(lines: usize) -> Chain {
    const MULTIPLIER: usize = 6_364_136_223_846_793_005;
    const INCREMENT: usize = 1_442_695_040_888_963_407;
    let mut chain = Chain(vec![Line([0; 8]); lines]);
    let first = chain.first();
    let mut at = 0usize;
    for _ in 0..lines {
        let next = at.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) % lines;
        chain.0[at].0[0] = first + (next * size_of::<Line>()) as u64;
        at = next;
    }
    assert_eq!(at, 0, "all lines are one ring");
    chain
}

/// Follows the chain at `a`, `b` times.
#[unsafe(naked)]
pub unsafe extern "C" fn walk(_a: u64, _b: u64) -> u64 {
    naked_asm!("nop", "2:", "mov rdi, [rdi]", "dec rsi", "jnz 2b", "mov rax, rdi", "ret")
}

/// Where its load is.
pub fn load() -> u64 {
    const NOP_BYTES: u64 = 1;
    walk as *const () as u64 + NOP_BYTES
}
