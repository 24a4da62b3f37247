//! What depends on the extended state: the active lanes of a vector instruction, and the size of a saved state.

use std::arch::x86_64::__cpuid_count;

use iced_x86::{Code, Instruction, Mnemonic, OpAccess, OpKind, Register};

/// Where the registers of the old format lie in the area of `xsave` (Intel SDM volume 1, 13.4.1): the x87 and MMX
/// registers, 16 bytes apart, the lower halves of the vector registers, and the kernel's copy of XCR0.
const MMX: usize = 32;
const XMM: usize = 160;
const XCR0: usize = 464;
/// The old format and the header.
const LEAST_STATE: u64 = 576;
/// State components (Intel SDM volume 1, 13.1): upper halves of the `ymm` registers, mask registers.
const YMM: u32 = 2;
const MASKS: u32 = 5;
/// The leaf of cpuid that describes the components.
const STATE_LEAF: u32 = 0xd;

/// Lanes of an instruction's memory operand that are accessed only if they are active.
#[derive(Clone, Copy)]
pub struct Lanes {
    /// How many there are.
    pub count: u32,
    /// The width of each, in bytes.
    pub width: u32,
    mask: Mask,
}

#[derive(Clone, Copy)]
enum Mask {
    /// A mask register: bit i for lane i.
    Bits(Register),
    /// A vector register: the highest bit of element i for lane i.
    Signs(Register),
}

impl Lanes {
    /// The lanes of gathers, scatters and masked moves; none for other instructions.
    pub fn of(instruction: &Instruction) -> Option<Self> {
        let size = instruction.memory_size();
        if let Some(wide_indices) = instruction.vsib() {
            let index = instruction.memory_index();
            let indices = index.size() / if wide_indices { 8 } else { 4 };
            let width = size.element_size();
            let data = [0, 1, 2].map(|operand| instruction.op_register(operand));
            let data = data.iter().find(|register| register.is_vector_register())?;
            let mask = match instruction.op_mask() {
                Register::None => Mask::Signs(instruction.op2_register()),
                register => Mask::Bits(register),
            };
            return Some(Self { count: indices.min(data.size() / width) as u32, width: width as u32, mask });
        }
        let bytes = |register: Register| Self {
            count: register.size() as u32,
            width: 1,
            mask: Mask::Signs(register),
        };
        use Mnemonic as M;
        match instruction.mnemonic() {
            M::Maskmovq | M::Maskmovdqu | M::Vmaskmovdqu => Some(bytes(instruction.op2_register())),
            M::Vmaskmovps | M::Vmaskmovpd | M::Vpmaskmovd | M::Vpmaskmovq => Some(Self {
                count: size.element_count() as u32,
                width: size.element_size() as u32,
                mask: Mask::Signs(instruction.op1_register()),
            }),
            mnemonic
                if instruction.op_mask() != Register::None
                    && touches_memory(instruction)
                    && is_move(mnemonic) =>
            {
                Some(Self {
                    count: size.element_count() as u32,
                    width: size.element_size() as u32,
                    mask: Mask::Bits(instruction.op_mask()),
                })
            }
            _ => None,
        }
    }

    /// The number of active lanes, by the extended state before the instruction.
    pub fn active(&self, state: &[u8]) -> u32 {
        let set = |lane: u32| match self.mask {
            Mask::Bits(register) => {
                let at = component(MASKS).0 as usize + 8 * register.number();
                byte(state, at + lane as usize / 8) >> (lane % 8) & 1 == 1
            }
            Mask::Signs(register) => {
                vector_byte(state, register, ((lane + 1) * self.width - 1) as usize) >> 7 == 1
            }
        };
        (0..self.count).filter(|&lane| set(lane)).count() as u32
    }
}

fn touches_memory(instruction: &Instruction) -> bool {
    instruction.op_kinds().any(|kind| kind == OpKind::Memory)
}

/// Instructions of AVX-512 that only move data, into or out of memory, in one piece or in lanes.
fn is_move(mnemonic: Mnemonic) -> bool {
    use Mnemonic::*;
    matches!(
        mnemonic,
        Vmovdqu8
            | Vmovdqu16
            | Vmovdqu32
            | Vmovdqu64
            | Vmovdqa32
            | Vmovdqa64
            | Vmovups
            | Vmovupd
            | Vmovaps
            | Vmovapd
            | Vmovss
            | Vmovsd
            | Vcompressps
            | Vcompresspd
            | Vpcompressb
            | Vpcompressw
            | Vpcompressd
            | Vpcompressq
            | Vexpandps
            | Vexpandpd
            | Vpexpandb
            | Vpexpandw
            | Vpexpandd
            | Vpexpandq
    )
}

/// Byte `index` of a vector register.
fn vector_byte(state: &[u8], register: Register, index: usize) -> u8 {
    let number = register.number();
    let at = match (register.is_mm(), index) {
        (true, _) => MMX + 16 * number + index,
        (false, 0..16) => XMM + 16 * number + index,
        (false, _) => component(YMM).0 as usize + 16 * number + index - 16,
    };
    byte(state, at)
}

/// A byte of the state; what the kernel leaves out is in its initial state, zero.
fn byte(state: &[u8], at: usize) -> u8 {
    state.get(at).copied().unwrap_or(0)
}

/// Offset and size of a component of the extended state, in bytes.
fn component(number: u32) -> (u32, u32) {
    // SAFETY: every x86-64 processor has CPUID; a component that it does not know has offset and size 0.
    #[allow(unused_unsafe, reason = "an unsafe function up to Rust 1.93, a safe one after")]
    let leaf = unsafe { __cpuid_count(STATE_LEAF, number) };
    (leaf.ebx, leaf.eax)
}

/// The accesses of the instructions that save or restore the components of the state that they are asked for. Saving
/// also reads a part of the header, which is not counted as a load.
pub fn state_use(instruction: &Instruction) -> Option<OpAccess> {
    use Code::*;
    match instruction.code() {
        Xsave_mem | Xsave64_mem | Xsavec_mem | Xsavec64_mem | Xsaveopt_mem | Xsaveopt64_mem => {
            Some(OpAccess::Write)
        }
        Xrstor_mem | Xrstor64_mem => Some(OpAccess::Read),
        _ => None,
    }
}

/// The size of what those instructions save: the minimum, plus each component asked for in `edx:eax`.
pub fn state_bytes(state: &[u8], rax: u64, rdx: u64) -> u64 {
    let enabled = (0..8).rev().fold(0, |word, index| word << 8 | u64::from(byte(state, XCR0 + index)));
    let wanted = (rdx << 32 | rax & 0xffff_ffff) & enabled;
    let sizes =
        (YMM..u64::BITS - 1).filter(|bit| wanted >> bit & 1 == 1).map(|bit| u64::from(component(bit).1));
    LEAST_STATE + sizes.sum::<u64>()
}
