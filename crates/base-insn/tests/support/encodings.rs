//! Instructions of every kind: legacy, VEX, XOP, 3DNow! and EVEX encodings of every opcode.

use iced_x86::{Code, DecoderOptions, Instruction, OpKind};

/// Bytes of each sequence; the instruction is shorter.
const LENGTH: usize = 24;
/// [rdi+…] with an index where one is asked for: the low bits of a ModRM byte.
const MEMORY: u8 = 0b100;
/// What follows it: [rdi+rcx*4+0x1f].
const ADDRESS: [u8; 5] = [0x8f, 0x1f, 0, 0, 0];
/// More than the decoder has codes.
const CODES: usize = 8192;

/// Calls `visit` with an example of each of the decoder's codes that exist in 64-bit mode, obsolete processors aside,
/// and of each combination of prefixes, mask, and kinds of operands that it comes with. Allocates nothing.
pub fn each(base: u64, mut visit: impl FnMut(&Instruction, &[u8])) {
    let mut seen = [0u64; CODES];
    every(|code| {
        let instruction = iced_x86::Decoder::with_ip(64, code, base, DecoderOptions::NONE).decode();
        let variant = 1u64 << variant(&instruction);
        let seen = &mut seen[instruction.code() as usize];
        if instruction.code() != Code::INVALID && *seen & variant == 0 {
            *seen |= variant;
            visit(&instruction, code);
        }
    });
}

/// A number below 64.
fn variant(instruction: &Instruction) -> u32 {
    let memory = instruction.op_kinds().any(|kind| kind == OpKind::Memory);
    let wide = instruction.memory_base().size() == 8;
    let repeated = instruction.has_rep_prefix() || instruction.has_repne_prefix();
    [
        memory,
        wide,
        repeated,
        instruction.has_repne_prefix(),
        instruction.has_lock_prefix(),
        instruction.has_op_mask(),
    ]
    .iter()
    .fold(0, |number, bit| number << 1 | u32::from(*bit))
}

/// Each opcode under each combination of prefixes that selects an instruction. Many are no instruction.
fn every(mut visit: impl FnMut(&[u8])) {
    for opcode in 0..=255 {
        legacy(opcode, &mut visit);
        vex_and_xop(opcode, &mut visit);
        evex(opcode, &mut visit);
        // 3DNow! has its opcode behind the operands.
        for modrm in [0x07, 0xc7] {
            visit(&joined([&[0x0f, 0x0f, modrm, opcode]]));
        }
    }
}

fn legacy(opcode: u8, visit: &mut impl FnMut(&[u8])) {
    const PREFIXES: [&[u8]; 11] = [
        &[],
        &[0x66],
        &[0xf2],
        &[0xf3],
        &[0xf0],
        &[0x67],
        &[0x66, 0xf2],
        &[0x66, 0xf3],
        &[0x67, 0x66],
        &[0x67, 0xf2],
        &[0x67, 0xf3],
    ];
    const REX: [&[u8]; 2] = [&[], &[0x48]];
    const ESCAPES: [&[u8]; 4] = [&[], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a]];
    for prefix in PREFIXES {
        for rex in REX {
            for escape in ESCAPES {
                // Groups of instructions without operands use all registers.
                let modrms = (0..8).map(|field| field << 3 | MEMORY).chain(0xc0..=0xff);
                for modrm in modrms {
                    visit(&joined([prefix, rex, escape, &[opcode, modrm], &ADDRESS]));
                }
            }
        }
    }
}

fn vex_and_xop(opcode: u8, visit: &mut impl FnMut(&[u8])) {
    for (escape, maps) in [(0xc4, 1..=3), (0x8f, 8..=10)] {
        for map in maps {
            for low in 0..16u8 {
                // No third register (inverted: all ones), or number 7.
                for third in [0x78, 0x40] {
                    // W, the register, L and pp.
                    let head = [escape, 0xe0 | map, (low & 8) << 4 | third | low & 7];
                    with_fields(&head, opcode, visit);
                }
            }
        }
    }
}

fn evex(opcode: u8, visit: &mut impl FnMut(&[u8])) {
    for map in [1, 2, 3, 5, 6] {
        for low in 0..8u8 {
            for third in [0x7c, 0x44] {
                // 128 to 512 bits; none, k2; broadcast or rounding; zeroing. The top bit of a third register is
                // stored inverted.
                for last in [0x08, 0x0a, 0x28, 0x2a, 0x48, 0x4a, 0x58, 0xca] {
                    let head = [0x62, 0xf0 | map, (low & 4) << 5 | third | low & 3, last];
                    with_fields(&head, opcode, visit);
                }
            }
        }
    }
}

fn with_fields(head: &[u8], opcode: u8, visit: &mut impl FnMut(&[u8])) {
    for field in 0..8 {
        for modrm in [field << 3 | MEMORY, 0xc0 | field << 3] {
            visit(&joined([head, &[opcode, modrm], &ADDRESS]));
        }
    }
}

fn joined<const N: usize>(parts: [&[u8]; N]) -> [u8; LENGTH] {
    let mut code = [0; LENGTH];
    for (place, byte) in code.iter_mut().zip(parts.into_iter().flatten()) {
        *place = *byte;
    }
    code
}
