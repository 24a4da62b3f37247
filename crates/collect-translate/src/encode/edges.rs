//! Counting that preserves the flags.

use super::{Emitter, GS, REX_W};
use crate::lane::registers::Gpr;

impl Emitter {
    /// `mov rax, gs:[rip+…]; lea rax, [rax-1]; mov gs:[rip+…], rax`, where `pseudo` is the operand relative to GS.
    /// Preserves the flags, destroys RAX.
    pub fn count_down_through_rax(&mut self, pseudo: u64) {
        self.raw(&[GS, REX_W, 0x8b, 0x05]);
        self.relative(pseudo, 0);
        self.step(Gpr::RAX, -1);
        self.raw(&[GS, REX_W, 0x89, 0x05]);
        self.relative(pseudo, 0);
    }
}

#[cfg(test)]
mod tests {
    use crate::encode::tests::listing;

    #[test]
    fn counters_go_down_by_one() {
        let code = |emit: fn(&mut super::Emitter)| listing(emit).join("; ");
        assert_eq!(
            code(|e| e.count_down_through_rax(0xff0_1000)),
            "mov rax,gs:[0FF01000h]; lea rax,[rax-1]; mov gs:[0FF01000h],rax"
        );
    }
}
