//! Where in a block or superblock the accesses are that are due: found in one pass over its instructions, no further than to the last.
//!
//! Most are met for the first time when they are sampled, at least in large programs.

use carom_base::AccessKind;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

use crate::{
    analyse::affine::{Sum, Sums},
    blocks::{cache::Cache, code::Code},
    decode::{
        block::{self, Decoded},
        operand::{Addressed, Finder},
    },
    emit::Hooked,
    lane::registers::{
        Gpr,
        number::{RBP, RSP},
    },
    probes::{
        counter::Counter,
        hook::Hook,
        split::{Known, Split},
        strata::Due,
    },
};

/// The blocks of a superblock, or a single one.
#[derive(Debug)]
pub struct Blocks {
    /// The one whose countdown was over: where it begins, and what it does.
    pub first: (u64, block::Sums),
    /// Those behind it.
    pub behind: Vec<(u64, block::Sums)>,
}

impl Blocks {
    /// The block at `pc`, of which nothing is due.
    pub fn one(pc: u64) -> Self {
        Self { first: (pc, block::Sums::default()), behind: Vec::new() }
    }

    /// The block of a counter, and those behind it.
    pub fn of(code: &Code, id: u64) -> Option<Self> {
        let of = |counter: &Counter| (counter.pc, counter.sums());
        // What follows the last one is no block of the superblock.
        let behind = code.followers_of(id).map(of).filter(|(_, sums)| sums.instructions > 0);
        Some(Self { first: of(code.counters().get(id as usize)?), behind: behind.collect() })
    }

    fn all(&self) -> impl Iterator<Item = (u64, block::Sums)> {
        [self.first].into_iter().chain(self.behind.iter().copied())
    }
}

/// The accesses that are due in an execution of a block, in their order; `None` where one was not found.
pub struct Sites([Option<Site>; Due::MOST]);

/// An access that is due.
#[derive(Clone, Copy, Debug)]
struct Site {
    /// Which of the loads of all blocks, or of their stores if the flag is true.
    access: (u32, bool),
    /// The number of its block, and of its instruction there.
    block: usize,
    instruction: usize,
    /// What reports it in front of that instruction.
    hook: Hook,
    /// What reports it when the block begins.
    known: Option<Known>,
}

/// Finds the accesses that are due in an execution of these blocks.
pub fn find(cache: &mut Cache, blocks: &Blocks, due: &Due) -> Option<Sites> {
    let mut finder = cache.spare.finder.take().unwrap_or_else(Finder::new);
    let (mut sites, mut beginning) = (Sites([None; Due::MOST]), Beginning::new());
    // Loads and stores so far.
    let mut before = [0; 2];
    for (block, (pc, sums)) in blocks.all().enumerate() {
        let code = cache.source.code_after(pc)?;
        let mut decoder = Decoder::with_ip(64, code, pc, DecoderOptions::NONE);
        let mut ahead = sums.loads + sums.stores;
        for instruction in 0..sums.instructions as usize {
            let mut decoded = Decoded::default();
            if sites.are_found(due) || !decoded.read(&mut decoder, &mut cache.accesses) {
                break;
            }
            let here = [decoded.statics.loads, decoded.statics.stores];
            for (place, access) in sites.0.iter_mut().zip(due.accesses()) {
                let (wanted, store) = access;
                let kind = usize::from(store);
                if !(before[kind]..before[kind] + here[kind]).contains(&wanted) {
                    continue;
                }
                let nth = wanted - before[kind];
                let of = (blocks.first.0, wanted);
                let hook = Hook::Sample { of, pc: decoded.instruction.ip(), nth, store, ahead };
                // Whether the blocks behind will be reached is not known yet.
                let known = match block {
                    0 => beginning.known(cache, &mut finder, &decoded, (nth, store), ahead),
                    _ => None,
                };
                *place = Some(Site { access, block, instruction, hook, known });
            }
            before = [before[0] + here[0], before[1] + here[1]];
            ahead = ahead.saturating_sub(here[0] + here[1]);
            if block == 0 {
                beginning.pass(&decoded, &mut finder);
            }
        }
    }
    cache.spare.finder = Some(finder);
    Some(sites)
}

impl Sites {
    fn are_found(&self, due: &Due) -> bool {
        self.0.iter().flatten().count() == due.count()
    }

    /// Which of them are reported when the block begins.
    pub fn split(&self) -> Split {
        Split { now: self.0.map(|site| site.and_then(|site| site.known)) }
    }

    /// The hooks for some of them, in a copy of the block.
    pub fn hooked(&self, due: &Due, cache: &mut Cache) -> Vec<Hooked> {
        let site = |access| self.0.iter().flatten().find(|site| site.access == access);
        let sites = due.accesses().filter_map(site);
        sites
            .map(|site| Hooked {
                block: site.block,
                instruction: site.instruction,
                hook: cache.hooks.add(site.hook),
            })
            .collect()
    }
}

/// What is known at the beginning of a block about an instruction in it.
struct Beginning {
    /// What registers will hold in front of it.
    sums: Sums,
    /// Whether RBP may have been saved by then, and the base of FS changed.
    saved_rbp: bool,
    changed_fs: bool,
    /// Whether it is not known how many accesses there will have been.
    counted_apart: bool,
}

impl Beginning {
    fn new() -> Self {
        Self { sums: Sums::at_the_beginning(), saved_rbp: false, changed_fs: false, counted_apart: false }
    }

    /// Goes on behind an instruction.
    fn pass(&mut self, Decoded { instruction, statics, .. }: &Decoded, finder: &mut Finder) {
        self.saved_rbp |= statics.stores > 0 && names_rbp(instruction);
        self.changed_fs |= instruction.mnemonic() == Mnemonic::Wrfsbase;
        self.counted_apart |= statics.repeated.is_some() || statics.lanes;
        self.sums.pass(instruction, finder);
    }

    /// An access of the next instruction, the nth of its loads or stores, if the registers at the start of the block already
    /// determine its address and that instruction's frame: RSP, and RBP where it is the caller's, be it in the register or saved
    /// by then. `ahead`: loads and stores from that instruction on.
    fn known(
        &self,
        cache: &mut Cache,
        finder: &mut Finder,
        decoded: &Decoded,
        (nth, store): (u32, bool),
        ahead: u32,
    ) -> Option<Known> {
        let Addressed::Plain(operands) = finder.operands(decoded, &mut cache.accesses) else { return None };
        let kind = if store { AccessKind::Store } else { AccessKind::Load };
        let is_wanted = |kind: AccessKind| if store { kind.writes() } else { kind.reads() };
        let operand = *operands.iter().filter(|operand| is_wanted(operand.kind)).nth(nth as usize)?;
        if self.counted_apart || self.saved_rbp || operand.fs && self.changed_fs {
            return None;
        }
        let [sp, fp] = [RSP, RBP].map(|register| Gpr(register as u8));
        let sp = self.sums.of(sp).filter(|sum| sum.of == Some(sp))?.plus;
        self.sums.of(fp).filter(|sum| *sum == Sum { of: Some(fp), plus: 0 })?;
        // The operands are in the order in which they are accessed.
        let earlier = operands.iter().take_while(|other| **other != operand);
        let done: i64 =
            earlier.map(|other| i64::from(other.kind.reads()) + i64::from(other.kind.writes())).sum();
        let (pc, operand) = (decoded.instruction.ip(), self.sums.before(&operand)?);
        Some(Known { pc, operand, sp, kind, ahead: i64::from(ahead) - done })
    }
}

/// Whether RBP is an operand as a whole: an instruction that also stores may be saving it.
fn names_rbp(instruction: &Instruction) -> bool {
    (0..instruction.op_count())
        .any(|n| instruction.op_kind(n) == OpKind::Register && instruction.op_register(n) == Register::RBP)
}
