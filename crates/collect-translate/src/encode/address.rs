//! Code that computes addresses of the program's operands, stores them, and looks them up.

use super::{Emitter, GS, REX_W, marks::Spilled};
use crate::{
    decode::operand::Operand,
    lane::{registers::Gpr, slots::Scratch},
};

/// In ModRM: a SIB byte follows; in SIB: no index.
const SIB: u8 = 4;
const NO_INDEX: u8 = 4;
/// In SIB, with mode 0 in ModRM: no base, and a displacement of 32 bits.
const NO_BASE: u8 = 5;

impl Emitter {
    /// Restores the spilled registers to the program's values.
    pub fn restore_spilled(&mut self, spilled: Spilled) {
        match spilled {
            Spilled::None => {}
            Spilled::One(address) => self.reload(address, Scratch::T),
            Spilled::Two(position, address) => {
                self.reload(address, Scratch::T);
                self.reload(position, Scratch::P);
            }
        }
    }

    /// `add register, constant`
    pub fn add_constant(&mut self, register: Gpr, constant: u32) {
        let operand = 0xc0 | register.low();
        match i8::try_from(constant) {
            Ok(small) => self.raw(&[REX_W | register.high(), 0x83, operand, small as u8]),
            Err(_) => {
                self.raw(&[REX_W | register.high(), 0x81, operand]);
                self.word(constant);
            }
        }
    }

    /// `mov gs:[base+displacement], register`
    pub fn store_behind(&mut self, base: Gpr, displacement: u32, register: Gpr) {
        self.raw(&[GS, REX_W | register.high() << 2 | base.high(), 0x89]);
        self.based(register.low(), base, displacement);
    }

    /// `mov qword gs:[base+displacement], constant`, the constant below 2 GiB.
    pub fn store_constant_behind(&mut self, base: Gpr, displacement: u32, constant: u32) {
        self.raw(&[GS, REX_W | base.high(), 0xc7]);
        self.based(0, base, displacement);
        self.word(constant);
    }

    /// Compares the bytes of an entry that `mask` selects with 0: not equal where any is set. The entry is at
    /// `gs:[index*2+table]`, or at `gs:[table]`.
    pub fn test_entry(&mut self, index: Option<Gpr>, table: u32, mask: u16) {
        let [loads, stores] = mask.to_le_bytes().map(|byte| byte != 0);
        let rex = 0x40 | index.map_or(0, Gpr::high) << 1;
        // 7: cmp.
        let operands = [7 << 3 | SIB, 1 << 6 | index.map_or(NO_INDEX, Gpr::low) << 3 | NO_BASE];
        // cmp word, 0 or cmp byte, 0
        if loads && stores {
            self.raw(&[GS, 0x66, rex, 0x83]);
        } else {
            self.raw(&[GS, rex, 0x80]);
        }
        self.raw(&operands);
        self.word(if loads { table } else { table + 1 });
        self.raw(&[0]);
    }

    /// ModRM, SIB and displacement of `[base+displacement]`.
    fn based(&mut self, register: u8, base: Gpr, displacement: u32) {
        self.raw(&[0x80 | register << 3 | base.low()]);
        if base.low() == SIB {
            self.raw(&[NO_INDEX << 3 | SIB]);
        }
        self.word(displacement);
    }

    /// The address of `operand` into a register, preserving the flags: mostly `lea into, [operand]`. `into` must not
    /// be one of the operand's registers.
    pub fn effective_address(&mut self, into: Gpr, operand: &Operand) {
        let Operand { base, index, scale, displacement, fs, .. } = *operand;
        if fs {
            // rdfsbase into
            self.raw(&[0xf3, REX_W | into.high(), 0x0f, 0xae, 0xc0 | into.low()]);
            match (base, index) {
                (Some(base), index) => {
                    self.lea(into, Some(base), Some((into, 1)), displacement);
                    if let Some(index) = index {
                        self.lea(into, Some(into), Some((index, scale)), 0);
                    }
                }
                (None, index) => self.lea(into, Some(into), index.map(|index| (index, scale)), displacement),
            }
            return;
        }
        if base.is_some() || index.is_some() {
            self.lea(into, base, index.map(|index| (index, scale)), displacement);
        } else if self.reaches(displacement) {
            self.address_of(into, displacement);
        } else {
            self.constant(into, displacement);
        }
    }

    /// `lea into, [base+index*scale+displacement]`
    fn lea(&mut self, into: Gpr, base: Option<Gpr>, index: Option<(Gpr, u8)>, displacement: u64) {
        let high = |register: Option<Gpr>| register.map_or(0, Gpr::high);
        let (index, scale) = (index.map(|(index, _)| index), index.map_or(1, |(_, scale)| scale));
        self.raw(&[REX_W | into.high() << 2 | high(index) << 1 | high(base), 0x8d]);
        let small = i8::try_from(displacement as i64).ok().filter(|_| base.is_some());
        let mode = match (base, small) {
            (None, _) => 0,
            (Some(_), Some(_)) => 1,
            (Some(_), None) => 2,
        };
        let scale = scale.trailing_zeros() as u8;
        let (index, base) = (index.map_or(NO_INDEX, Gpr::low), base.map_or(NO_BASE, Gpr::low));
        self.raw(&[mode << 6 | into.low() << 3 | SIB, scale << 6 | index << 3 | base]);
        match small {
            Some(small) => self.raw(&[small as u8]),
            None => self.word(displacement as u32),
        }
    }

    /// The low 16 bits of the line number of the address in `register`: `shr register, 6; movzx register,
    /// register16`. Destroys the flags.
    pub fn line_of(&mut self, register: Gpr) {
        let (high, low) = (register.high(), register.low());
        self.raw(&[REX_W | high, 0xc1, 0xe8 | low, 6]);
        self.raw(&[0x40 | high << 2 | high, 0x0f, 0xb7, 0xc0 | low << 3 | low]);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::listing, *};

    fn operand(base: Option<u8>, index: Option<u8>, scale: u8, displacement: u64, fs: bool) -> Operand {
        let [base, index] = [base, index].map(|register| register.map(Gpr));
        Operand { nth: 0, base, index, scale, displacement, fs, width: 8, kind: carom_base::AccessKind::Load }
    }

    #[test]
    fn addresses_are_computed_as_the_operand_says() {
        let code =
            |into: u8, operand: Operand| listing(|e| e.effective_address(Gpr(into), &operand)).join("; ");
        assert_eq!(code(0, operand(Some(7), None, 1, 0, false)), "lea rax,[rdi]");
        assert_eq!(code(9, operand(Some(4), None, 1, (-8i64) as u64, false)), "lea r9,[rsp-8]");
        assert_eq!(code(1, operand(Some(13), Some(12), 8, 0x80, false)), "lea rcx,[r13+r12*8+80h]");
        assert_eq!(code(8, operand(Some(12), Some(13), 2, 0, false)), "lea r8,[r12+r13*2]");
        assert_eq!(code(8, operand(None, Some(5), 4, (-4096i64) as u64, false)), "lea r8,[rbp*4-1000h]");
        assert_eq!(code(8, operand(None, None, 1, 0x1000_2000, false)), "lea r8,[10002000h]");
        assert_eq!(code(8, operand(None, None, 1, 1 << 46, false)), "mov r8,400000000000h");
        assert_eq!(code(2, operand(None, None, 1, 0x28, true)), "rdfsbase rdx; lea rdx,[rdx+28h]");
        assert_eq!(
            code(15, operand(Some(3), Some(6), 4, 16, true)),
            "rdfsbase r15; lea r15,[rbx+r15+10h]; lea r15,[r15+rsi*4]"
        );
        assert_eq!(code(15, operand(None, Some(6), 4, 16, true)), "rdfsbase r15; lea r15,[r15+rsi*4+10h]");
    }

    #[test]
    fn buffers_and_tables_lie_behind_gs() {
        let code = |emit: fn(&mut Emitter)| listing(emit).join("; ");
        assert_eq!(code(|e| e.add_constant(Gpr(9), 16)), "add r9,10h");
        assert_eq!(code(|e| e.add_constant(Gpr(5), 0x408)), "add rbp,408h");
        assert_eq!(code(|e| e.store_behind(Gpr(12), 0x24000, Gpr(13))), "mov gs:[r12+24000h],r13");
        assert_eq!(code(|e| e.store_behind(Gpr(13), 0x24000, Gpr(4))), "mov gs:[r13+24000h],rsp");
        let token = code(|e| e.store_constant_behind(Gpr(12), 0x24000, 77));
        assert_eq!(token, "mov qword ptr gs:[r12+24000h],4Dh");
        assert_eq!(code(|e| e.test_entry(Some(Gpr(12)), 0x4000, 0xff)), "cmp byte ptr gs:[r12*2+4000h],0");
        assert_eq!(code(|e| e.test_entry(Some(Gpr(3)), 0x4000, 0xff00)), "cmp byte ptr gs:[rbx*2+4001h],0");
        assert_eq!(code(|e| e.test_entry(Some(Gpr(8)), 0x4000, 0xffff)), "cmp word ptr gs:[r8*2+4000h],0");
        assert_eq!(code(|e| e.test_entry(None, 0x4002, 0xff)), "cmp byte ptr gs:[4002h],0");
        assert_eq!(code(|e| e.line_of(Gpr(9))), "shr r9,6; movzx r9d,r9w");
        assert_eq!(code(|e| e.line_of(Gpr(7))), "shr rdi,6; movzx edi,di");
        assert_eq!(code(|e| e.load_slot(Gpr(9), 0x100)), "mov r9,gs:[100h]");
        assert_eq!(code(|e| e.store_slot(Gpr(3), 0x100)), "mov gs:[100h],rbx");
    }
}
