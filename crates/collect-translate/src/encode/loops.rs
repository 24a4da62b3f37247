//! Counting in a register, inside of a loop.

use super::{Emitter, GS, REX_W};
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
    /// `mov gs:[L], register; mov register, gs:[rip+…]`: the register holds the counter.
    pub fn begin_counting(&mut self, Counting { register, place }: Counting) {
        self.spill(register, Scratch::L);
        self.counter_move(0x8b, register, place);
    }

    /// `mov gs:[rip+…], register; mov register, gs:[L]`: the inverse.
    pub fn end_counting(&mut self, Counting { register, place }: Counting) {
        self.counter_move(0x89, register, place);
        self.reload(register, Scratch::L);
    }

    fn counter_move(&mut self, opcode: u8, register: Gpr, pseudo: u64) {
        self.raw(&[GS, REX_W | register.high() << 2, opcode, 0x05 | register.low() << 3]);
        self.relative(pseudo, 0);
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
        assert_eq!(code(&|e| e.end_counting(counting)), "mov gs:[0FF01000h],r9; mov r9,gs:[30h]");
        assert_eq!(code(&|e| e.decrement(Gpr::RDX)), "sub rdx,1");
        assert_eq!(code(&|e| e.decrement(Gpr(12))), "sub r12,1");
    }
}
