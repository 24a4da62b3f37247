//! Samples that are reported when their block begins, so that they take one exit from the cache and not two.
//!
//! The countdown of a block is over in front of its first instruction. If the registers there already determine the
//! address of a sampled access, no copy of the block with a second exit in front of the access is needed.

use carom_base::{Access, AccessKind, Addr, Ip};
use carom_base_insn::Registers;
use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use crate::{
    analyse::affine::{Sum, Sums},
    blocks::cache::Cache,
    decode::{
        block::{Block, Decoded},
        operand::{Addressed, Finder, Operand},
    },
    engine::Engine,
    lane::registers::{
        Gpr,
        number::{RBP, RSP},
    },
    probes::{
        hook::Hook,
        mode::Mode,
        split::{Known, Split},
        strata::{DrawnAs, Due},
    },
    threads::thread::{Noticed, Thread},
};

/// Reports those of the accesses due in the block at `pc`, of which `counted` instructions count, that can be
/// reported now. Returns the others. `weight`: of all of them.
pub fn tell(engine: &mut Engine, thread: &mut Thread, pc: u64, due: Due, weight: f32, counted: usize) -> Due {
    let early = matches!(engine.cache.mode(), Mode::Sample { .. }) && engine.observer.takes_samples_early();
    if !early {
        return due;
    }
    let split = match engine.cache.translations.split(pc, &due) {
        Some(known) => known,
        None => {
            let Some(split) = split(&mut engine.cache, pc, &due, counted) else { return due };
            engine.cache.translations.add_split(pc, &due, split);
            split
        }
    };
    let mut later = Due::default();
    for ((known, (nth, store)), doublings) in split.now.into_iter().zip(due.accesses()).zip(due.doublings()) {
        let Some(Known { pc, operand, sp, kind, ahead }) = known else {
            later.push(nth, store, doublings);
            continue;
        };
        let addr = Addr(operand.address(&thread.registers(pc)));
        let access = Access { ip: Ip(pc), addr, width: operand.width, kind: operand.kind };
        let drawn_as = Some(DrawnAs { kind, doublings });
        thread.noticed.push(Noticed { access, drawn_as, weight: Some(weight), ahead, sp });
    }
    later
}

fn split(cache: &mut Cache, pc: u64, due: &Due, counted: usize) -> Option<Split> {
    let code = cache.source.code_after(pc)?;
    let block = Block::decode(pc, code, &mut cache.accesses)?;
    let mut finder = cache.spare.finder.take().unwrap_or_else(Finder::new);
    let mut split = Split::default();
    for ((wanted, store), place) in due.accesses().zip(&mut split.now) {
        let sampled = block.sampled(wanted, store, counted);
        *place = sampled.and_then(|(index, hook)| known(cache, &mut finder, &block, index, hook));
    }
    cache.spare.finder = Some(finder);
    Some(split)
}

/// The access of a [`Hook::Sample`] in front of one of a block's instructions, if the registers at the start of the block
/// already determine its address and that instruction's frame: RSP, and RBP where it is the caller's, be it in the
/// register or saved by then.
fn known(cache: &mut Cache, finder: &mut Finder, block: &Block, index: usize, hook: Hook) -> Option<Known> {
    let Hook::Sample { pc, nth, store, ahead, .. } = hook else { return None };
    let Addressed::Plain(operands) = finder.operands(block.instructions.get(index)?, &mut cache.accesses)
    else {
        return None;
    };
    let kind = if store { AccessKind::Store } else { AccessKind::Load };
    let is_wanted = |operand: &&Operand| if store { operand.kind.writes() } else { operand.kind.reads() };
    let operand = *operands.iter().filter(is_wanted).nth(nth as usize)?;
    let mut sums = Sums::at_the_beginning();
    for Decoded { instruction, statics, .. } in block.instructions.iter().take(index) {
        let saves_rbp = statics.stores > 0 && names_rbp(instruction);
        if saves_rbp || operand.fs && instruction.mnemonic() == Mnemonic::Wrfsbase {
            return None;
        }
        sums.pass(instruction, finder);
    }
    let [sp, fp] = [RSP, RBP].map(|register| Gpr(register as u8));
    let sp = sums.of(sp).filter(|sum| sum.of == Some(sp))?.plus;
    sums.of(fp).filter(|sum| *sum == Sum { of: Some(fp), plus: 0 })?;
    // The operands are in the order in which they are accessed.
    let earlier = operands.iter().take_while(|other| **other != operand);
    let done: i64 = earlier.map(|other| i64::from(other.kind.reads()) + i64::from(other.kind.writes())).sum();
    Some(Known { pc, operand: sums.before(&operand)?, sp, kind, ahead: i64::from(ahead) - done })
}

/// Whether RBP is an operand as a whole: an instruction that also stores may be saving it.
fn names_rbp(instruction: &Instruction) -> bool {
    (0..instruction.op_count())
        .any(|n| instruction.op_kind(n) == OpKind::Register && instruction.op_register(n) == Register::RBP)
}

impl Operand {
    /// The address with these registers.
    fn address(&self, registers: &Registers<'_>) -> u64 {
        let of = |register: Option<Gpr>| {
            register.and_then(|register| registers.gpr.get(usize::from(register.0))).copied().unwrap_or(0)
        };
        let fs = if self.fs { registers.fs_base } else { 0 };
        let index = of(self.index).wrapping_mul(u64::from(self.scale));
        of(self.base).wrapping_add(index).wrapping_add(self.displacement).wrapping_add(fs)
    }
}

impl Block {
    /// The instruction that makes this access among the block's loads or its stores, and the hook that reports it.
    /// `counted`: how many of the instructions were counted.
    pub fn sampled(&self, wanted: u32, store: bool, counted: usize) -> Option<(usize, Hook)> {
        let mut before = 0;
        for (index, Decoded { instruction, statics, .. }) in self.instructions.iter().enumerate() {
            let here = if store { statics.stores } else { statics.loads };
            if wanted < before + here {
                let rest = self.instructions.iter().take(counted).skip(index);
                let ahead = rest.map(|decoded| decoded.statics.loads + decoded.statics.stores).sum();
                let (pc, nth) = (instruction.ip(), wanted - before);
                let of = (self.pc, wanted);
                return Some((index, Hook::Sample { of, pc, nth, store, ahead }));
            }
            before += here;
        }
        None
    }
}
