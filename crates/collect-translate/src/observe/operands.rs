//! The accesses that an instruction is about to make.

use carom_base::Access;
use carom_base_insn::{Memory, Registers};

use crate::{blocks::cache::Cache, decode::source, engine::Engine, memory::Regions, threads::thread::Thread};

/// The program's code, for the decoder.
struct Code<'a>(&'a Regions);

impl Memory for Code<'_> {
    fn read(&self, addr: u64, buf: &mut [u8]) -> usize {
        let Some(code) = source::original(self.0, addr) else { return 0 };
        let bytes = code.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..bytes), code.get(..bytes)) {
            to.copy_from_slice(from);
        }
        bytes
    }
}

/// The accesses that the instruction at `pc` is about to make.
pub fn operands(engine: &mut Engine, thread: &mut Thread, pc: u64) -> Vec<Access> {
    let Cache { accesses, source, .. } = &mut engine.cache;
    let code = Code(source.regions());
    let found = accesses.operands_before(&thread.registers(pc), &code);
    if found.skip().is_none() {
        return found.accesses().to_vec();
    }
    // Masks and addresses may lie in vector registers.
    thread.save_vectors();
    accesses.operands_before(&thread.registers(pc), &code).accesses().to_vec()
}

/// The accesses that follow from the machine's registers.
pub fn accesses(cache: &mut Cache, registers: &Registers<'_>) -> Vec<Access> {
    let Cache { accesses, source, .. } = cache;
    accesses.operands_before(registers, &Code(source.regions())).accesses().to_vec()
}
