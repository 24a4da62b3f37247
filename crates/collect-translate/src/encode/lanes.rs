//! How many lanes of a vector are active.

use carom_base_insn::{Lanes, Mask};
use iced_x86::Register;

use super::Emitter;
use crate::lane::registers::Gpr;

/// In the last byte of a three-byte VEX prefix: 256 bits, and the prefix 66 that it stands for.
const WIDE: u8 = 0b100;
const PREFIX_66: u8 = 0b01;

/// In the first byte of a VEX prefix behind the escape: the destination is one of the first eight registers.
const VEX_LOW: u8 = 0x80;

impl Emitter {
    /// Sets `into` to the number of active lanes: the mask as bits, then `popcnt`. Destroys the flags. `into` is one
    /// of the eight registers that need no prefix.
    pub fn count_lanes(&mut self, into: Gpr, lanes: &Lanes) {
        let bits = self.bits_of_lanes(into, lanes);
        if lanes.count < bits {
            // and into, imm32
            self.raw(&[0x81, 0xe0 | into.low()]);
            self.word((1 << lanes.count) - 1);
        }
        // popcnt into, into
        self.raw(&[0xf3, 0x48, 0x0f, 0xb8, operands(into, into.low())]);
    }

    /// Sets `into` to the mask of active lanes, as bits. Returns the number of bits; those beyond the lanes have no
    /// meaning. Preserves the flags.
    pub fn bits_of_lanes(&mut self, into: Gpr, lanes: &Lanes) -> usize {
        match lanes.mask {
            Mask::Opmask(mask) => self.bits_of_opmask(into, mask, lanes.count),
            Mask::Signs(mask) => self.bits_of_signs(into, mask, lanes.lane_bytes),
        }
    }

    /// `kmov into, mask`, with as many bits as there are lanes, but at least sixteen. Returns the number of bits.
    fn bits_of_opmask(&mut self, into: Gpr, mask: Register, lanes: usize) -> usize {
        let operands = operands(into, mask.number() as u8);
        // The uppermost bit of a register's number is inverted in a VEX prefix.
        let low = VEX_LOW * (1 - into.high());
        match lanes {
            33.. => self.raw(&[0xc4, low | 0x61, 0xfb, 0x93, operands]),
            17.. => self.raw(&[0xc5, low | 0x7b, 0x93, operands]),
            _ => self.raw(&[0xc5, low | 0x78, 0x93, operands]),
        }
        match lanes {
            33.. => 64,
            17.. => 32,
            _ => 16,
        }
    }

    /// `movmskps`, `movmskpd` or `pmovmskb`, in the form that does not change the vector registers. Returns the
    /// number of bits.
    fn bits_of_signs(&mut self, into: Gpr, mask: Register, lane_bytes: u32) -> usize {
        const MOVMSK: u8 = 0x50;
        const PMOVMSKB: u8 = 0xd7;
        let (opcode, prefix) = match lane_bytes {
            4 => (MOVMSK, 0),
            8 => (MOVMSK, PREFIX_66),
            _ => (PMOVMSKB, PREFIX_66),
        };
        let number = mask.number() as u8;
        let rex = 0x40 | into.high() << 2;
        if mask.is_mm() {
            self.raw(&[rex, 0x0f, opcode]);
        } else if lane_bytes == 1 {
            // For bytes there are moves without VEX, for processors that do not have it.
            self.raw(&[0x66, rex | number >> 3, 0x0f, opcode]);
        } else {
            let wide = if mask.is_ymm() { WIDE } else { 0 };
            let low = VEX_LOW * (1 - into.high());
            let extended = if number < 8 { 0x61 } else { 0x41 };
            self.raw(&[0xc4, low | extended, 0x78 | wide | prefix, opcode]);
        }
        self.raw(&[operands(into, number)]);
        mask.size() / lane_bytes.max(1) as usize
    }
}

/// A ModRM byte of two registers, the second one's number modulo 8.
const fn operands(into: Gpr, number: u8) -> u8 {
    0xc0 | into.low() << 3 | number & 7
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::{super::tests::listing, *};

    /// The code in front of the instruction with these bytes.
    fn code(bytes: &[u8]) -> String {
        let instruction = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
        assert_eq!(instruction.len(), bytes.len());
        let lanes = Lanes::of(&instruction).expect("lanes");
        listing(|e| e.count_lanes(Gpr::RCX, &lanes)).join("; ")
    }

    #[test]
    fn masks_become_numbers() {
        // vmovdqu32 zmm1 {k2}, [rdi]: sixteen lanes
        assert_eq!(code(&[0x62, 0xf1, 0x7e, 0x4a, 0x6f, 0x0f]), "kmovw ecx,k2; popcnt rcx,rcx");
        // vmovdqu8 ymm1 {k7}, [rdi], and of zmm1
        assert_eq!(code(&[0x62, 0xf1, 0x7f, 0x2f, 0x6f, 0x0f]), "kmovd ecx,k7; popcnt rcx,rcx");
        assert_eq!(code(&[0x62, 0xf1, 0x7f, 0x4f, 0x6f, 0x0f]), "kmovq rcx,k7; popcnt rcx,rcx");
        // vpgatherdq ymm1 {k1}, [rdi+xmm2*8]: four lanes
        assert_eq!(
            code(&[0x62, 0xf2, 0xfd, 0x29, 0x90, 0x0c, 0xd7]),
            "kmovw ecx,k1; and ecx,0Fh; popcnt rcx,rcx"
        );
        // vpmaskmovd ymm1, ymm3, [rdi]; vpmaskmovq xmm1, xmm13, [rdi]
        assert_eq!(code(&[0xc4, 0xe2, 0x65, 0x8c, 0x0f]), "vmovmskps ecx,ymm3; popcnt rcx,rcx");
        assert_eq!(code(&[0xc4, 0xe2, 0x91, 0x8c, 0x0f]), "vmovmskpd ecx,xmm13; popcnt rcx,rcx");
        // vgatherqps xmm1, [rdi+xmm2*4], xmm3: two indices, and a mask of four lanes
        assert_eq!(
            code(&[0xc4, 0xe2, 0x61, 0x93, 0x0c, 0x97]),
            "vmovmskps ecx,xmm3; and ecx,3; popcnt rcx,rcx"
        );
        // maskmovdqu xmm1, xmm10; maskmovq mm1, mm2
        assert_eq!(code(&[0x66, 0x41, 0x0f, 0xf7, 0xca]), "pmovmskb ecx,xmm10; popcnt rcx,rcx");
        assert_eq!(code(&[0x0f, 0xf7, 0xca]), "pmovmskb ecx,mm2; popcnt rcx,rcx");
    }
    /// The same masks, into any register.
    #[test]
    fn masks_go_to_any_register() {
        let code = |bytes: &[u8]| {
            let lanes = Lanes::of(&Decoder::new(64, bytes, DecoderOptions::NONE).decode()).expect("lanes");
            let into = |register| listing(|e| _ = e.bits_of_lanes(register, &lanes)).join("; ");
            [into(Gpr::RCX), into(Gpr(11))]
        };
        assert_eq!(code(&[0x62, 0xf1, 0x7e, 0x4a, 0x6f, 0x0f]), ["kmovw ecx,k2", "kmovw r11d,k2"]);
        assert_eq!(code(&[0x62, 0xf1, 0x7f, 0x2f, 0x6f, 0x0f]), ["kmovd ecx,k7", "kmovd r11d,k7"]);
        assert_eq!(code(&[0x62, 0xf1, 0x7f, 0x4f, 0x6f, 0x0f]), ["kmovq rcx,k7", "kmovq r11,k7"]);
        assert_eq!(code(&[0xc4, 0xe2, 0x65, 0x8c, 0x0f]), ["vmovmskps ecx,ymm3", "vmovmskps r11d,ymm3"]);
        assert_eq!(code(&[0xc4, 0xe2, 0x91, 0x8c, 0x0f]), ["vmovmskpd ecx,xmm13", "vmovmskpd r11d,xmm13"]);
        assert_eq!(code(&[0x66, 0x41, 0x0f, 0xf7, 0xca]), ["pmovmskb ecx,xmm10", "pmovmskb r11d,xmm10"]);
        assert_eq!(code(&[0x0f, 0xf7, 0xca]), ["pmovmskb ecx,mm2", "pmovmskb r11d,mm2"]);
    }
}
