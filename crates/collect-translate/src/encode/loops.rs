//! Counting in a register, inside of a loop.

use super::{ATOMIC, Emitter, GS_MOVE_BYTES, REL32, REX_W};
use crate::lane::{registers::Gpr, slots::Scratch};

/// A counter that a register holds.
#[derive(Clone, Copy, Debug)]
pub struct Counting {
    /// Its own value is in `Scratch::L`.
    pub register: Gpr,
    /// Where the counter lies, relative to GS.
    pub place: u64,
}

impl Emitter {
    /// `mov gs:[L], register; mov register, counter`: the register holds the counter.
    pub fn begin_counting(&mut self, Counting { register, place }: Counting) {
        self.spill(register, Scratch::L);
        self.load_counter(register, place);
    }

    /// The size of that, for a counter at `place`.
    pub fn bytes_to_begin_counting(&self, place: u64) -> u64 {
        GS_MOVE_BYTES + self.bytes_to_load_counter(place)
    }

    /// `mov counter, register; mov register, gs:[L]`: the inverse.
    pub fn end_counting(&mut self, Counting { register, place }: Counting) {
        self.store_counter(register, place);
        self.reload(register, Scratch::L);
    }

    /// Pads in front of a loop that begins `before` bytes later and has `bytes`, of which the last are a displacement that
    /// can be patched. A short loop takes twice as long where it crosses a line of 64 bytes (docs/techniques.md, Counts).
    /// And there must be no padding inside, least of all between a comparison and its jump.
    pub fn align_loop(&mut self, before: u64, bytes: u64) {
        const LINE: u64 = 64;
        let top = |pad: u64| self.here() + pad + before;
        let lines = |pad| (top(pad) + bytes - 1) / LINE - top(pad) / LINE;
        let is_whole = |pad| (top(pad) + bytes - REL32) % ATOMIC + REL32 <= ATOMIC;
        let pad = (0..LINE).filter(|&pad| is_whole(pad)).min_by_key(|&pad| (lines(pad), pad));
        self.pad(pad.unwrap_or(0));
    }

    /// `nop`, this many bytes (Intel SDM volume 2, NOP).
    pub(super) fn pad(&mut self, mut bytes: u64) {
        const LONGEST: [u8; 8] = [0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
        while bytes >= LONGEST.len() as u64 {
            self.raw(&LONGEST);
            bytes -= LONGEST.len() as u64;
        }
        (0..bytes).for_each(|_| self.raw(&[0x90]));
    }

    /// `sub register, 1`
    pub fn decrement(&mut self, register: Gpr) {
        self.raw(&[REX_W | register.high(), 0x83, 0xe8 | register.low(), 1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::tests::listing;

    #[test]
    fn a_counter_goes_to_a_register_and_back() {
        let counting = Counting { register: Gpr(9), place: 0xff0_1000 };
        let code = |emit: &dyn Fn(&mut Emitter)| listing(|e| emit(e)).join("; ");
        assert_eq!(code(&|e| e.begin_counting(counting)), "mov gs:[30h],r9; mov r9,gs:[0FF01000h]");
        for place in [0xff0_1000, 0x5000_1000] {
            let mut code = Emitter::at(0x7f00_1000_0000 * (place >> 30));
            let bytes = code.bytes_to_begin_counting(place);
            code.begin_counting(Counting { register: Gpr(9), place });
            assert_eq!(code.bytes().len() as u64, bytes);
        }
        assert_eq!(code(&|e| e.end_counting(counting)), "mov gs:[0FF01000h],r9; mov r9,gs:[30h]");
        assert_eq!(code(&|e| e.decrement(Gpr::RDX)), "sub rdx,1");
        assert_eq!(code(&|e| e.decrement(Gpr(12))), "sub r12,1");
    }

    #[test]
    fn a_loop_lies_in_as_few_lines_as_it_can() {
        for (start, bytes) in (0..64).flat_map(|start| [20, 35, 64, 70, 200].map(|bytes| (start, bytes))) {
            let mut code = Emitter::at(0x1000_0000 + start);
            code.align_loop(17, bytes);
            let top = code.here() + 17;
            let lines = (top + bytes - 1) / 64 - top / 64 + 1;
            // 64 bytes would have to begin with a line, and then the displacement is whole.
            assert_eq!(lines, bytes.div_ceil(64), "{start} {bytes}");
            assert!((top + bytes - 4) % 8 <= 4, "{start} {bytes}");
        }
    }
}
