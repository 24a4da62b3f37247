//! Gathers and masked moves. `a`: an address; `b`: how often.

use std::arch::naked_asm;

/// Lanes of [`gather`] and of [`masked`] that are active.
pub const ACTIVE: u64 = 3;

/// `b` times: gathers three of the four words from `a` on. Needs AVX2.
#[unsafe(naked)]
pub unsafe extern "C" fn gather(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        // 64-bit indices 0, 1, 0, 1, and a mask without its last lane.
        "xor eax, eax",
        "vmovq xmm0, rax",
        "inc eax",
        "vmovq xmm1, rax",
        "vpunpcklqdq xmm0, xmm0, xmm1",
        "vinserti128 ymm0, ymm0, xmm0, 1",
        "vpcmpeqd xmm3, xmm3, xmm3",
        "vmovq xmm4, xmm3",
        "vinserti128 ymm3, ymm3, xmm4, 1",
        "2:",
        "vmovdqa ymm2, ymm3",
        "vpgatherqq ymm1, [rdi + 8 * ymm0], ymm2",
        "dec rsi",
        "jnz 2b",
        "vzeroupper",
        "ret",
    )
}

/// `b` times: loads three of the four words from `a` on, and stores them. Needs AVX2.
#[unsafe(naked)]
pub unsafe extern "C" fn masked(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "vpcmpeqd xmm3, xmm3, xmm3",
        "vmovq xmm4, xmm3",
        "vinserti128 ymm3, ymm3, xmm4, 1",
        "2:",
        "vpmaskmovq ymm1, ymm3, [rdi]",
        "vpmaskmovq [rdi], ymm3, ymm1",
        "dec rsi",
        "jnz 2b",
        "vzeroupper",
        "ret",
    )
}
