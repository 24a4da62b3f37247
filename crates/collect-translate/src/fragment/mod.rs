//! From the program's code to the cache: one fragment, of up to [`MOST_BLOCKS`] blocks that follow each other.

mod count;
mod transfer;

use std::ops::Range;

use iced_x86::{Code as Opcode, FlowControl, Instruction};

use crate::{
    block::{Block, Decoded},
    cache::{Cache, Landing},
    emit::Emitter,
    exit::{Exit, Reason},
    marks::{Marks, Undo},
    mode::Mode,
    relocate,
    system::gate,
};

/// Longer fragments gain nothing; single blocks cost jumps.
const MOST_BLOCKS: usize = 16;

/// The opcode of the jump to a hook, and the bytes of it all: `jmp rel32`.
pub const HOOK_JUMP: u8 = 0xe9;
pub const HOOK_BYTES: u64 = 5;

/// Room that a fragment is given in each half of its arena: 16 blocks of 64 instructions with their additions.
pub const MOST_HOT: usize = 64 << 10;
pub const MOST_COLD: usize = 64 << 10;

/// A hook in front of one of a block's instructions. There may be several: one that reads and writes is drawn as either.
#[derive(Clone, Copy, Debug)]
pub struct Hooked {
    /// Which instruction of the block.
    pub instruction: usize,
    /// Which hook.
    pub hook: u64,
}

/// A fragment in the making.
struct Builder<'c> {
    cache: &'c mut Cache,
    /// Which arena.
    index: usize,
    code: Emitter,
    marks: Marks,
    /// From the first to the last byte that it was made from.
    original: Range<u64>,
}

/// Translates the code at `pc` for everybody's use. The cache address, or `None` where it cannot be translated.
pub fn translate(cache: &mut Cache, pc: u64) -> Option<u64> {
    let mut builder = Builder::begin(cache, pc)?;
    let entry = builder.code.here();
    let mut next = pc;
    for _ in 0..MOST_BLOCKS {
        let Some(block) = builder.decode(next) else { break };
        let after = builder.block(&block, &[], true);
        match after {
            Some(after) if builder.goes_on(pc, after) => next = after,
            Some(after) => {
                builder.link(after);
                return builder.finish().then_some(entry);
            }
            None => return builder.finish().then_some(entry),
        }
    }
    if builder.code.here() == entry {
        return None;
    }
    builder.link(next);
    builder.finish().then_some(entry)
}

/// Translates the block at `pc` once more, uncounted, with hooks in front of some of its instructions.
pub fn variant(cache: &mut Cache, pc: u64, hooks: &[Hooked]) -> Option<u64> {
    let mut builder = Builder::begin(cache, pc)?;
    let entry = builder.code.here();
    let block = builder.decode(pc)?;
    if let Some(after) = builder.block(&block, hooks, false) {
        builder.link(after);
    }
    builder.finish().then_some(entry)
}

impl<'c> Builder<'c> {
    fn begin(cache: &'c mut Cache, pc: u64) -> Option<Self> {
        let index = cache.room_near(pc)?;
        let start = cache.codes.get(index)?.next_hot();
        let (code, marks) = (Emitter::at(start), Marks::new(start, pc));
        Some(Self { cache, index, code, marks, original: pc..pc + 1 })
    }

    fn decode(&mut self, pc: u64) -> Option<Block> {
        let code = self.cache.code_after(pc)?;
        Block::decode(pc, code, &mut self.cache.accesses)
    }

    /// Whether the fragment that began at `first` goes on with the block at `next`.
    fn goes_on(&self, first: u64, next: u64) -> bool {
        !self.cache.blocks.contains_key(&next)
            && self.cache.regions.contains(first) == self.cache.regions.contains(next)
    }

    fn finish(self) -> bool {
        let Self { cache, index, code, marks, original } = self;
        cache.codes.get_mut(index).is_some_and(|arena| arena.add_fragment(&code, marks.finish(), original))
    }

    fn mark(&mut self, pc: u64, undo: Undo) {
        self.marks.push(self.code.here(), pc, undo);
    }

    /// One block. Returns where the program goes on behind it, `None` where the block's end leads elsewhere.
    fn block(&mut self, block: &Block, hooks: &[Hooked], shared: bool) -> Option<u64> {
        self.original = self.original.start.min(block.pc)..self.original.end.max(block.end());
        let mut first = Undo::Nothing;
        if shared {
            self.cache.blocks.insert(block.pc, self.code.here());
            if self.cache.mode != Mode::Bare {
                self.count_block(block);
                first = Undo::Counted;
            }
        }
        let transfers =
            block.last().is_some_and(|last| last.flow_control() != FlowControl::Next && !is_syscall(last));
        let copied = block.instructions.len() - usize::from(transfers);
        for (index, decoded) in block.instructions.iter().enumerate() {
            let Decoded { instruction, statics, .. } = decoded;
            self.mark(instruction.ip(), if index == 0 { first } else { Undo::Nothing });
            for hooked in hooks.iter().filter(|hooked| hooked.instruction == index) {
                self.hook(instruction.ip(), hooked.hook);
            }
            if index == copied {
                return self.transfer(instruction, shared);
            }
            let counted = self.cache.mode != Mode::Bare;
            let done = if is_syscall(instruction) {
                self.system_call(instruction);
                true
            } else if counted && statics.lanes {
                self.lanes(decoded)
            } else if counted && statics.repeated.is_some() {
                self.repeated(decoded)
            } else {
                self.copy(decoded)
            };
            if !done {
                self.leave_at(instruction.ip());
                return None;
            }
        }
        Some(block.end())
    }

    /// Copies an instruction. False where it must run in its own place.
    fn copy(&mut self, decoded: &Decoded) -> bool {
        let original = self.cache.original(&decoded.instruction);
        relocate::copy(&mut self.code, decoded, original)
    }

    /// A system call: those that concern us leave, the others happen in place. The choice is made with RCX and R11,
    /// which the instruction destroys anyway, and leaves the flags alone.
    fn system_call(&mut self, instruction: &Instruction) {
        let table = self.cache.codes.get(self.index).map_or(0, |arena| arena.gate());
        let pc = instruction.ip();
        let back = self.code.here() + gate::BYTES;
        let stub = self.stub(Exit { reason: Reason::SystemCall, detail: 0, pc, back }, false);
        let Self { code, marks, .. } = self;
        gate::emit(code, table, stub, |at, undo| marks.push(at, pc, undo));
        debug_assert_eq!(self.code.here(), back);
        self.code.raw(&[0x0f, 0x05]);
        self.mark(instruction.next_ip(), Undo::Nothing);
    }

    /// The end of the translated way: the thread goes on natively at `pc`.
    fn leave_at(&mut self, pc: u64) {
        let detail = self.code.here();
        let stub = self.stub(Exit { reason: Reason::Instruction, detail, pc, back: 0 }, false);
        self.code.jump(|_| stub);
    }

    fn stub(&mut self, exit: Exit, flags_in_ax: bool) -> u64 {
        self.cache.codes.get_mut(self.index).map_or(0, |arena| arena.stub(exit, flags_in_ax))
    }

    fn literal(&mut self, value: u64) -> u64 {
        self.cache.codes.get_mut(self.index).map_or(0, |arena| arena.literal(value))
    }

    /// `jmp` to the translation of `pc`, or to a way out that will make this jump lead there.
    fn link(&mut self, pc: u64) {
        self.mark(pc, Undo::Nothing);
        let Self { cache, index, code, .. } = self;
        let known = cache.known(pc, code);
        code.jump(|patch| cache.link_to(*index, pc, patch, known));
    }

    fn link_if(&mut self, condition: u8, pc: u64) {
        let Self { cache, index, code, .. } = self;
        let known = cache.known(pc, code);
        code.jump_if(condition, |patch| cache.link_to(*index, pc, patch, known));
    }
}

/// A landing for `pc` by itself, in front of its translation at `body`.
pub fn landing(cache: &mut Cache, landing: Landing, pc: u64, body: u64) -> Option<u64> {
    let code = cache.stands_for(pc);
    let mut builder = Builder::begin(cache, code)?;
    let entry = builder.code.here();
    builder.landing(landing, pc);
    if builder.code.reaches(body) {
        builder.code.jump(|_| body);
    } else {
        builder.link(code);
    }
    builder.finish().then_some(entry)
}

fn is_syscall(instruction: &Instruction) -> bool {
    instruction.code() == Opcode::Syscall
}
