//! The effects of a sequence, counted from single steps: each instruction by its form according to another library,
//! and its operands' addresses from the registers in front of it.

use std::cell::RefCell;

use carom_base::Access;
use carom_collect_translate::Totals;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, MemorySize, Mnemonic,
    OpAccess, OpKind, Register, UsedMemory,
};

use crate::{
    machine::{self, End},
    state::State,
};

const LONGEST_INSTRUCTION: usize = 15;

/// One access: instruction, address, bytes, whether it reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub ip: u64,
    pub addr: u64,
    pub bytes: u64,
    pub reads: bool,
    pub writes: bool,
}

impl Seen {
    /// An access that the engine reports.
    pub fn of(access: &Access) -> Self {
        let (reads, writes) = (access.kind.reads(), access.kind.writes());
        Self { ip: access.ip.0, addr: access.addr.0, bytes: u64::from(access.width), reads, writes }
    }
}

struct Counting {
    totals: Totals,
    accesses: Vec<Seen>,
    factory: InstructionInfoFactory,
    /// The last instruction, if it is a repeated one.
    repeating: Option<u64>,
    /// The target of the last instruction, if it is a conditional branch that is not taken.
    falls_through_to: Option<u64>,
}

thread_local! {
    static COUNTING: RefCell<Counting> = RefCell::new(Counting {
        totals: Totals::default(),
        accesses: Vec::new(),
        factory: InstructionInfoFactory::new(),
        repeating: None,
        falls_through_to: None,
    });
}

/// The result of one native run. `None` where it faults.
pub fn count(entry: u64, before: &State) -> Option<(Totals, Vec<Seen>)> {
    COUNTING.with_borrow_mut(|counting| {
        counting.totals = Totals::default();
        counting.accesses.clear();
        counting.repeating = None;
        counting.falls_through_to = None;
    });
    match machine::stepped(entry, before, |rip, registers| {
        COUNTING.with_borrow_mut(|counting| counting.see(rip, registers));
    }) {
        End::Left(_) => Some(COUNTING.with_borrow(|counting| (counting.totals, counting.accesses.clone()))),
        End::Faulted => None,
    }
}

impl Counting {
    /// In front of the instruction at `rip`. In a handler, but a synchronous one.
    fn see(&mut self, rip: u64, registers: &[u64; 16]) {
        let rcx = registers[1];
        let code = std::ptr::with_exposed_provenance::<u8>(rip as usize);
        // SAFETY: sequences are mapped; the last one is followed by bytes of its page or of the next one.
        let bytes = unsafe { std::slice::from_raw_parts(code, LONGEST_INSTRUCTION) };
        let instruction = Decoder::with_ip(64, bytes, rip, DecoderOptions::NONE).decode();
        let repeated = instruction.is_string_instruction()
            && (instruction.has_rep_prefix()
                || instruction.has_repne_prefix()
                || instruction.has_repe_prefix());
        self.totals.branches_taken -= i64::from(self.falls_through_to == Some(rip));
        let is_conditional = instruction.flow_control() == FlowControl::ConditionalBranch;
        self.falls_through_to = is_conditional.then(|| instruction.next_ip());
        if self.repeating != Some(rip) {
            self.count_instruction(&instruction);
        }
        self.repeating = repeated.then_some(rip);
        if !repeated || rcx != 0 {
            self.count_accesses(&instruction, registers);
        }
    }

    fn count_instruction(&mut self, instruction: &Instruction) {
        let totals = &mut self.totals;
        totals.instructions += 1;
        let call = matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
        totals.branches += i64::from(instruction.flow_control() != FlowControl::Next);
        // As far as is known here.
        totals.branches_taken += i64::from(instruction.flow_control() != FlowControl::Next);
        totals.calls += i64::from(call);
        totals.returns += i64::from(instruction.flow_control() == FlowControl::Return);
        let exchange = instruction.mnemonic() == Mnemonic::Xchg && instruction.op0_kind() == OpKind::Memory;
        totals.atomics += i64::from(instruction.has_lock_prefix() || exchange);
    }

    fn count_accesses(&mut self, instruction: &Instruction, registers: &[u64; 16]) {
        // For the library they read a byte; they affect lines, like prefetches.
        if matches!(instruction.mnemonic(), Mnemonic::Clflush | Mnemonic::Clflushopt | Mnemonic::Clwb) {
            return;
        }
        let mut operands = self.factory.info(instruction).used_memory().to_vec();
        if instruction.is_string_instruction() {
            // The source comes first.
            operands.sort_by_key(|memory| memory.base() != Register::RSI);
        }
        // What is stored was loaded before.
        operands.sort_by_key(|memory| matches!(memory.access(), OpAccess::Write | OpAccess::CondWrite));
        for memory in &operands {
            // For a repeated instruction the library gives the extent of all iterations, as unknown.
            let size = match memory.memory_size() {
                MemorySize::Unknown => instruction.memory_size(),
                size => size,
            };
            let bytes = size.size() as i64;
            let addr = address(instruction, memory, bytes as u64, registers);
            let mut seen =
                Seen { ip: instruction.ip(), addr, bytes: bytes as u64, reads: false, writes: false };
            use OpAccess::{CondRead, CondWrite, Read, ReadCondWrite, ReadWrite, Write};
            if matches!(memory.access(), Read | CondRead | ReadWrite | ReadCondWrite) {
                seen.reads = true;
                self.totals.loads += 1;
                self.totals.loaded_bytes += bytes;
            }
            if matches!(memory.access(), Write | CondWrite | ReadWrite | ReadCondWrite) {
                seen.writes = true;
                self.totals.stores += 1;
                self.totals.stored_bytes += bytes;
            }
            if seen.reads || seen.writes {
                self.accesses.push(seen);
            }
        }
    }
}

/// The address of an operand of this many bytes.
fn address(instruction: &Instruction, memory: &UsedMemory, bytes: u64, registers: &[u64; 16]) -> u64 {
    let value = |register: Register| {
        let whole = registers[register.full_register().number()];
        let shift = 64 - 8 * register.size();
        whole << shift >> shift
    };
    let address = memory.virtual_address(0, |register, _, _| {
        // Segments begin at 0, and sequences have no operands relative to FS.
        Some(if register.is_gpr() { value(register) } else { 0 })
    });
    let address = address.expect("every register is known");
    match instruction.mnemonic() {
        // The register is the number of a bit, which may be far away (Intel SDM volume 2, BT).
        Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc
            if instruction.op1_kind() == OpKind::Register =>
        {
            let shift = 64 - 8 * bytes;
            let bit = (value(instruction.op1_register()) << shift) as i64 >> shift;
            address.wrapping_add_signed(bit.div_euclid(8 * bytes as i64) * bytes as i64)
        }
        _ => address,
    }
}
