//! Gathers, scatters and masked moves. `a`: an address; `b`: the number of rounds.

use std::arch::naked_asm;

use carom_base::AccessKind;
use iced_x86::{Decoder, DecoderOptions};

use super::support::Function;

/// What [`signs`] and [`opmasks`] work on.
#[repr(C, align(64))]
pub struct Vectors {
    words: [u64; 8],
    halves: [u32; 16],
    indices: [u32; 16],
    wide_indices: [u64; 8],
    wide_signs: [u64; 4],
    signs: [u32; 8],
    stored: [u32; 32],
}

/// Active lanes of [`Vectors::wide_signs`], of [`Vectors::signs`], and of the mask register.
const WIDE_ACTIVE: [u64; 3] = [0, 1, 3];
const SIGNS_ACTIVE: [u64; 5] = [1, 2, 4, 5, 7];
const OPMASK_ACTIVE: [u64; 8] = [0, 1, 6, 7, 8, 10, 13, 15];

/// Elements are gathered and scattered in another order than they have in memory.
const fn permuted(lane: u64) -> u64 {
    lane * 5 % 16
}

impl Vectors {
    pub fn new() -> Box<Self> {
        // Bits below the top one have no meaning.
        let sign = |active: bool| if active { u32::MAX << 31 } else { u32::MAX >> 1 };
        let wide = |active| u64::from(sign(active)) << 32;
        Box::new(Self {
            words: [3; 8],
            halves: [5; 16],
            indices: std::array::from_fn(|lane| permuted(lane as u64) as u32),
            wide_indices: std::array::from_fn(|lane| permuted(lane as u64) % 8),
            wide_signs: std::array::from_fn(|lane| wide(WIDE_ACTIVE.contains(&(lane as u64)))),
            signs: std::array::from_fn(|lane| sign(SIGNS_ACTIVE.contains(&(lane as u64)))),
            stored: [0; 32],
        })
    }
}

/// An access of a loop of lanes: the number of its instruction, the offset in [`Vectors`], bytes, what.
pub type Lane = (usize, u64, u32, AccessKind);

/// Where the parts of [`Vectors`] lie.
const HALVES: u64 = 64;
const STORED: u64 = 320;

macro_rules! signs {
    ($name:ident, $count:literal) => {
        /// `b` rounds of gathers and masked moves whose masks are signs. Needs AVX2.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name(_a: u64, _b: u64) -> u64 {
            naked_asm!(
                "vmovdqu ymm0, [rdi + 192]",
                "vmovdqu ymm13, [rdi + 256]",
                "vmovdqu ymm4, [rdi + 288]",
                "2:",
                "vmovdqa ymm2, ymm13",
                "vpgatherqq ymm1, [rdi + 8 * ymm0], ymm2",
                "vpmaskmovq ymm1, ymm13, [rdi]",
                "vpmaskmovq [rdi], ymm13, ymm1",
                "vpmaskmovd ymm5, ymm4, [rdi + 64]",
                "vmaskmovps [rdi + 320], ymm4, ymm5",
                $count,
                "jnz 2b",
                "vzeroupper",
                "ret",
            )
        }
    };
}

// `dec` preserves one flag, which must then be kept around counting code; `sub` preserves none.
signs!(signs_among_flags, "dec rsi");
signs!(signs, "sub rsi, 1");

/// Loads of [`signs`] in front of its rounds.
pub const SIGNS_PREPARES: u64 = 3;

/// The lanes of one round of [`signs`], in their order.
pub fn of_signs() -> Vec<Lane> {
    use AccessKind::{Load, Store};
    let wide = |number, at: fn(u64) -> u64, kind| WIDE_ACTIVE.map(|lane| (number, at(lane), 8, kind));
    let narrow = |number, from, kind| SIGNS_ACTIVE.map(|lane| (number, from + 4 * lane, 4, kind));
    let in_order = |lane| 8 * lane;
    let mut all = wide(4, |lane| 8 * (permuted(lane) % 8), Load).to_vec();
    all.extend(wide(5, in_order, Load).into_iter().chain(wide(6, in_order, Store)));
    all.extend(narrow(7, HALVES, Load).into_iter().chain(narrow(8, STORED, Store)));
    all
}

macro_rules! opmasks {
    ($name:ident, $count:literal) => {
        /// `b` rounds of gathers, scatters and masked moves whose masks are in mask registers. Needs AVX-512.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name(_a: u64, _b: u64) -> u64 {
            naked_asm!(
                "mov eax, 0b1010010111000011",
                "kmovd k1, eax",
                // Three lanes of four.
                "mov eax, 0b11111011",
                "kmovd k3, eax",
                "mov rax, 0x8000000100000001",
                "kmovq k4, rax",
                "vmovdqu32 zmm2, [rdi + 128]",
                "2:",
                "kmovq k2, k1",
                "vpgatherdd zmm1{{k2}}, [rdi + 4 * zmm2 + 64]",
                "kmovq k2, k1",
                "vpscatterdd [rdi + 4 * zmm2 + 320]{{k2}}, zmm1",
                "vmovdqu64 ymm17{{k3}}, [rdi]",
                "vpcompressd [rdi + 320]{{k1}}, zmm1",
                "vmovdqu8 [rdi + 320]{{k4}}, zmm1",
                $count,
                "jnz 2b",
                "vzeroupper",
                "ret",
            )
        }
    };
}

opmasks!(opmasks_among_flags, "dec rsi");
opmasks!(opmasks, "sub rsi, 1");

/// Loads of [`opmasks`] in front of its rounds.
pub const OPMASKS_PREPARES: u64 = 1;

/// The lanes of one round of [`opmasks`], in their order.
pub fn of_opmasks() -> Vec<Lane> {
    use AccessKind::{Load, Store};
    let indexed = |number, from, kind| OPMASK_ACTIVE.map(|lane| (number, from + 4 * permuted(lane), 4, kind));
    let mut all = indexed(8, HALVES, Load).to_vec();
    all.extend(indexed(10, STORED, Store));
    all.extend([0, 1, 3].map(|lane| (11, 8 * lane, 8, Load)));
    // Active ones are adjacent.
    all.extend((0..OPMASK_ACTIVE.len() as u64).map(|nth| (12, STORED + 4 * nth, 4, Store)));
    all.extend([0, 32, 63].map(|lane| (13, STORED + lane, 1, Store)));
    all
}

/// The addresses of a loop's instructions.
pub fn instructions(function: Function) -> Vec<u64> {
    const MOST: usize = 20;
    let start = function as *const () as u64;
    // SAFETY: the function's own code, and what lies behind it.
    let code = unsafe { std::slice::from_raw_parts(function as *const u8, 200) };
    let decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
    decoder.into_iter().map(|instruction| instruction.ip()).take(MOST).collect()
}
