//! Instructions that access each lane of a vector separately: gathers, scatters and masked moves.

use carom_base::{AccessKind, Skip};
use iced_x86::{Instruction, Mnemonic, OpKind, Register, UsedMemory};

use crate::accesses::Operands;
use crate::info::Info;
use crate::plain;
use crate::registers::Registers;
use crate::xsave::Layout;

/// Where the mask of active lanes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mask {
    /// EVEX: one bit per lane in a mask register.
    Opmask(Register),
    /// VEX, SSE and MMX: the top bit of each lane of a vector register.
    Signs(Register),
}

/// How lanes lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placement {
    /// Lane n at address + n * lane bytes.
    InOrder,
    /// The same, with inactive lanes left out: expand and compress.
    Packed,
    /// Lane n where lane n of an index register says.
    Indexed,
}

/// An instruction that makes one access per active lane, the lowest lane first.
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    /// Which lanes are active.
    pub mask: Mask,
    placement: Placement,
    /// What each access does: it loads or stores.
    pub kind: AccessKind,
    /// How many lanes there are, active or not: 1 to 64. Further bits of the mask are ignored.
    pub count: usize,
    /// Bytes of each access.
    pub lane_bytes: u32,
}

impl Lanes {
    /// `None` for all other instructions, among them masked arithmetic: it counts as one access of full width.
    pub fn of(instruction: &Instruction) -> Option<Self> {
        if is_gathering_prefetch(instruction) {
            return None;
        }
        let stores =
            matches!(instruction.op0_kind(), OpKind::Memory | OpKind::MemorySegRDI | OpKind::MemorySegEDI);
        let placement = placement(instruction, stores)?;
        let mask = match placement {
            _ if instruction.has_op_mask() => Mask::Opmask(instruction.op_mask()),
            Placement::Indexed | Placement::InOrder => Mask::Signs(sign_register(instruction)?),
            // Expand and compress without a mask register: all lanes.
            Placement::Packed => return None,
        };
        let size = instruction.memory_size();
        let lane_bytes = match instruction.mnemonic() {
            Mnemonic::Maskmovq | Mnemonic::Maskmovdqu | Mnemonic::Vmaskmovdqu => 1,
            _ => size.element_size() as u32,
        };
        if !(1..=8).contains(&lane_bytes) {
            return None;
        }
        let count = match placement {
            Placement::Indexed => indexed_lanes(instruction, lane_bytes),
            _ => size.size().checked_div(lane_bytes as usize)?,
        };
        let kind = if stores { AccessKind::Store } else { AccessKind::Load };
        Some(Self { mask, placement, kind, count, lane_bytes })
    }

    /// Whether inactive lanes are left out in memory, so that the active ones follow each other.
    pub fn is_packed(&self) -> bool {
        self.placement == Placement::Packed
    }

    /// One access per active lane, lowest lane first.
    pub(crate) fn operands(
        self,
        info: &mut Info,
        instruction: &Instruction,
        regs: &Registers,
        found: &mut Operands,
    ) {
        let layout = &info.layout;
        let Some((memory, _)) = plain::operands(&mut info.factory, instruction).next() else { return };
        let Some(active) = self.active(layout, regs) else {
            return found.miss(Skip::HiddenState);
        };
        if active == 0 {
            return found.miss(Skip::Masked);
        }
        let lanes = (0..self.count.min(64)).filter(|lane| active >> lane & 1 == 1);
        for (nth, lane) in lanes.enumerate() {
            let Some(base) = lane_address(memory, lane, layout, regs) else {
                return found.miss(self.unknown(memory, regs));
            };
            let position = match self.placement {
                Placement::InOrder => lane,
                Placement::Packed => nth,
                Placement::Indexed => 0,
            };
            let address = base.wrapping_add(position as u64 * u64::from(self.lane_bytes));
            found.push(instruction.ip(), address, self.lane_bytes, self.kind);
        }
    }

    /// One bit per lane; `None` where the mask is not known.
    fn active(self, layout: &Layout, regs: &Registers) -> Option<u64> {
        match self.mask {
            Mask::Opmask(register) => {
                let number = register.number();
                (regs.known.opmasks >> number & 1 == 1).then(|| layout.opmask(regs.xsave, number))?
            }
            Mask::Signs(register) => {
                let mut active = 0;
                for lane in 0..self.count.min(64) {
                    let value = vector_lane(register, lane, self.lane_bytes as usize, layout, regs)?;
                    active |= (value >> (self.lane_bytes * 8 - 1) & 1) << lane;
                }
                Some(active)
            }
        }
    }

    fn unknown(self, memory: &UsedMemory, regs: &Registers) -> Skip {
        match self.placement {
            Placement::Indexed => Skip::VectorAddress,
            _ => plain::unknown_address(memory, regs),
        }
    }
}

/// The one kind of instruction with a vector of addresses and no data.
fn is_gathering_prefetch(instruction: &Instruction) -> bool {
    instruction.is_vsib() && instruction.op_count() == 1
}

fn placement(instruction: &Instruction, stores: bool) -> Option<Placement> {
    use Mnemonic::*;
    if instruction.is_vsib() {
        return Some(Placement::Indexed);
    }
    match instruction.mnemonic() {
        Maskmovq | Maskmovdqu | Vmaskmovdqu => Some(Placement::InOrder),
        Vmaskmovps | Vmaskmovpd | Vpmaskmovd | Vpmaskmovq => Some(Placement::InOrder),
        _ if !instruction.has_op_mask() => None,
        Vpcompressb | Vpcompressw | Vpcompressd | Vpcompressq | Vcompressps | Vcompresspd => {
            stores.then_some(Placement::Packed)
        }
        Vpexpandb | Vpexpandw | Vpexpandd | Vpexpandq | Vexpandps | Vexpandpd => {
            (instruction.op1_kind() == OpKind::Memory).then_some(Placement::Packed)
        }
        // The other masked instructions with a memory destination are moves of one kind or another.
        _ if stores => Some(Placement::InOrder),
        Vmovups | Vmovupd | Vmovaps | Vmovapd | Vmovdqa32 | Vmovdqa64 | Vmovdqu8 | Vmovdqu16 | Vmovdqu32
        | Vmovdqu64 | Vmovss | Vmovsd | Vmovsh => {
            (instruction.op1_kind() == OpKind::Memory).then_some(Placement::InOrder)
        }
        _ => None,
    }
}

/// The vector register whose sign bits say which lanes are active.
fn sign_register(instruction: &Instruction) -> Option<Register> {
    use Mnemonic::*;
    let register = match instruction.mnemonic() {
        Vmaskmovps | Vmaskmovpd | Vpmaskmovd | Vpmaskmovq => instruction.op1_register(),
        // maskmovdqu [rdi], source, mask; gather destination, [index], mask.
        _ => instruction.op2_register(),
    };
    (register != Register::None).then_some(register)
}

/// As many lanes as both the data register and the index register have.
fn indexed_lanes(instruction: &Instruction, lane_bytes: u32) -> usize {
    let data = match instruction.op0_kind() {
        OpKind::Register => instruction.op0_register(),
        _ => instruction.op1_register(),
    };
    let index_bytes = if instruction.is_vsib64() { 8 } else { 4 };
    let indices = instruction.memory_index().size() / index_bytes;
    match data.size().checked_div(lane_bytes as usize) {
        Some(lanes) if data.is_vector_register() => lanes.min(indices),
        _ => indices,
    }
}

fn lane_address(memory: &UsedMemory, lane: usize, layout: &Layout, regs: &Registers) -> Option<u64> {
    memory.virtual_address(lane, |register, lane, bytes| {
        if register.is_vector_register() {
            vector_lane(register, lane, bytes, layout, regs)
        } else {
            regs.address_part(register)
        }
    })
}

fn vector_lane(
    register: Register,
    lane: usize,
    bytes: usize,
    layout: &Layout,
    regs: &Registers,
) -> Option<u64> {
    // MMX registers share the x87 stack and are not looked up.
    if !register.is_vector_register() || regs.known.vectors >> register.number() & 1 == 0 {
        return None;
    }
    layout.vector(regs.xsave, register.number(), lane * bytes, bytes)
}
