//! Blocks of the program: straight runs of instructions that are counted as one.

use carom_base_insn::{Decoder as Accesses, Statics};
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, MemorySize};

/// The largest number of instructions in a block.
pub const MOST_INSTRUCTIONS: usize = 64;

/// Room for what most blocks have.
const TYPICAL_INSTRUCTIONS: usize = 12;

/// The largest number of accesses of one kind in a block. A sampling period must be longer, so that one execution of
/// a block contains less than one sample of a kind on average.
pub const MOST_ACCESSES: u32 = 64;

/// What one execution of a block does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub instructions: u32,
    pub loads: u32,
    pub stores: u32,
    pub loaded_bytes: u32,
    pub stored_bytes: u32,
    pub branches: u32,
    /// Branches that are taken, or counted as taken ([`counts_as_taken`]).
    pub branches_taken: u32,
    pub calls: u32,
    pub returns: u32,
    pub atomics: u32,
    pub system_calls: u32,
}

impl Sums {
    /// Adds the effects of one execution of an instruction, without its repetitions.
    pub fn add(&mut self, Decoded { instruction, statics, .. }: &Decoded) {
        self.instructions += 1;
        self.loads += statics.loads;
        self.stores += statics.stores;
        self.loaded_bytes += statics.loaded_bytes;
        self.stored_bytes += statics.stored_bytes;
        self.branches += u32::from(statics.branch);
        self.branches_taken += u32::from(statics.branch && counts_as_taken(instruction));
        self.calls += u32::from(statics.call);
        self.returns += u32::from(statics.ret);
        self.atomics += u32::from(statics.atomic);
        self.system_calls += u32::from(statics.system_call);
    }

    /// Whether a block with one more such instruction has more than [`MOST_ACCESSES`] of a kind.
    fn is_crowded_with(&self, statics: &Statics) -> bool {
        self.loads + statics.loads > MOST_ACCESSES || self.stores + statics.stores > MOST_ACCESSES
    }

    /// Loads and stores.
    pub fn accesses(&self) -> i64 {
        i64::from(self.loads) + i64::from(self.stores)
    }
}

/// [`Sums`] of one block in little memory: every counter has one.
#[derive(Clone, Copy, Debug)]
pub struct Packed {
    bytes: [u16; 2],
    /// All others.
    counts: [u8; 9],
}

impl Packed {
    /// Exact: a block has at most 64 instructions and 64 accesses of a kind of at most 64 bytes each, or it is a
    /// single instruction with at most 512 bytes.
    pub const fn of(sums: &Sums) -> Self {
        Self {
            bytes: [sums.loaded_bytes as u16, sums.stored_bytes as u16],
            counts: [
                sums.instructions as u8,
                sums.loads as u8,
                sums.stores as u8,
                sums.branches as u8,
                sums.branches_taken as u8,
                sums.calls as u8,
                sums.returns as u8,
                sums.atomics as u8,
                sums.system_calls as u8,
            ],
        }
    }

    /// The original sums.
    pub const fn sums(&self) -> Sums {
        let [loaded_bytes, stored_bytes] = self.bytes;
        let [instructions, loads, stores, branches, branches_taken, calls, returns, atomics, system_calls] =
            self.counts;
        Sums {
            instructions: instructions as u32,
            loads: loads as u32,
            stores: stores as u32,
            loaded_bytes: loaded_bytes as u32,
            stored_bytes: stored_bytes as u32,
            branches: branches as u32,
            branches_taken: branches_taken as u32,
            calls: calls as u32,
            returns: returns as u32,
            atomics: atomics as u32,
            system_calls: system_calls as u32,
        }
    }
}

/// An instruction of a block.
#[derive(Debug, Default)]
pub struct Decoded {
    pub instruction: Instruction,
    pub statics: Statics,
    /// The offset in its bytes of the displacement of an operand relative to RIP.
    pub displacement: usize,
}

impl Decoded {
    /// Becomes the next instruction. Returns whether that is valid.
    ///
    /// In place: what has just been written in small parts cannot soon be copied in large ones without a wait.
    pub fn read(&mut self, decoder: &mut Decoder<'_>, accesses: &mut Accesses) -> bool {
        if !decoder.can_decode() {
            return false;
        }
        decoder.decode_out(&mut self.instruction);
        let instruction = &self.instruction;
        if instruction.is_invalid() {
            return false;
        }
        // How much XSAVE and its kin store depends on registers: it is counted when they run, like lanes.
        self.statics = match instruction.memory_size() {
            MemorySize::Xsave | MemorySize::Xsave64 => Statics { lanes: true, ..Statics::default() },
            _ => accesses.statics(instruction),
        };
        self.displacement = if instruction.is_ip_rel_memory_operand() {
            decoder.get_constant_offsets(instruction).displacement_offset()
        } else {
            0
        };
        true
    }

    /// Whether a block ends behind it: at transfers of control, and at system calls, which may never return.
    pub fn ends_block(&self) -> bool {
        self.instruction.flow_control() != FlowControl::Next || self.instruction.code() == Code::Syscall
    }

    /// The effects of one execution, without its repetitions.
    pub fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        sums.add(self);
        sums
    }
}

/// One decoded block. Its instructions follow each other; only the last one may transfer control.
#[derive(Debug)]
pub struct Block {
    pub pc: u64,
    pub instructions: Vec<Decoded>,
    pub sums: Sums,
}

impl Block {
    /// Decodes the block that begins at `pc` with the first byte of `code`. `None` where there is no valid
    /// instruction.
    pub fn decode(pc: u64, code: &[u8], accesses: &mut Accesses) -> Option<Self> {
        let mut decoder = Decoder::with_ip(64, code, pc, DecoderOptions::NONE);
        Self::decode_into(Vec::with_capacity(TYPICAL_INSTRUCTIONS), &mut decoder, accesses)
    }

    /// The same, of the code in front of which `decoder` is, in the memory of an earlier block.
    pub fn decode_into(
        mut instructions: Vec<Decoded>,
        decoder: &mut Decoder<'_>,
        accesses: &mut Accesses,
    ) -> Option<Self> {
        instructions.clear();
        let mut block = Self { pc: decoder.ip(), instructions, sums: Sums::default() };
        let Self { instructions, sums, .. } = &mut block;
        while instructions.len() < MOST_INSTRUCTIONS {
            let first = instructions.is_empty();
            instructions.push(Decoded::default());
            let Some(decoded) = instructions.last_mut() else { break };
            if !decoded.read(decoder, accesses) || !first && sums.is_crowded_with(&decoded.statics) {
                instructions.pop();
                break;
            }
            sums.add(decoded);
            if decoded.ends_block() {
                break;
            }
        }
        (!block.instructions.is_empty()).then_some(block)
    }

    /// Keeps only the first `count` instructions, at least one.
    pub fn truncate(&mut self, count: usize) {
        if count < self.instructions.len() {
            self.instructions.truncate(count.max(1));
            self.sums = Sums::default();
            self.instructions.iter().for_each(|decoded| self.sums.add(decoded));
        }
    }

    /// The last instruction.
    pub fn last(&self) -> Option<&Instruction> {
        self.instructions.last().map(|decoded| &decoded.instruction)
    }

    /// One past its last byte.
    pub fn end(&self) -> u64 {
        self.last().map_or(self.pc, Instruction::next_ip)
    }
}

/// Whether a branch is counted as taken with its block. Where a conditional branch falls through, that is taken back
/// there (`emit::follower`). The exception is a branch to its own fall-through address, where the two ways cannot be
/// told apart.
pub fn counts_as_taken(branch: &Instruction) -> bool {
    branch.flow_control() != FlowControl::ConditionalBranch || branch.near_branch_target() != branch.next_ip()
}

/// Whether a branch may fall through, which must then be counted.
pub fn may_fall_through(branch: &Instruction) -> bool {
    branch.flow_control() == FlowControl::ConditionalBranch && counts_as_taken(branch)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PC: u64 = 0x5555_0000;

    fn check(code: &[u8]) {
        let Some(block) = Block::decode(PC, code, &mut Accesses::new()) else { return };
        assert!((1..=MOST_INSTRUCTIONS).contains(&block.instructions.len()));
        assert!(block.end() <= PC + code.len() as u64, "no byte beyond the code was decoded");
        let mut next = PC;
        for (index, decoded) in block.instructions.iter().enumerate() {
            assert_eq!(decoded.instruction.ip(), next);
            next = decoded.instruction.next_ip();
            assert!(index + 1 == block.instructions.len() || !decoded.ends_block());
        }
        assert_eq!(Packed::of(&block.sums).sums(), block.sums);
        let crowded = block.sums.loads > MOST_ACCESSES || block.sums.stores > MOST_ACCESSES;
        assert!(!crowded || block.instructions.len() == 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Decodes arbitrary bytes, since a program may jump anywhere.
        #[test]
        fn any_bytes_are_decoded_or_refused(code in prop::collection::vec(any::<u8>(), 0..200)) {
            check(&code);
        }

        /// Decodes prefixes, escapes and vector encodings, which random bytes seldom combine.
        #[test]
        fn so_are_bytes_that_begin_instructions(
            code in prop::collection::vec(
                prop_oneof![
                    prop::sample::select(vec![
                        0x0f, 0x26, 0x2e, 0x36, 0x38, 0x3a, 0x3e, 0x40, 0x48, 0x4f, 0x62, 0x64, 0x65, 0x66, 0x67, 0x8f, 0xc4,
                        0xc5, 0xd9, 0xdb, 0xf0, 0xf2, 0xf3, 0xff,
                    ]),
                    any::<u8>(),
                ],
                0..40,
            ),
        ) {
            check(&code);
        }
    }
}
