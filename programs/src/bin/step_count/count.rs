//! The counts of one executed instruction. The definition is that of carom's exact counts:
//!
//! A read-modify-write, and any compare-and-exchange, is a load and a store. Pushes, pops, calls, returns, `enter`
//! and `leave` count. A repeated string instruction is one instruction, with its loads and stores once per iteration.
//! Gathers, scatters and masked moves are one access per active lane, other vectors one of full width. Saving or
//! restoring a state is one access of its size. Prefetches, `lea` and `nop` access nothing. Branches are jumps,
//! conditional or not, taken or not, calls and returns; system calls are counted apart. Atomics are instructions with
//! a lock prefix, and exchanges with memory.

use std::io;

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind};
use libc::user_regs_struct;
use serde::Serialize;

use crate::lanes::{self, Lanes};
use crate::tracee::Tracee;

/// The counts of one thread.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Counts {
    pub instructions: u64,
    pub loads: u64,
    pub stores: u64,
    pub loaded_bytes: u64,
    pub stored_bytes: u64,
    /// Jumps, calls and returns.
    pub branches: u64,
    /// All but conditional jumps that went on to the next instruction.
    pub branches_taken: u64,
    pub calls: u64,
    pub returns: u64,
    pub atomics: u64,
    pub system_calls: u64,
}

/// The accesses of one instruction or of one iteration.
#[derive(Clone, Copy, Default)]
struct Accesses {
    loads: u64,
    stores: u64,
    loaded_bytes: u64,
    stored_bytes: u64,
}

/// How often an instruction makes its accesses.
#[derive(Clone, Copy)]
enum Times {
    Once,
    /// Once per decrement of `rcx`.
    Iterations,
    /// Once in each active lane.
    Lanes(Lanes),
    /// Once, with a size that depends on registers.
    State,
}

/// The properties of an instruction that are known without running it.
#[derive(Clone, Copy)]
pub struct Known {
    pub instruction: Instruction,
    accesses: Accesses,
    times: Times,
}

impl Known {
    pub fn new(instruction: Instruction, factory: &mut InstructionInfoFactory) -> Self {
        let lanes = Lanes::of(&instruction);
        let state = lanes::state_use(&instruction);
        let string = instruction.is_string_instruction();
        let mut accesses = Accesses::default();
        for memory in factory.info(&instruction).used_memory() {
            let width = match lanes {
                Some(lanes) => u64::from(lanes.width),
                // With a repeating prefix the decoder states no size here.
                None if string => instruction.memory_size().size() as u64,
                None => memory.memory_size().size() as u64,
            };
            let (loads, stores) = match state.unwrap_or(memory.access()) {
                OpAccess::Read | OpAccess::CondRead => (1, 0),
                OpAccess::Write | OpAccess::CondWrite => (0, 1),
                OpAccess::ReadWrite | OpAccess::ReadCondWrite => (1, 1),
                OpAccess::None | OpAccess::NoMemAccess => (0, 0),
            };
            accesses.loads += loads;
            accesses.stores += stores;
            accesses.loaded_bytes += loads * width;
            accesses.stored_bytes += stores * width;
        }
        let repeated = instruction.has_rep_prefix() || instruction.has_repne_prefix();
        let times = match lanes {
            Some(lanes) => Times::Lanes(lanes),
            None if state.is_some() => Times::State,
            None if repeated && string => Times::Iterations,
            None => Times::Once,
        };
        Self { instruction, accesses, times }
    }

    pub fn is_system_call(&self) -> bool {
        self.instruction.mnemonic() == Mnemonic::Syscall
    }

    pub fn is_repeated(&self) -> bool {
        matches!(self.times, Times::Iterations)
    }

    fn is_atomic(&self) -> bool {
        let instruction = &self.instruction;
        instruction.has_lock_prefix()
            || instruction.mnemonic() == Mnemonic::Xchg
                && instruction.op_kinds().any(|kind| kind == OpKind::Memory)
    }
}

/// An instruction that is about to be executed, with what is known only before it runs.
pub struct Pending {
    pub known: Known,
    before: user_regs_struct,
    /// Its accesses, if they are known now.
    times: u64,
    /// The size of a saved state.
    state_bytes: u64,
}

impl Pending {
    pub fn new(known: Known, tracee: Tracee, before: user_regs_struct) -> io::Result<Self> {
        let (times, state_bytes) = match known.times {
            Times::Once | Times::Iterations => (1, 0),
            Times::Lanes(lanes) => (u64::from(lanes.active(&tracee.extended_state()?)), 0),
            Times::State => (1, lanes::state_bytes(&tracee.extended_state()?, before.rax, before.rdx)),
        };
        Ok(Self { known, before, times, state_bytes })
    }

    /// Where the instruction is.
    pub fn address(&self) -> u64 {
        self.before.rip
    }
}

impl Counts {
    /// Counts an instruction, or one iteration of it, that was executed and led to `after`.
    pub fn add(&mut self, pending: &Pending, after: &user_regs_struct) {
        let Known { instruction, accesses, times } = pending.known;
        let times = match times {
            // A step is one iteration, or none where the count is 0. Of a 32-bit count the upper half is cleared.
            Times::Iterations => u64::from(pending.before.rcx.wrapping_sub(after.rcx) as u32),
            _ => pending.times,
        };
        self.loads += times * accesses.loads;
        self.stores += times * accesses.stores;
        self.loaded_bytes += times * accesses.loaded_bytes + accesses.loads * pending.state_bytes;
        self.stored_bytes += times * accesses.stored_bytes + accesses.stores * pending.state_bytes;
        if pending.known.is_repeated() && after.rip == pending.address() {
            // More iterations follow; the last of them counts the instruction.
            return;
        }
        self.instructions += 1;
        self.atomics += u64::from(pending.known.is_atomic());
        if pending.known.is_system_call() {
            self.system_calls += 1;
            return;
        }
        let (branch, taken) = match instruction.flow_control() {
            FlowControl::ConditionalBranch => (true, after.rip != instruction.next_ip()),
            FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => (true, true),
            FlowControl::Call | FlowControl::IndirectCall => {
                self.calls += 1;
                (true, true)
            }
            FlowControl::Return => {
                self.returns += 1;
                (true, true)
            }
            _ => (false, false),
        };
        self.branches += u64::from(branch);
        self.branches_taken += u64::from(taken);
    }
}
