//! The ends of fragments: links, exits, and the gate at system calls.

use iced_x86::Instruction;

use super::Builder;
use crate::{
    blocks::gate,
    encode::marks::Undo,
    lane::exit::{Exit, Reason},
};

impl Builder<'_> {
    /// A system call: those that concern the translator leave the cache, the others are made in place. The choice
    /// uses RCX and R11, which the instruction destroys anyway, and preserves the flags.
    pub(super) fn system_call(&mut self, instruction: &Instruction) {
        let waiting = self.cache.mode().streams();
        let table = self.cache.arenas.get(self.index).map_or(0, |arena| arena.gate(waiting));
        let pc = instruction.ip();
        let back = self.code.here() + gate::BYTES;
        let stub = self.stub(Exit { reason: Reason::SystemCall, detail: 0, pc, back }, false);
        let Self { code, marks, .. } = self;
        gate::emit(code, table, stub, |at, undo| marks.push(at, pc, undo));
        debug_assert_eq!(self.code.here(), back);
        self.code.raw(&[0x0f, 0x05]);
        self.mark(instruction.next_ip(), Undo::Nothing);
        if waiting {
            self.code.make_stamp_due();
        }
    }

    /// The end of translated code: the thread continues natively at `pc`.
    pub(super) fn leave_at(&mut self, pc: u64) {
        let detail = self.code.here();
        let stub = self.stub(Exit { reason: Reason::Instruction, detail, pc, back: 0 }, false);
        self.code.jump(|_| stub);
    }

    pub(super) fn stub(&mut self, exit: Exit, flags_in_ax: bool) -> u64 {
        let (spilled, counting) = (self.spilled, self.looping.map(|looping| looping.counting));
        let arena = self.cache.arenas.get_mut(self.index);
        arena.map_or(0, |arena| arena.stub_restoring(exit, flags_in_ax, spilled, counting))
    }

    pub(super) fn literal(&mut self, value: u64) -> u64 {
        self.cache.arenas.get_mut(self.index).map_or(0, |arena| arena.literal(value))
    }

    /// `jmp` to the translation of `pc`, or to an exit stub that will patch this jump.
    pub(super) fn link(&mut self, pc: u64) {
        self.mark(pc, Undo::Nothing);
        let Self { cache, index, code, .. } = self;
        let known = cache.translations.known(cache.source.stands_for(pc), code);
        code.jump(|patch| cache.link_to(*index, pc, patch, known));
    }

    /// The same after a block, whose last instruction may be a branch that has `fallen` through.
    pub(super) fn link_behind(&mut self, pc: u64, fallen: bool) {
        if fallen {
            self.count_fall(pc);
        }
        self.link(pc);
    }

    pub(super) fn link_if(&mut self, condition: u8, pc: u64) {
        let Self { cache, index, code, .. } = self;
        let known = cache.translations.known(cache.source.stands_for(pc), code);
        code.jump_if(condition, |patch| cache.link_to(*index, pc, patch, known));
    }
}
