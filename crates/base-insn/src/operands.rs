//! The accesses of an instruction with their addresses.

use carom_base::{Addr, Skip};
use iced_x86::{Instruction, Register};

use crate::accesses::Operands;
use crate::info::Info;
use crate::registers::Registers;
use crate::shape::Shape;
use crate::{implied, plain, shape};

/// The accesses of `instruction`, given the registers before it.
pub(crate) fn of(info: &mut Info, instruction: &Instruction, regs: &Registers) -> Operands {
    let mut found = Operands::none();
    match Shape::of(instruction) {
        Shape::Nothing => {}
        Shape::Element(element) => element.operands(instruction, regs, &mut found),
        Shape::Clzero => clzero(instruction, regs, &mut found),
        Shape::Lanes(lanes) => lanes.operands(info, instruction, regs, &mut found),
        Shape::Plain => locate(info, instruction, regs, &mut found),
    }
    if found.accesses().is_empty() {
        found.miss(Skip::NotAnAccess);
    }
    found
}

fn locate(info: &mut Info, instruction: &Instruction, regs: &Registers, found: &mut Operands) {
    let requested = implied::requested(regs);
    for (memory, kind) in plain::operands(&mut info.factory, instruction) {
        let Some(width) = implied::width(instruction, memory.memory_size(), &info.layout, requested) else {
            found.miss(Skip::HiddenState);
            continue;
        };
        match plain::address(memory, regs)
            .and_then(|address| implied::adjust(instruction, address, width, regs))
        {
            Some(address) => found.push(instruction.ip(), address, width, kind),
            None => found.miss(plain::unknown_address(memory, regs)),
        }
    }
}

/// `clzero` stores zeroes to the line that RAX points into; the decoder lists no operand for it.
fn clzero(instruction: &Instruction, regs: &Registers, found: &mut Operands) {
    match regs.read(Register::RAX) {
        Some(address) => {
            let line = Addr(address).line().start();
            found.push(instruction.ip(), line.0, shape::CLZERO.width, shape::CLZERO.kind);
        }
        None => found.miss(Skip::AddressLost),
    }
}
