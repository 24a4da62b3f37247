//! What a sequence does, counted from single steps: each instruction by its form as another library sees it.

use std::cell::RefCell;

use carom_collect_translate::Totals;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, MemorySize, Mnemonic,
    OpAccess, OpKind,
};

use crate::{
    machine::{self, End},
    state::State,
};

const LONGEST_INSTRUCTION: usize = 15;

struct Counting {
    totals: Totals,
    factory: InstructionInfoFactory,
    /// The last instruction seen, where it is a repeated one.
    repeating: Option<u64>,
}

thread_local! {
    static COUNTING: RefCell<Counting> = RefCell::new(Counting {
        totals: Totals::default(),
        factory: InstructionInfoFactory::new(),
        repeating: None,
    });
}

/// Of one native run. `None` where it faults.
pub fn count(entry: u64, before: &State) -> Option<Totals> {
    COUNTING.with_borrow_mut(|counting| {
        counting.totals = Totals::default();
        counting.repeating = None;
    });
    match machine::stepped(entry, before, |rip, rcx| {
        COUNTING.with_borrow_mut(|counting| counting.see(rip, rcx));
    }) {
        End::Left(_) => Some(COUNTING.with_borrow(|counting| counting.totals)),
        End::Faulted => None,
    }
}

impl Counting {
    /// In front of the instruction at `rip`. In a handler, but a synchronous one.
    fn see(&mut self, rip: u64, rcx: u64) {
        let code = std::ptr::with_exposed_provenance::<u8>(rip as usize);
        // SAFETY: sequences are mapped; behind the last one there are bytes of the page or of its neighbours.
        let bytes = unsafe { std::slice::from_raw_parts(code, LONGEST_INSTRUCTION) };
        let instruction = Decoder::with_ip(64, bytes, rip, DecoderOptions::NONE).decode();
        let repeated = instruction.is_string_instruction()
            && (instruction.has_rep_prefix()
                || instruction.has_repne_prefix()
                || instruction.has_repe_prefix());
        if self.repeating != Some(rip) {
            self.count_instruction(&instruction);
        }
        self.repeating = repeated.then_some(rip);
        if !repeated || rcx != 0 {
            self.count_accesses(&instruction);
        }
    }

    fn count_instruction(&mut self, instruction: &Instruction) {
        let totals = &mut self.totals;
        totals.instructions += 1;
        let call = matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
        totals.branches += i64::from(instruction.flow_control() != FlowControl::Next);
        totals.calls += i64::from(call);
        totals.returns += i64::from(instruction.flow_control() == FlowControl::Return);
        let exchange = instruction.mnemonic() == Mnemonic::Xchg && instruction.op0_kind() == OpKind::Memory;
        totals.atomics += i64::from(instruction.has_lock_prefix() || exchange);
    }

    fn count_accesses(&mut self, instruction: &Instruction) {
        // The library has them read a byte; they are about lines, like prefetches.
        if matches!(instruction.mnemonic(), Mnemonic::Clflush | Mnemonic::Clflushopt | Mnemonic::Clwb) {
            return;
        }
        for memory in self.factory.info(instruction).used_memory() {
            // Of a repeated instruction the library says the extent of all iterations: unknown.
            let size = match memory.memory_size() {
                MemorySize::Unknown => instruction.memory_size(),
                size => size,
            };
            let bytes = size.size() as i64;
            use OpAccess::{CondRead, CondWrite, Read, ReadCondWrite, ReadWrite, Write};
            if matches!(memory.access(), Read | CondRead | ReadWrite | ReadCondWrite) {
                self.totals.loads += 1;
                self.totals.loaded_bytes += bytes;
            }
            if matches!(memory.access(), Write | CondWrite | ReadWrite | ReadCondWrite) {
                self.totals.stores += 1;
                self.totals.stored_bytes += bytes;
            }
        }
    }
}
