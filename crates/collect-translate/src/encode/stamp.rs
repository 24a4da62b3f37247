//! Reading the time-stamp counter into the thread's buffer, preserving the flags and all registers.

use super::{Emitter, GS};
use crate::lane::{
    records::{BUFFER_END, NO_STAMP_YET, STAMP_BYTES, STAMP_EVERY_BYTES, Token},
    registers::Gpr,
    slots::{POSITION, STAMP_AT, STAMPING},
};

/// `lfence; rdtsc`: the counter is read when everything before has been executed (Intel SDM volume 2, RDTSC).
const FENCED: [u8; 5] = [0x0f, 0xae, 0xe8, 0x0f, 0x31];

/// `rdtsc`
const PLAIN: [u8; 2] = [0x0f, 0x31];

impl Emitter {
    /// Saves RAX, RCX and RDX for [`give_back_after_stamp`](Self::give_back_after_stamp).
    pub fn keep_for_stamp(&mut self) {
        for (register, slot) in STAMPING {
            self.store_slot(register, slot);
        }
    }

    /// Appends a stamp to the buffer, which always has room for one, and sets when the next is due. `fenced`: the
    /// time is read after everything before has been executed.
    pub fn stamp(&mut self, fenced: bool) {
        const WORD: u32 = size_of::<u64>() as u32;
        self.load_slot(Gpr::RCX, POSITION);
        self.store_constant_behind(Gpr::RCX, BUFFER_END, Token::STAMP);
        self.raw(if fenced { &FENCED } else { &PLAIN });
        self.store_half_behind(Gpr::RCX, BUFFER_END + WORD, Gpr::RAX);
        self.store_half_behind(Gpr::RCX, BUFFER_END + WORD + WORD / 2, Gpr::RDX);
        self.step_far(Gpr::RCX, STAMP_BYTES);
        self.store_slot(Gpr::RCX, POSITION);
        self.step_far(Gpr::RCX, STAMP_EVERY_BYTES);
        self.store_slot(Gpr::RCX, STAMP_AT);
    }

    pub fn give_back_after_stamp(&mut self) {
        for (register, slot) in STAMPING {
            self.load_slot(register, slot);
        }
    }

    /// `mov qword gs:[STAMP_AT], …`: the next record begins with a stamp.
    pub fn make_stamp_due(&mut self) {
        self.raw(&[GS, 0x48, 0xc7, 0x04, 0x25]);
        self.word(STAMP_AT);
        self.word(NO_STAMP_YET as u32);
    }

    /// `cmp register, gs:[STAMP_AT]`
    pub fn compare_with_stamp_at(&mut self, register: Gpr) {
        self.gs_move(0x3b, register, STAMP_AT);
    }

    /// `mov gs:[base+displacement], half of register`; neither needs a prefix.
    fn store_half_behind(&mut self, base: Gpr, displacement: u32, register: Gpr) {
        self.raw(&[GS, 0x89, 0x80 | register.low() << 3 | base.low()]);
        self.word(displacement);
    }

    /// `lea register, [register+constant]`, the register needing no prefix.
    fn step_far(&mut self, register: Gpr, constant: u32) {
        self.raw(&[0x48, 0x8d, 0x80 | register.low() << 3 | register.low()]);
        self.word(constant);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::listing, *};

    #[test]
    fn encodings_say_what_their_names_say() {
        let code = |emit: fn(&mut Emitter)| listing(emit).join("; ");
        let [rax, rcx, rdx] = STAMPING.map(|(_, slot)| slot);
        assert_eq!(
            code(Emitter::keep_for_stamp),
            format!("mov gs:[{rax:X}h],rax; mov gs:[{rcx:X}h],rcx; mov gs:[{rdx:X}h],rdx")
        );
        assert_eq!(
            code(Emitter::give_back_after_stamp),
            format!("mov rax,gs:[{rax:X}h]; mov rcx,gs:[{rcx:X}h]; mov rdx,gs:[{rdx:X}h]")
        );
        let (end, token) = (BUFFER_END, Token::STAMP);
        let stamp = format!(
            "mov rcx,gs:[{POSITION:X}h]; mov qword ptr gs:[rcx+{end:X}h],{token:X}h; lfence; rdtsc; \
             mov gs:[rcx+{:X}h],eax; mov gs:[rcx+{:X}h],edx; lea rcx,[rcx+10h]; mov gs:[{POSITION:X}h],rcx; \
             lea rcx,[rcx+200h]; mov gs:[{STAMP_AT:X}h],rcx",
            end + 8,
            end + 12,
        );
        assert_eq!(code(|e| e.stamp(true)), stamp);
        assert_eq!(code(|e| e.stamp(false)), stamp.replace("lfence; ", ""));
        let due = format!("mov qword ptr gs:[{STAMP_AT:X}h],0FFFFFFFF80000000h");
        assert_eq!(code(Emitter::make_stamp_due), due);
        assert_eq!(code(|e| e.compare_with_stamp_at(Gpr(12))), format!("cmp r12,gs:[{STAMP_AT:X}h]"));
    }
}
