//! From the program's code to the cache: a fragment consists of up to [`MOST_BLOCKS`] blocks that follow each other.
//!
//! Instructions are copied; only transfers of control and operands relative to RIP are rewritten. Direct jumps become
//! links, indirect ones go through tables. Flags are preserved unless they are known to be dead. A conditional branch
//! counts as taken; if it falls through, the counter of the next block corrects that ([`follower`]).

mod count;
mod exits;
pub mod follower;
pub mod lookup;
mod loops;
mod plan;
pub mod relocate;
mod singly;
mod stamp;
mod stream;
mod superblocks;
mod switches;
mod timed;
mod transfer;
mod units;
mod variant;
mod watch;

use std::ops::Range;

use iced_x86::{Code as Opcode, FlowControl, Instruction, Mnemonic};

use crate::{
    blocks::{
        cache::Cache,
        code::{MOST_COLD, MOST_HOT},
        spare::Spare,
        switches::Switch,
        translations::Follower,
    },
    decode::{
        block::{Block, Decoded, may_fall_through},
        operand::{Addressed, Finder},
    },
    encode::{
        Emitter,
        marks::{Mark, Marks, Spilled, Undo},
    },
    probes::mode::{Mode, Version},
};
use loops::Looping;
use plan::Plan;
use superblocks::{Chain, Leaving, Side};
use timed::{Pending, ToCopy};
pub use transfer::landing;
pub use variant::variant;

/// Longer fragments gain nothing; single blocks cost jumps.
const MOST_BLOCKS: usize = 16;

/// The opcode of the jump to a hook: `jmp rel32`.
pub const HOOK_JUMP: u8 = 0xe9;
pub const HOOK_BYTES: u64 = 5;

/// A hook in front of one of a block's instructions. An instruction may have several, since a read-modify-write is
/// drawn as a load and as a store.
#[derive(Clone, Copy, Debug)]
pub struct Hooked {
    /// The number of the block in its superblock, from 0 on.
    pub block: usize,
    /// The index of the instruction in the block.
    pub instruction: usize,
    /// The number of the hook.
    pub hook: u64,
}

/// How executions enter a block's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// From anywhere.
    Entered,
    /// From the branch before it in the fragment, which falls through.
    Fallen,
    /// They have been counted elsewhere, and run in a copy.
    Copied,
    /// From the block before it in such a copy, whose branch may have fallen through.
    Followed { fallen: bool },
}

/// How the instructions of a block are translated.
#[derive(Clone, Copy)]
struct How<'h> {
    hooks: &'h [Hooked],
    /// The code is shared by all threads, not a copy for one execution.
    shared: bool,
    /// Loads are timed.
    timed: bool,
    /// The hook after the timed loads.
    over: Option<u64>,
}

/// A fragment in the making.
struct Builder<'c> {
    cache: &'c mut Cache,
    /// The number of its arena.
    index: usize,
    code: Emitter,
    marks: Marks,
    /// From the first to the last original byte.
    original: Range<u64>,
    /// The start of its cold code.
    cold: u64,
    finder: Finder,
    /// Which version of the code this is.
    version: Version,
    /// The switches of its blocks.
    switches: Vec<(u64, Switch)>,
    /// How the block that was decoded last is observed.
    mode: Mode,
    /// The accesses of the block that was decoded last.
    found: Vec<Addressed>,
    /// The registers that added code has spilled at this point.
    spilled: Spilled,
    /// The counter of the block that was counted last, if that is in memory.
    counted: Option<u64>,
    /// The branch that was translated last, if it leaves a superblock, and the ways out of those before it.
    leaving: Option<Leaving>,
    sides: Vec<Side>,
    /// The superblock so far to which the block that was counted last belongs.
    chain: Chain,
    /// Where a copy goes on behind the block that is translated ([`variant`]).
    inside: Option<u64>,
    /// The loop that counts in a register at this point.
    looping: Option<Looping>,
    /// The jump to a copy with timed loads of the current block, and the blocks whose copies are still to be made.
    to_copy: Option<ToCopy>,
    pending: Vec<Pending>,
}

/// Translates the code at `pc` for all threads. Returns the cache address, or `None` where it cannot be translated.
pub fn translate(cache: &mut Cache, pc: u64) -> Option<u64> {
    let start = fragment(cache, pc, Version::Plain)?;
    // A loop begins behind padding.
    Some(cache.translations.get(pc).unwrap_or(start))
}

/// The same. Returns where the fragment starts.
fn fragment(cache: &mut Cache, pc: u64, version: Version) -> Option<u64> {
    let mut builder = Builder::begin(cache, pc, version)?;
    let entry = builder.code.here();
    let (mut next, mut fallen) = (pc, false);
    for blocks in 0..MOST_BLOCKS {
        let Some(block) = builder.decode(next) else {
            if blocks == 0 {
                return None;
            }
            break;
        };
        let way = if fallen { Way::Fallen } else { Way::Entered };
        let after = builder.block(&block, &[], way);
        fallen = block.last().is_some_and(may_fall_through);
        builder.copy_later(block);
        match after {
            Some(after) if builder.goes_on(pc, after) => next = after,
            Some(after) => {
                builder.link_behind(after, fallen);
                return builder.finish().then_some(entry);
            }
            None => return builder.finish().then_some(entry),
        }
    }
    // Also where no code was needed so far: translations of jumps alone begin here.
    builder.link_behind(next, fallen);
    builder.finish().then_some(entry)
}

impl<'c> Builder<'c> {
    fn begin(cache: &'c mut Cache, pc: u64, version: Version) -> Option<Self> {
        let index = cache.room_near(pc, version)?;
        let arena = cache.arenas.get_mut(index)?;
        // Now: entries that the fragment makes while it is built are not taken back.
        arena.make_ready()?;
        let (start, cold) = (arena.next_hot(), arena.next_cold());
        let Spare { code, marks, finder, .. } = &mut cache.spare;
        let code = Emitter::reusing(start, std::mem::take(code));
        let marks = Marks::reusing(start, pc, std::mem::take(marks));
        let (finder, spilled, looping) = (finder.take().unwrap_or_else(Finder::new), Spilled::None, None);
        let (mode, found, original) = (cache.mode().of(version), Vec::new(), pc..pc + 1);
        let (to_copy, pending, switches) = (None, Vec::new(), Vec::new());
        Some(Self {
            cache,
            index,
            code,
            marks,
            original,
            cold,
            finder,
            version,
            switches,
            mode,
            found,
            spilled,
            counted: None,
            leaving: None,
            sides: Vec::new(),
            chain: Chain::default(),
            inside: None,
            looping,
            to_copy,
            pending,
        })
    }

    fn decode(&mut self, pc: u64) -> Option<Block> {
        let decoder = self.cache.reader.at(self.cache.source.regions(), pc)?;
        let spare = std::mem::take(&mut self.cache.spare.instructions);
        let mut block = Block::decode_into(spare, decoder, &mut self.cache.accesses)?;
        let instructions = block.instructions.iter().map(|decoded| &decoded.instruction);
        self.cache.source.find_sequences(instructions);
        if self.cache.source.sequences().contains(pc) {
            self.cache.spare.instructions = block.instructions;
            return None;
        }
        let uncounted = self.cache.source.is_uncounted(pc);
        self.mode = if uncounted { Mode::Bare } else { self.cache.mode_at(pc).of(self.version) };
        let end = self.cache.filter().changes_behind(pc).min(self.cache.source.sequences().next_behind(pc));
        if end < block.end() {
            block.truncate(block.instructions.partition_point(|decoded| decoded.instruction.ip() < end));
        }
        if self.mode.sees_every_access() {
            self.end_at_stamp(&mut block);
            self.shorten(&mut block);
        }
        Some(block)
    }

    /// Whether the fragment that began at `first` continues with the block at `next`.
    fn goes_on(&self, first: u64, next: u64) -> bool {
        let cold = self.cache.arenas.get(self.index).map_or(0, |arena| arena.next_cold() - self.cold);
        let copies: usize = self.pending.iter().map(Pending::bytes).sum();
        let room = self.code.bytes().len() + copies < MOST_HOT / 2 && cold < MOST_COLD as u64 / 2;
        (room || !self.cache.mode().adds_much())
            && !self.is_translated(next)
            && self.cache.source.stands_for(next) == next
            && self.cache.source.regions().contains(first) == self.cache.source.regions().contains(next)
    }

    fn finish(mut self) -> bool {
        let sides = self.leave_superblocks();
        self.copies();
        let Self { cache, index, code, marks, original, finder, switches, .. } = self;
        let (marks, spare) = marks.finish();
        let mut arena = cache.arenas.get_mut(index);
        let made = arena.as_mut().is_some_and(|arena| arena.add_fragment(&code, marks, original));
        if let Some(arena) = arena.filter(|_| made) {
            arena.add_sides(sides.into_iter());
        }
        let instructions = std::mem::take(&mut cache.spare.instructions);
        cache.spare = Spare { code: code.into_bytes(), marks: spare, instructions, finder: Some(finder) };
        if made {
            cache.publish();
            cache.add_switches(switches.into_iter());
        } else {
            cache.retract();
        }
        made
    }

    fn mark(&mut self, pc: u64, undo: Undo) {
        let counting = self.looping.map(|looping| looping.counting.register);
        self.marks.push_mark(Mark { cache: self.code.here(), pc, undo, spilled: self.spilled, counting });
    }

    /// One block. Returns where the program continues after it, `None` where the block's end leads elsewhere.
    fn block(&mut self, block: &Block, hooks: &[Hooked], way: Way) -> Option<u64> {
        self.original = self.original.start.min(block.pc)..self.original.end.max(block.end());
        let plan = self.plan(block);
        let shared = matches!(way, Way::Entered | Way::Fallen);
        let register = if shared { self.register_for_loop(block) } else { None };
        let follows = way == Way::Fallen
            && !plan.failed
            && register.is_none()
            && self.counts_falls_in_followers()
            && (self.leaving.is_none() || self.joins(block));
        if matches!(way, Way::Fallen | Way::Followed { fallen: true }) && !follows {
            self.count_fall(block.pc);
        }
        self.counted = None;
        if plan.failed {
            self.leave_at(block.pc);
            return None;
        }
        let mut first = Undo::Nothing;
        if shared {
            let begins = if follows { None } else { self.switch(block.pc) };
            if register.is_some() {
                self.align_loop(block);
            }
            let entry = begins.unwrap_or(self.code.here());
            match self.version {
                Version::Plain if !follows => self.cache.translations.begins(block.pc, entry),
                Version::Plain => {}
                Version::Watching => self.cache.translations.watches(block.pc, entry),
            }
            if let Some(register) = register {
                self.count_loop(block, entry, register);
                first = Undo::Counted;
            } else if self.mode != Mode::Bare {
                self.count_block(block, &plan, entry, follows);
                first = Undo::Counted;
            }
            if let (true, Some(counter)) = (follows, self.counted) {
                let fragment = self.cache.arenas.get(self.index).map_or(0, |code| code.next_fragment());
                let (body, counter) = (self.code.here(), counter as u32);
                self.cache.translations.follows(block.pc, Follower { entry, body, counter, fragment });
            }
        } else if way != Way::Copied && self.mode != Mode::Bare {
            self.count_copied(block, &plan);
            first = Undo::Counted;
        }
        let timed = !self.times_in_copies();
        self.instructions(block, &plan, How { hooks, shared, timed, over: None }, first)
    }

    /// The instructions of a block; the state before them is `first`. Returns the same as `block`.
    fn instructions(&mut self, block: &Block, plan: &Plan, how: How<'_>, first: Undo) -> Option<u64> {
        let How { hooks, shared, timed, over } = how;
        let counted = self.mode != Mode::Bare;
        self.begin_watching(block.pc, plan, first);
        let groups = self.groups(block, plan, shared);
        let (mut written, mut ahead) = (0, block.sums.accesses() as u32);
        let transfers =
            block.last().is_some_and(|last| last.flow_control() != FlowControl::Next && !is_syscall(last));
        let copied = block.instructions.len() - usize::from(transfers);
        for (index, decoded) in block.instructions.iter().enumerate() {
            let Decoded { instruction, statics, .. } = decoded;
            let pc = instruction.ip();
            self.mark(pc, if index == 0 { first } else { Undo::Nothing });
            written = self.write_addresses(plan, index, written);
            self.write_mask(plan);
            self.look_up_at(block, &groups, index);
            if plan.otherwise {
                self.otherwise(plan, decoded, ahead);
            }
            ahead -= statics.loads + statics.stores;
            for hooked in hooks.iter().filter(|hooked| hooked.instruction == index) {
                self.hook(pc, hooked.hook);
            }
            if index + 1 == block.instructions.len() {
                self.end_record(pc, plan);
                self.end_copy(over, block, false);
            }
            if index == copied {
                return self.transfer(instruction, shared);
            }
            let done = if is_syscall(instruction) {
                self.system_call(instruction);
                true
            } else if counted && statics.lanes {
                self.lanes(decoded, plan, ahead)
            } else if counted && statics.repeated.is_some() {
                self.repeated(decoded, ahead)
            } else if let Some(Some(operand)) = plan.timed.get(index).filter(|_| timed) {
                self.timed(decoded, operand)
            } else if let Some(Some(operand)) = plan.stored.get(index) {
                self.stored(decoded, operand)
            } else {
                self.copy(decoded)
            };
            if !done {
                self.leave_at(pc);
                return None;
            }
        }
        self.stamp_behind(block, block.end());
        self.end_copy(over, block, true);
        Some(block.end())
    }

    /// Copies an instruction. False where it must run in its own place.
    fn copy(&mut self, decoded: &Decoded) -> bool {
        let instruction = &decoded.instruction;
        let original = self.cache.source.bytes(instruction);
        let copied = relocate::copy(&mut self.code, decoded, original);
        if copied && may_set_trap_flag(instruction) {
            // The processor traps after the instruction that follows. That is not the program's own, which then finds
            // its steps natively.
            const NOP: u8 = 0x90;
            self.mark(instruction.next_ip(), Undo::Nothing);
            self.code.raw(&[NOP]);
            self.mark(instruction.next_ip(), Undo::Nothing);
        }
        copied
    }
}

fn may_set_trap_flag(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Popf | Mnemonic::Popfd | Mnemonic::Popfq)
}

fn is_syscall(instruction: &Instruction) -> bool {
    instruction.code() == Opcode::Syscall
}
