//! Counting upwards.

use super::{Emitter, GS, Gpr, REX_W};

impl Emitter {
    /// `add qword gs:[rip+…], 1`, the operand relative to GS being `pseudo`. Destroys the flags.
    pub fn count_up(&mut self, pseudo: u64) {
        self.raw(&[GS, REX_W, 0x83, 0x05]);
        self.relative(pseudo, 1);
        self.raw(&[1]);
    }

    /// `mov rax, gs:[rip+…]; lea rax, [rax+difference]; mov gs:[rip+…], rax`: leaves the flags as they are. Destroys RAX.
    pub fn count_through_rax(&mut self, pseudo: u64, difference: i8) {
        self.raw(&[GS, REX_W, 0x8b, 0x05]);
        self.relative(pseudo, 0);
        self.step(Gpr::RAX, difference);
        self.raw(&[GS, REX_W, 0x89, 0x05]);
        self.relative(pseudo, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::listing;

    #[test]
    fn counters_go_up_by_one() {
        let code = |emit: fn(&mut super::Emitter)| listing(emit).join("; ");
        assert_eq!(code(|e| e.count_up(0x1000_1000)), "add qword ptr gs:[10001000h],1");
        assert_eq!(
            code(|e| e.count_through_rax(0xff0_1000, -1)),
            "mov rax,gs:[0FF01000h]; lea rax,[rax-1]; mov gs:[0FF01000h],rax"
        );
    }
}
