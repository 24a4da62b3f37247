//! Counting in a thread's own counter.
//!
//! A counter is named relative to GS, by an operand relative to RIP where that reaches. Otherwise the operand is
//! absolute, which is a byte longer, and took 1.2 ns in a chain of such counts, in which the other form took nothing:
//! presumably because the core renames memory only where it is named relative to a register.

use super::{Emitter, GS, REX_W};
use crate::lane::registers::Gpr;

/// The register field of `sub` with an immediate operand.
const SUB: Gpr = Gpr(5);

impl Emitter {
    /// `sub qword counter, 1`, of the counter at `place`, relative to GS.
    pub fn count_down(&mut self, place: u64) {
        self.with_counter(0x83, SUB, place, &[1]);
    }

    /// `sub counter, rcx`
    pub fn count_down_by_rcx(&mut self, place: u64) {
        self.with_counter(0x29, Gpr::RCX, place, &[]);
    }

    /// `add counter, rcx`
    pub fn count_up_by_rcx(&mut self, place: u64) {
        self.with_counter(0x01, Gpr::RCX, place, &[]);
    }

    /// `mov rax, counter; lea rax, [rax-1]; mov counter, rax`: preserves the flags, destroys RAX.
    pub fn count_down_through_rax(&mut self, place: u64) {
        self.load_counter(Gpr::RAX, place);
        self.step(Gpr::RAX, -1);
        self.store_counter(Gpr::RAX, place);
    }

    /// `mov register, counter`
    pub(super) fn load_counter(&mut self, register: Gpr, place: u64) {
        self.with_counter(0x8b, register, place, &[]);
    }

    /// The size of that.
    pub(super) fn bytes_to_load_counter(&self, place: u64) -> u64 {
        if self.reaches(place) { 8 } else { 9 }
    }

    /// `mov counter, register`
    pub(super) fn store_counter(&mut self, register: Gpr, place: u64) {
        self.with_counter(0x89, register, place, &[]);
    }

    fn with_counter(&mut self, opcode: u8, register: Gpr, place: u64, tail: &[u8]) {
        self.raw(&[GS, REX_W | register.high() << 2, opcode]);
        if self.reaches(place) {
            self.raw(&[0x05 | register.low() << 3]);
            self.relative(place, tail.len() as u64);
        } else {
            self.raw(&[0x04 | register.low() << 3, 0x25]);
            self.word(place as u32);
        }
        self.raw(tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::tests::listing_at;

    /// Both forms name the same counter.
    #[test]
    fn counters_near_the_code_and_far_from_it() {
        for (start, size) in [(0x1000_0000, 8), (0x7f00_1000_0000, 9)] {
            let code = |emit: fn(&mut Emitter)| listing_at(start, emit).join("; ");
            assert_eq!(
                code(|e| e.count_down_through_rax(0xff0_1000)),
                "mov rax,gs:[0FF01000h]; lea rax,[rax-1]; mov gs:[0FF01000h],rax"
            );
            assert_eq!(code(|e| e.count_down(0xff0_1000)), "sub qword ptr gs:[0FF01000h],1");
            assert_eq!(code(|e| e.count_down_by_rcx(0xff0_1000)), "sub gs:[0FF01000h],rcx");
            assert_eq!(code(|e| e.count_up_by_rcx(0xff0_1000)), "add gs:[0FF01000h],rcx");
            assert_eq!(code(|e| e.store_counter(Gpr(12), 0x0010_0008)), "mov gs:[100008h],r12");
            let mut emitter = Emitter::at(start);
            emitter.load_counter(Gpr(12), 0xff0_1000);
            assert_eq!(emitter.bytes().len() as u64, size);
            assert_eq!(Emitter::at(start).bytes_to_load_counter(0xff0_1000), size);
        }
    }
}
