//! The rest of a passage, executed on a copy of the thread's registers.
//!
//! Between the cache and the dispatcher lie exits, misses and the passages of `passages`: straight-line code that
//! uses only registers and slots. A signal may interrupt it anywhere. The program's state is known at its end, so the
//! copy is advanced to there.

use std::{
    arch::asm,
    mem::offset_of,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

use super::context::Original;
use crate::{
    blocks::exact,
    lane::{
        registers::number::{RAX, RBX, RCX, RDI, RDX, RSI},
        slots::{DEFERS, DISPATCH, LOOK_UP_EXACTLY, NEXT, RESUME, Slots},
    },
    memory::LANE_BYTES,
};

/// Where a passage leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// To the dispatcher, with the program's registers and the exit in the slots.
    Dispatcher,
    /// To `Slots::next`, which corresponds to `Slots::pc`.
    Next,
    /// To `Slots::resume`, which corresponds to `Slots::resume_pc`.
    Resume,
}

/// An upper bound of the instructions in a passage.
const MOST_INSTRUCTIONS: usize = 64;

/// The longest instruction (Intel SDM volume 2, 2.3.11).
const INSTRUCTION_BYTES: usize = 15;

const WORDS: usize = size_of::<Slots>() / 8;

/// The state of a thread in a passage.
struct Machine<'a> {
    registers: &'a mut Original,
    slots: [u64; WORDS],
}

/// Executes the rest of the passage that contains `registers.rip`. `None` where there is no passage there: the
/// registers are then meaningless.
pub fn finish(registers: &mut Original, slots: &mut Slots) -> Option<End> {
    // A signal has arrived, so none were blocked. By now the word says what its handler has done.
    slots.blocked = 0;
    // SAFETY: words only, as many as it has.
    let words = unsafe { std::mem::transmute::<Slots, [u64; WORDS]>(*slots) };
    let mut machine = Machine { registers, slots: words };
    let end = machine.run();
    // SAFETY: any words are slots.
    *slots = unsafe { std::mem::transmute::<[u64; WORDS], Slots>(machine.slots) };
    end
}

impl Machine<'_> {
    fn run(&mut self) -> Option<End> {
        for _ in 0..MOST_INSTRUCTIONS {
            if exact::looking().contains(&self.registers.rip) {
                self.leave(exact::looking().start, &[RCX, RDX, RBX, RSI, RDI]);
            }
            let at = self.registers.rip;
            let code = std::ptr::with_exposed_provenance::<u8>(at as usize);
            // SAFETY: the engine's code, with more behind it: an arena is never filled to its last byte.
            let code = unsafe { std::slice::from_raw_parts(code, INSTRUCTION_BYTES) };
            let instruction = Decoder::with_ip(64, code, at, DecoderOptions::NONE).decode();
            self.registers.rip = instruction.next_ip();
            match instruction.mnemonic() {
                // From here on signals are deferred.
                Mnemonic::Mov if is_slot(&instruction, DEFERS) => return Some(End::Dispatcher),
                Mnemonic::Mov => self.moves(&instruction)?,
                Mnemonic::Lea => {
                    let address = self.address(&instruction)?;
                    *self.register(instruction.op0_register())? = address;
                }
                Mnemonic::Jmp => match self.jump(&instruction)? {
                    Some(end) => return Some(end),
                    None => continue,
                },
                Mnemonic::Jrcxz if *self.register(Register::RCX)? == 0 => {
                    self.registers.rip = instruction.near_branch_target();
                }
                Mnemonic::Jrcxz => {}
                Mnemonic::Add => {}
                Mnemonic::Rdfsbase => *self.register(instruction.op0_register())? = fs_base(),
                Mnemonic::Sahf => self.registers.flags_from_ax(),
                Mnemonic::Nop => {}
                Mnemonic::Syscall => return Some(End::Dispatcher),
                _ => return None,
            }
        }
        None
    }

    /// Ends a look-up among watched places as if it had found something: the dispatcher looks again. `start`: of the
    /// look-up. `used`: the registers that it has changed, except RAX.
    fn leave(&mut self, start: u64, used: &[usize]) {
        // lahf, seto al: from the third instruction on the flags are in AX.
        const LAHF_AND_SETO: u64 = 4;
        if self.registers.rip >= start + LAHF_AND_SETO {
            self.registers.flags_from_ax();
        }
        let kept = used.iter().map(|&number| (number, offset_of!(Slots, regs) + 8 * number));
        for (number, offset) in kept.chain([(RAX, offset_of!(Slots, exit))]) {
            let value = self.slots.get(offset / 8).copied().unwrap_or_default();
            if let Some(register) = self.registers.gpr.get_mut(number) {
                *register = value;
            }
        }
        self.registers.rip = self.slots.get(DISPATCH as usize / 8).copied().unwrap_or_default();
    }

    fn moves(&mut self, instruction: &Instruction) -> Option<()> {
        let value = match instruction.op1_kind() {
            OpKind::Memory if instruction.segment_prefix() == Register::GS => *self.slot(instruction)?,
            OpKind::Memory => {
                let place = self.address(instruction)?;
                // SAFETY: only exits are read in this way, which are made together with the code that names them, and the table of which block signals.
                unsafe { std::ptr::with_exposed_provenance::<u64>(place as usize).read_unaligned() }
            }
            OpKind::Register => *self.register(instruction.op1_register())?,
            _ => instruction.immediate(1),
        };
        let place = match instruction.op0_kind() {
            // iced tells the address of an operand relative to RIP in this way, too.
            OpKind::Memory if instruction.memory_displacement64() >= LANE_BYTES => {
                self.write_counter(instruction.memory_displacement64(), value);
                return Some(());
            }
            OpKind::Memory => self.slot(instruction)?,
            OpKind::Register => self.register(instruction.op0_register())?,
            _ => return None,
        };
        *place = value;
        Some(())
    }

    /// The counter of a loop goes from a register to its place relative to GS: for good, since the thread, should it go on
    /// here, writes the same value again.
    fn write_counter(&self, pseudo: u64, value: u64) {
        let [this, ..] = self.slots;
        let place = std::ptr::with_exposed_provenance::<AtomicU64>(this.wrapping_add(pseudo) as usize);
        // SAFETY: a counter of the calling thread's own window, as the exit stub names it.
        unsafe { &*place }.store(value, Relaxed);
    }

    /// Where a jump ends the passage; `Some(None)` if the passage continues.
    fn jump(&mut self, instruction: &Instruction) -> Option<Option<End>> {
        self.registers.rip = match instruction.op0_kind() {
            OpKind::NearBranch64 => instruction.near_branch_target(),
            OpKind::Memory if instruction.segment_prefix() == Register::GS => {
                match u32::try_from(instruction.memory_displacement64()) {
                    Ok(NEXT) => return Some(Some(End::Next)),
                    Ok(RESUME) => return Some(Some(End::Resume)),
                    Ok(DISPATCH | LOOK_UP_EXACTLY) => *self.slot(instruction)?,
                    _ => return None,
                }
            }
            OpKind::Memory if instruction.is_ip_rel_memory_operand() => {
                let literal = instruction.ip_rel_memory_address();
                // SAFETY: a literal of the engine, beside the code that names it.
                unsafe { std::ptr::with_exposed_provenance::<u64>(literal as usize).read_unaligned() }
            }
            _ => return None,
        };
        Some(None)
    }

    fn address(&mut self, instruction: &Instruction) -> Option<u64> {
        if instruction.is_ip_rel_memory_operand() {
            return Some(instruction.ip_rel_memory_address());
        }
        let mut part = |register| match register {
            Register::None => Some(0),
            register => self.register(register).map(|value| *value),
        };
        let index =
            part(instruction.memory_index())?.wrapping_mul(u64::from(instruction.memory_index_scale()));
        let base = part(instruction.memory_base())?;
        Some(base.wrapping_add(index).wrapping_add(instruction.memory_displacement64()))
    }

    fn register(&mut self, register: Register) -> Option<&mut u64> {
        if !register.is_gpr64() && !register.is_gpr32() {
            return None;
        }
        self.registers.gpr.get_mut(register.number())
    }

    fn slot(&mut self, instruction: &Instruction) -> Option<&mut u64> {
        let absolute =
            instruction.memory_base() == Register::None && instruction.memory_index() == Register::None;
        if instruction.segment_prefix() != Register::GS || !absolute {
            return None;
        }
        self.slots.get_mut(instruction.memory_displacement64() as usize / 8)
    }
}

/// Whether the first operand is this slot.
fn is_slot(instruction: &Instruction, slot: u32) -> bool {
    instruction.op0_kind() == OpKind::Memory
        && instruction.segment_prefix() == Register::GS
        && instruction.memory_displacement64() == u64::from(slot)
}

/// The calling thread's FS base; it is the thread that was interrupted.
fn fs_base() -> u64 {
    let base: u64;
    // SAFETY: reads a register; that the instruction is there was checked at the start.
    unsafe { asm!("rdfsbase {}", out(reg) base, options(nostack, nomem, preserves_flags)) };
    base
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::passages::proceed;

    /// A signal may arrive where signals are neither deferred nor blocked. By the time that its handler looks, all are.
    #[test]
    fn the_way_out_of_the_dispatcher_leads_on_wherever_it_is_interrupted() {
        let start = proceed as *const () as u64;
        let code = std::ptr::with_exposed_provenance::<u8>(start as usize);
        // SAFETY: the passage, and other passages behind it.
        let code = unsafe { std::slice::from_raw_parts(code, 512) };
        let mut all = Decoder::with_ip(64, code, start, DecoderOptions::NONE).into_iter();
        all.find(|instruction| is_slot(instruction, DEFERS)).unwrap();
        let [loads_blocked, skips] = [all.next().unwrap(), all.next().unwrap()];
        assert_eq!(skips.mnemonic(), Mnemonic::Jrcxz);
        // In between signals are blocked.
        let unblocked = all.skip_while(|instruction| instruction.ip() < skips.near_branch_target());
        for interrupted in [loads_blocked, skips].into_iter().chain(unblocked) {
            // SAFETY: words only.
            let mut slots = unsafe { std::mem::transmute::<[u64; WORDS], Slots>([0; WORDS]) };
            slots.blocked = 1;
            let mut registers = Original { gpr: [0; 16], rip: interrupted.ip(), rflags: 0 };
            assert_eq!(finish(&mut registers, &mut slots), Some(End::Next), "{interrupted}");
            if interrupted.mnemonic() == Mnemonic::Jmp {
                return;
            }
        }
        panic!("the passage does not end");
    }
}
