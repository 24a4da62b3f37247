use iced_x86::{Instruction, Mnemonic};

use super::alu;
use super::machine::{Machine, accumulator};
use super::{Next, Obstacle};
use crate::code::Memory;
use crate::registers::flag::{STATUS, ZF};
use crate::string::Element;

impl<M: Memory> Machine<'_, '_, M> {
    /// One iteration of a string instruction, as one single-step executes it.
    pub fn iterate(&mut self, i: &Instruction, element: Element) -> Next {
        match element.counter.map(|counter| self.regs.read(counter)) {
            Some(None) => return Next::Stop(Obstacle::Unknown),
            Some(Some(0)) => return Next::Through,
            Some(Some(_)) | None => {}
        }
        let width = element.width;
        let base = self.regs.address_part(i.memory_segment());
        let source = element.source.and_then(|source| self.regs.read(source));
        let source = source.zip(base).map(|(offset, base)| offset.wrapping_add(base));
        let destination = element.destination.and_then(|destination| self.regs.read(destination));
        let loaded = source.and_then(|source| self.memory.load(source, width));
        let accumulator = accumulator(width);
        let mut compared = false;
        if element.destination.is_none() {
            self.regs.write(accumulator, loaded);
        } else if element.stores {
            let value = if element.source.is_some() { loaded } else { self.regs.read(accumulator) };
            self.memory.store(destination, width, value);
        } else {
            let left = if element.source.is_some() { loaded } else { self.regs.read(accumulator) };
            let right = destination.and_then(|destination| self.memory.load(destination, width));
            let outcome = left.zip(right).map(|(left, right)| alu::sub(left, right, 0, width));
            self.set_flags(outcome, STATUS);
            compared = true;
        }
        element.advance(&mut self.regs);
        self.again(i, element, compared)
    }

    fn again(&mut self, i: &Instruction, element: Element, compared: bool) -> Next {
        let Some(counter) = element.counter else { return Next::Through };
        if self.regs.read(counter) == Some(0) {
            return Next::Through;
        }
        if !compared {
            return Next::Again;
        }
        match self.flag(ZF) {
            Some(equal) if equal != i.has_repne_prefix() => {
                // Between iterations AMD's processors have the flags of the last one; Intel's have not.
                self.set_flags(None, STATUS);
                Next::Again
            }
            Some(_) => Next::Through,
            None => Next::Stop(Obstacle::Unknown),
        }
    }
}

/// `ins` and `outs` talk to devices.
pub(super) fn is_io(i: &Instruction) -> bool {
    use Mnemonic::{Insb, Insd, Insw, Outsb, Outsd, Outsw};
    matches!(i.mnemonic(), Insb | Insw | Insd | Outsb | Outsw | Outsd)
}
