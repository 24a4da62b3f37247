//! Machine code, appended byte by byte.
//!
//! Only the few instructions that the translator adds to the program's own have an encoder here; the program's
//! are copied. Encodings: Intel SDM volume 2.

mod address;
mod counters;
mod lanes;
pub mod loops;
pub mod marks;
mod stamp;
pub mod timing;

use crate::lane::{registers::Gpr, slots::Scratch};

const GS: u8 = 0x65;
const REX_W: u8 = 0x48;
/// A displacement that is patched must lie within an aligned group of this many bytes, so that no processor sees half
/// of it (AMD64 Architecture Programmer's Manual, volume 2, 7.3.2).
const ATOMIC: u64 = 8;
const REL32: u64 = 4;
/// The size of a move between a register and a place that is named by its distance from GS.
const GS_MOVE_BYTES: u64 = 9;

/// Code for a fixed address.
#[derive(Debug)]
pub struct Emitter {
    start: u64,
    bytes: Vec<u8>,
}

impl Emitter {
    /// Empty, at `start`.
    pub fn at(start: u64) -> Self {
        Self { start, bytes: Vec::with_capacity(1024) }
    }

    /// The same, in the memory of an earlier one.
    pub fn reusing(start: u64, mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        Self { start, bytes }
    }

    /// The bytes, as memory for a later one.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Empty, at `start`, with little room.
    pub fn small(start: u64) -> Self {
        Self { start, bytes: Vec::with_capacity(96) }
    }

    /// Where it begins.
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// The address of the next byte.
    pub fn here(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn word(&mut self, value: u32) {
        self.raw(&value.to_le_bytes());
    }

    /// The displacement of a relative operand, followed by `tail` more bytes of the instruction. Wrong for a place
    /// out of reach, which [`Self::reaches`] tells beforehand.
    fn relative(&mut self, to: u64, tail: u64) {
        let from = self.here().wrapping_add(REL32 + tail);
        self.word(to.wrapping_sub(from) as u32);
    }

    /// Whether relative operands here, and for some distance ahead, can name `to`.
    pub fn reaches(&self, to: u64) -> bool {
        const MARGIN: u64 = 1 << 16;
        (to.wrapping_sub(self.here()) as i64).unsigned_abs() < (1 << 31) - MARGIN
    }

    /// Pads with a nop until the four bytes that follow `opcode` bytes can be patched.
    fn align_patch(&mut self, opcode: u64) {
        /// nops of 1 to 3 bytes (Intel SDM volume 2, NOP).
        const NOPS: [&[u8]; 4] = [&[], &[0x90], &[0x66, 0x90], &[0x0f, 0x1f, 0x00]];
        let beyond = ((self.here() + opcode) % ATOMIC + REL32).saturating_sub(ATOMIC);
        // The displacement would begin in the last three bytes of a group: move it to the next one.
        let missing = if beyond == 0 { 0 } else { REL32 - beyond };
        self.raw(NOPS.get(missing as usize).copied().unwrap_or_default());
    }

    /// Pads with nops until this many bytes, at most 8, lie within an aligned quadword.
    pub fn align_within_word(&mut self, bytes: u64) {
        let offset = self.here() % ATOMIC;
        if offset + bytes > ATOMIC {
            self.pad(ATOMIC - offset);
        }
    }

    /// `mov gs:[scratch], register`
    pub fn spill(&mut self, register: Gpr, scratch: Scratch) {
        self.gs_move(0x89, register, scratch.offset());
    }

    /// `mov register, gs:[scratch]`
    pub fn reload(&mut self, register: Gpr, scratch: Scratch) {
        self.gs_move(0x8b, register, scratch.offset());
    }

    /// `mov register, gs:[offset]`
    pub fn load_slot(&mut self, register: Gpr, offset: u32) {
        self.gs_move(0x8b, register, offset);
    }

    /// `mov gs:[offset], register`
    pub fn store_slot(&mut self, register: Gpr, offset: u32) {
        self.gs_move(0x89, register, offset);
    }

    /// [`GS_MOVE_BYTES`] bytes.
    fn gs_move(&mut self, opcode: u8, register: Gpr, offset: u32) {
        self.raw(&[GS, REX_W | register.high() << 2, opcode, 0x04 | register.low() << 3, 0x25]);
        self.word(offset);
    }

    /// `jmp gs:[offset]`
    pub fn jump_gs(&mut self, offset: u32) {
        self.raw(&[GS, 0xff, 0x24, 0x25]);
        self.word(offset);
    }

    /// `lahf; seto al`: the arithmetic flags into AX.
    pub fn flags_to_ax(&mut self) {
        self.raw(&[0x9f, 0x0f, 0x90, 0xc0]);
    }

    /// `add al, 127; sahf`: the inverse.
    pub fn flags_from_ax(&mut self) {
        self.raw(&[0x04, 0x7f, 0x9e]);
    }

    /// `lea register, [rip+…]`
    pub fn address_of(&mut self, register: Gpr, to: u64) {
        self.raw(&[REX_W | register.high() << 2, 0x8d, 0x05 | register.low() << 3]);
        self.relative(to, 0);
    }

    /// `mov register, imm64`
    pub fn constant(&mut self, register: Gpr, value: u64) {
        self.raw(&[REX_W | register.high(), 0xb8 | register.low()]);
        self.raw(&value.to_le_bytes());
    }

    /// `lea into, [into+other]`, preserving the flags.
    pub fn add_flagless(&mut self, into: Gpr, other: Gpr) {
        // The base must not be encoded as r13 or rbp, which need a displacement; no caller passes them.
        self.raw(&[
            REX_W | into.high() << 2 | other.high() << 1 | into.high(),
            0x8d,
            0x04 | into.low() << 3,
            other.low() << 3 | into.low(),
        ]);
    }

    /// `push [rip+…]`
    pub fn push_literal(&mut self, literal: u64) {
        self.raw(&[0xff, 0x35]);
        self.relative(literal, 0);
    }

    /// `jmp to`, where the displacement can be patched. Returns the address of the displacement.
    pub fn jump(&mut self, to: impl FnOnce(u64) -> u64) -> u64 {
        self.align_patch(1);
        self.raw(&[0xe9]);
        self.patchable(to)
    }

    /// `jcc to`, `condition` as in the opcode's low four bits. Returns the address of the displacement.
    pub fn jump_if(&mut self, condition: u8, to: impl FnOnce(u64) -> u64) -> u64 {
        self.align_patch(2);
        self.raw(&[0x0f, 0x80 | condition]);
        self.patchable(to)
    }

    /// `jcc` to a place that [`lead_here`](Self::lead_here) tells. Returns the address of the displacement.
    pub fn jump_if_later(&mut self, condition: u8) -> u64 {
        self.raw(&[0x0f, 0x80 | condition]);
        self.patchable(|patch| patch + REL32)
    }

    /// Makes the jump with the displacement at `patch` lead to the next byte.
    pub fn lead_here(&mut self, patch: u64) {
        let displacement = self.here().wrapping_sub(patch + REL32) as u32;
        let at = patch.wrapping_sub(self.start) as usize;
        if let Some(place) = self.bytes.get_mut(at..at + REL32 as usize) {
            place.copy_from_slice(&displacement.to_le_bytes());
        }
    }

    /// `js to`, never patched.
    pub fn jump_if_negative(&mut self, to: u64) {
        self.raw(&[0x0f, 0x88]);
        self.relative(to, 0);
    }

    /// `jg to`, never patched.
    pub fn jump_if_positive(&mut self, to: u64) {
        self.raw(&[0x0f, 0x8f]);
        self.relative(to, 0);
    }

    /// `jnz to`, never patched.
    pub fn jump_if_not_zero(&mut self, to: u64) {
        self.raw(&[0x0f, 0x85]);
        self.relative(to, 0);
    }

    /// A displacement to the target that `to` returns for the displacement's address.
    fn patchable(&mut self, to: impl FnOnce(u64) -> u64) -> u64 {
        let patch = self.here();
        let to = to(patch);
        self.relative(to, 0);
        patch
    }

    /// Aligns for a `jmp rel32` behind `opcodes` bytes that the caller emits itself.
    pub fn align_for_jump_behind(&mut self, opcodes: u64) {
        self.align_patch(opcodes + 1);
    }

    /// `mov index, table/8; mov index16, target16; jmp [index*8 + rest]`: through the entry for the low 16 bits of
    /// the target. The table, a multiple of its size, lies at most at nearly 34 GiB: 32 GiB by the constant, 2 GiB by
    /// the rest.
    pub fn jump_through(&mut self, target: Gpr, index: Gpr, table: u64) {
        const ENTRY_BYTES: u64 = 8;
        /// The most that a 32-bit register holds above the index.
        const MOST: u64 = 0xffff_0000;
        let constant = (table / ENTRY_BYTES).min(MOST);
        let rest = table - constant * ENTRY_BYTES;
        if index.high() != 0 {
            self.raw(&[0x41]);
        }
        self.raw(&[0xb8 | index.low()]);
        self.word(constant as u32);
        self.raw(&[0x66]);
        if target.high() | index.high() != 0 {
            self.raw(&[0x40 | target.high() << 2 | index.high()]);
        }
        self.raw(&[0x89, 0xc0 | target.low() << 3 | index.low()]);
        if index.high() != 0 {
            self.raw(&[0x42]);
        }
        self.raw(&[0xff, 0x24, 0xc5 | index.low() << 3]);
        self.word(rest as u32);
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

    pub fn listing(emit: impl FnOnce(&mut Emitter)) -> Vec<String> {
        listing_at(0x1000_0000, emit)
    }

    pub fn listing_at(start: u64, emit: impl FnOnce(&mut Emitter)) -> Vec<String> {
        let mut code = Emitter::at(start);
        emit(&mut code);
        let mut formatter = IntelFormatter::new();
        Decoder::with_ip(64, code.bytes(), code.start(), DecoderOptions::NONE)
            .iter()
            .map(|instruction| {
                let mut text = String::new();
                formatter.format(&instruction, &mut text);
                text
            })
            .collect()
    }

    #[test]
    fn encodings_say_what_their_names_say() {
        let code = |emit: fn(&mut Emitter)| listing(emit).join("; ");
        assert_eq!(code(|e| e.spill(Gpr::R11, Scratch::A)), "mov gs:[8],r11");
        assert_eq!(code(|e| e.reload(Gpr::RSI, Scratch::C)), "mov rsi,gs:[18h]");
        assert_eq!(code(|e| e.count_down(0x1000_1000)), "sub qword ptr gs:[10001000h],1");
        assert_eq!(code(|e| e.count_down_by_rcx(0x1000_1000)), "sub gs:[10001000h],rcx");
        assert_eq!(code(|e| e.count_up_by_rcx(0xff0_1000)), "add gs:[0FF01000h],rcx");
        assert_eq!(code(Emitter::flags_to_ax), "lahf; seto al");
        assert_eq!(code(Emitter::flags_from_ax), "add al,7Fh; sahf");
        assert_eq!(code(|e| e.address_of(Gpr(10), 0x1000_0100)), "lea r10,[10000100h]");
        assert_eq!(code(|e| e.constant(Gpr(10), 1 << 40)), "mov r10,10000000000h");
        assert_eq!(code(|e| e.add_flagless(Gpr(10), Gpr::R11)), "lea r10,[r10+r11]");
        assert_eq!(code(|e| e.add_flagless(Gpr::RCX, Gpr::RSI)), "lea rcx,[rcx+rsi]");
        assert_eq!(code(|e| e.push_literal(0x1000_0040)), "push qword ptr [10000040h]");
        assert_eq!(
            code(|e| e.jump_through(Gpr::RSI, Gpr::RCX, 0x1c00_0000)),
            "mov ecx,3800000h; mov cx,si; jmp qword ptr [rcx*8]"
        );
        assert_eq!(
            code(|e| e.jump_through(Gpr::R11, Gpr(10), 0x7_ff80_0000)),
            "mov r10d,0FFF00000h; mov r10w,r11w; jmp qword ptr [r10*8]"
        );
        assert_eq!(
            code(|e| e.jump_through(Gpr::R11, Gpr::RAX, 0x8_7ff0_0000)),
            "mov eax,0FFFF0000h; mov ax,r11w; jmp qword ptr [rax*8+7FF80000h]"
        );
        assert_eq!(code(|e| e.jump_gs(0x28)), "jmp qword ptr gs:[28h]");
    }

    #[test]
    fn a_patched_displacement_is_written_in_one_piece() {
        for offset in 0..ATOMIC {
            let mut code = Emitter::at(0x1000_0000 + offset);
            let patch = code.jump(|_| 0x1000_4000);
            assert_eq!(patch / ATOMIC, (patch + 3) / ATOMIC, "offset {offset}");
            assert_eq!(code.here(), patch + 4);
        }
    }
}
