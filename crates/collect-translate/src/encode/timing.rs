//! Reading the time-stamp counter around an instruction.

use super::{Emitter, GS, REX_W};
use crate::lane::{
    registers::Gpr,
    slots::{TIMED_BEGIN, TIMED_END},
};

/// The bytes that a processor fetches from its caches at once.
const LINE: u64 = 64;

/// `lfence`
const FENCE: [u8; 3] = [0x0f, 0xae, 0xe8];

/// Bytes from the first fence to the second reading, without the instruction between them: 22 before it, 11 after it,
/// and one by which it may be longer than in its own place.
const BRACKET_BYTES: u64 = 34;

impl Emitter {
    /// `mov kept0, rax; mov kept1, rdx`: the reading of the counter destroys both.
    pub fn keep_rax_and_rdx(&mut self, kept: [Gpr; 2]) {
        let [rax, rdx] = kept;
        self.move_to(rax, Gpr::RAX);
        self.move_to(rdx, Gpr::RDX);
    }

    /// Notes the time in front of an instruction of `bytes` bytes, when everything before has been executed.
    /// Preserves the flags. RAX and RDX are saved in `kept`, and have their values again when the instruction runs.
    ///
    /// The whole bracket lies in one line, so that the time does not include a fetch.
    pub fn begin_bracket(&mut self, kept: [Gpr; 2], bytes: u64) {
        let left = LINE - self.here() % LINE;
        if left < BRACKET_BYTES + bytes {
            self.fill(left);
        }
        self.note_time(kept, TIMED_BEGIN);
        self.raw(&FENCE);
    }

    /// Notes the time after the instruction, when it has been executed.
    pub fn end_bracket(&mut self, kept: [Gpr; 2]) {
        self.note_time(kept, TIMED_END);
    }

    /// `lfence; rdtsc; mov gs:[slot], eax; mov rax, kept0; mov rdx, kept1`. A fence waits for everything before it,
    /// and nothing after it begins earlier (Intel SDM volume 2, LFENCE and RDTSC).
    fn note_time(&mut self, kept: [Gpr; 2], slot: u32) {
        let [rax, rdx] = kept;
        self.raw(&FENCE);
        self.raw(&[0x0f, 0x31]);
        self.raw(&[GS, 0x89, 0x04, 0x25]);
        self.word(slot);
        self.move_to(Gpr::RAX, rax);
        self.move_to(Gpr::RDX, rdx);
    }

    /// `mov into, from`
    pub fn move_to(&mut self, into: Gpr, from: Gpr) {
        self.raw(&[REX_W | from.high() << 2 | into.high(), 0x89, 0xc0 | from.low() << 3 | into.low()]);
    }

    /// `cmp qword gs:[slot], value`
    pub fn compare_slot(&mut self, slot: u32, value: i32) {
        self.raw(&[GS, REX_W, 0x81, 0x3c, 0x25]);
        self.word(slot);
        self.word(value as u32);
    }

    /// `lea register, [register+constant]`: an addition that preserves the flags.
    pub fn step(&mut self, register: Gpr, constant: i8) {
        /// A base of RSP or R12 needs a SIB byte.
        const SIB: u8 = 4;
        let (high, low) = (register.high(), register.low());
        self.raw(&[REX_W | high << 2 | high, 0x8d, 0x40 | low << 3 | low]);
        if low == SIB {
            self.raw(&[0x24]);
        }
        self.raw(&[constant as u8]);
    }

    /// `jcc` to a later address ([`lead`](Self::lead)), `condition` as in the opcode's low four bits.
    pub fn jump_if_ahead(&mut self, condition: u8) -> Ahead {
        self.raw(&[0x0f, 0x80 | condition]);
        let ahead = Ahead(self.bytes.len());
        self.word(0);
        ahead
    }

    /// Makes an earlier jump lead here.
    pub fn lead(&mut self, Ahead(at): Ahead) {
        let distance = (self.bytes.len() - at) as u32 - size_of::<u32>() as u32;
        if let Some(place) = self.bytes.get_mut(at..at + size_of::<u32>()) {
            place.copy_from_slice(&distance.to_le_bytes());
        }
    }

    /// nops of this many bytes in total (Intel SDM volume 2, NOP).
    fn fill(&mut self, bytes: u64) {
        const LONGEST: [u8; 9] = [0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
        const NOP: u8 = 0x90;
        let long = bytes / LONGEST.len() as u64;
        (0..long).for_each(|_| self.raw(&LONGEST));
        (0..bytes % LONGEST.len() as u64).for_each(|_| self.raw(&[NOP]));
    }
}

/// A jump whose target is still to be emitted.
#[derive(Debug)]
pub struct Ahead(usize);

#[cfg(test)]
mod tests {
    use super::{super::tests::listing, *};

    const KEPT: [Gpr; 2] = [Gpr(10), Gpr(3)];

    #[test]
    fn encodings_say_what_their_names_say() {
        let code = |emit: fn(&mut Emitter)| listing(emit).join("; ");
        assert_eq!(code(|e| e.keep_rax_and_rdx(KEPT)), "mov r10,rax; mov rbx,rdx");
        let noted = format!("lfence; rdtsc; mov gs:[{TIMED_END:X}h],eax; mov rax,r10; mov rdx,rbx");
        assert_eq!(code(|e| e.end_bracket(KEPT)), noted);
        assert_eq!(code(|e| e.compare_slot(0x100, -16)), "cmp qword ptr gs:[100h],0FFFFFFFFFFFFFFF0h");
        assert_eq!(code(|e| e.step(Gpr::RAX, 1)), "lea rax,[rax+1]");
        assert_eq!(code(|e| e.step(Gpr(12), 24)), "lea r12,[r12+18h]");
        assert_eq!(code(|e| e.step(Gpr(13), 24)), "lea r13,[r13+18h]");
        let ahead = code(|e| {
            let ahead = e.jump_if_ahead(8);
            e.raw(&[0x90]);
            e.lead(ahead);
            e.raw(&[0xc3]);
        });
        assert_eq!(ahead, "js 0000000010000007h; nop; ret");
    }

    /// From the first `lfence` to the second reading, with an instruction of any length between them.
    #[test]
    fn a_bracket_lies_in_one_line() {
        for before in 0..LINE {
            for bytes in 1..=15 {
                let mut code = Emitter::at(0x1000_0000 + before);
                code.begin_bracket(KEPT, bytes);
                let begin = code.here() - 22;
                let instruction = [0x90; 15];
                code.raw(&instruction[..bytes as usize]);
                code.keep_rax_and_rdx(KEPT);
                code.end_bracket(KEPT);
                // Behind the reading: a store of 8 bytes and two moves of 3.
                let end = code.here() - 14;
                assert_eq!(code.bytes()[(begin - code.start()) as usize..][..3], FENCE);
                assert_eq!(begin / LINE, (end - 1) / LINE, "{before} {bytes}");
            }
        }
    }
}
