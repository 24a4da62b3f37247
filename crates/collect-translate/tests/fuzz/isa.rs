//! One instruction of the user-mode instruction set, any of those that this processor has, with operands that stay
//! inside the data.

use iced_x86::{
    Code, Decoder, DecoderOptions, EncodingKind, Instruction, Mnemonic as M, OpCodeInfo,
    OpCodeOperandKind as Kind, OpKind, Register, RoundingControl,
};

use crate::{
    place::{CONSTANTS, DATA, DATA_BYTES, MARGIN, OFFSETS_32, OFFSETS_64},
    random::Random,
    sequence::{GPRS, Step, at, encode, op},
};

/// Every register but the stack pointer.
pub fn gpr(random: &mut Random) -> Register {
    loop {
        let register = random.pick(&GPRS);
        if register != Register::RSP {
            return register;
        }
    }
}

/// An address in the data, aligned as wanted.
pub fn address(random: &mut Random, aligned: bool) -> u64 {
    let offset = MARGIN + random.below(DATA_BYTES - 2 * MARGIN);
    DATA + if aligned { offset & !63 } else { offset }
}

/// A memory operand's registers and displacement.
struct Place {
    base: Register,
    index: Register,
    scale: u32,
    displacement: u64,
}

/// Prepares registers for a memory operand.
fn place(step: &mut Step, random: &mut Random, aligned: bool, stack: bool) -> Place {
    let address = address(random, aligned);
    match random.below(10) {
        0..=2 => Place { base: Register::RIP, index: Register::None, scale: 1, displacement: address },
        3 if stack && !aligned => {
            // Around the stack pointer, red zone included.
            Place {
                base: Register::RSP,
                index: Register::None,
                scale: 1,
                displacement: random.below(0x100).wrapping_sub(0x80),
            }
        }
        4..=6 => {
            let base = gpr(random);
            let displacement = random.below(0x180).wrapping_sub(0xc0) & if aligned { !63 } else { !0 };
            step.push(base_address(base, address.wrapping_sub(displacement), random));
            Place { base, index: Register::None, scale: 1, displacement }
        }
        _ => {
            let (base, index) = (gpr(random), gpr(random));
            if base == index {
                return Place { base: Register::RIP, index: Register::None, scale: 1, displacement: address };
            }
            let scale = random.pick(&[1, 2, 4, 8]);
            let count = if aligned { random.below(2) * 64 / u64::from(scale) } else { random.below(16) };
            step.push(base_address(base, address, random));
            step.push(op!(Mov_r32_imm32, small(index), count as u32));
            Place { base, index, scale, displacement: 0 }
        }
    }
}

fn small(register: Register) -> Register {
    register.full_register32()
}

/// `lea` or `mov`: neither touches flags.
pub fn base_address(register: Register, address: u64, random: &mut Random) -> Instruction {
    if random.chance(50) {
        op!(Lea_r64_m, register, at(address))
    } else {
        op!(Mov_r64_imm64, register, address)
    }
}

/// `code` with random operands, after the instructions that prepare them. `None` where an operand's kind is not
/// supported, or the choice cannot be encoded. `register_only`: no memory operand where there is a choice.
pub fn instruction(code: Code, random: &mut Random) -> Option<Step> {
    let info = code.op_code();
    let mut step = Step::default();
    let mut instruction = Instruction::default();
    instruction.set_code(code);
    let memory_form = random.chance(50);
    let legacy = info.encoding() == EncodingKind::Legacy;
    let mut vectors = Vec::new();
    let mut memory = None;
    for operand in 0..info.op_count() {
        let kind = info.op_kind(operand);
        match kind {
            Kind::mem | Kind::mem_offs => memory = Some((operand, kind)),
            Kind::mem_vsib32x
            | Kind::mem_vsib32y
            | Kind::mem_vsib32z
            | Kind::mem_vsib64x
            | Kind::mem_vsib64y
            | Kind::mem_vsib64z => {
                memory = Some((operand, kind));
            }
            _ if memory_form && is_register_or_memory(kind) => memory = Some((operand, kind)),
            _ => one_operand(&mut instruction, operand, kind, info, random, &mut vectors)?,
        }
    }
    decorate(&mut instruction, info, random, memory.is_some());
    if let Some((operand, kind)) = memory {
        instruction.set_op_kind(operand, OpKind::Memory);
        memory_operand(&mut step, &mut instruction, kind, random, &vectors, legacy);
        let first = operand == 0;
        if first && info.can_use_lock_prefix() && random.chance(40) {
            instruction.set_has_lock_prefix(true);
        }
    }
    step.push(instruction);
    encodes_as_itself(&instruction).then_some(step)
}

fn is_register_or_memory(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::r8_or_mem
            | Kind::r16_or_mem
            | Kind::r32_or_mem
            | Kind::r64_or_mem
            | Kind::mm_or_mem
            | Kind::xmm_or_mem
            | Kind::ymm_or_mem
            | Kind::zmm_or_mem
            | Kind::k_or_mem
    )
}

/// Old and foreign encodings are other instructions on current processors.
fn encodes_as_itself(instruction: &Instruction) -> bool {
    let Ok(bytes) = encode(instruction, crate::place::CODE) else { return false };
    Decoder::with_ip(64, &bytes, crate::place::CODE, DecoderOptions::NONE).decode().code()
        == instruction.code()
}

fn decorate(instruction: &mut Instruction, info: &OpCodeInfo, random: &mut Random, memory: bool) {
    if info.encoding() != EncodingKind::EVEX {
        return;
    }
    if info.require_op_mask_register() || info.can_use_op_mask_register() && random.chance(50) {
        instruction.set_op_mask(register_of(Register::K1, random.below(7)));
        if info.can_use_zeroing_masking() && random.chance(50) {
            instruction.set_zeroing_masking(true);
        }
    }
    if memory {
        instruction.set_is_broadcast(info.can_broadcast() && random.chance(30));
    } else if info.can_use_rounding_control() && random.chance(30) {
        use RoundingControl::*;
        instruction.set_rounding_control(random.pick(&[RoundToNearest, RoundDown, RoundUp, RoundTowardZero]));
    } else if info.can_suppress_all_exceptions() && random.chance(30) {
        instruction.set_suppress_all_exceptions(true);
    }
}

fn register_of(first: Register, number: u64) -> Register {
    first + number as u32
}

/// A vector register that was not chosen before, as gathers want it.
fn vector(first: Register, count: u64, random: &mut Random, taken: &mut Vec<u64>) -> Register {
    let number = loop {
        let number = random.below(count);
        if !taken.contains(&number) {
            break number;
        }
    };
    taken.push(number);
    register_of(first, number)
}

fn one_operand(
    instruction: &mut Instruction,
    operand: u32,
    kind: Kind,
    info: &OpCodeInfo,
    random: &mut Random,
    vectors: &mut Vec<u64>,
) -> Option<()> {
    let vector_count = if info.encoding() == EncodingKind::EVEX { 32 } else { 16 };
    let mut unused = Vec::new();
    let taken = if info.requires_unique_reg_nums() || info.requires_unique_dest_reg_num() {
        vectors
    } else {
        &mut unused
    };
    let register = match kind {
        Kind::r8_or_mem | Kind::r8_reg | Kind::r8_opcode => byte_register(random),
        Kind::r16_or_mem | Kind::r16_reg | Kind::r16_rm | Kind::r16_opcode => {
            gpr(random).full_register32() - 16u32
        }
        Kind::r32_or_mem | Kind::r32_reg | Kind::r32_rm | Kind::r32_opcode | Kind::r32_vvvv => {
            gpr(random).full_register32()
        }
        Kind::r64_or_mem | Kind::r64_reg | Kind::r64_rm | Kind::r64_opcode | Kind::r64_vvvv => gpr(random),
        Kind::k_or_mem | Kind::k_reg | Kind::k_rm | Kind::k_vvvv => {
            register_of(Register::K0, random.below(8))
        }
        Kind::kp1_reg => register_of(Register::K0, random.below(4) * 2),
        Kind::mm_or_mem | Kind::mm_reg | Kind::mm_rm => register_of(Register::MM0, random.below(8)),
        Kind::xmm_or_mem | Kind::xmm_reg | Kind::xmm_rm | Kind::xmm_vvvv | Kind::xmm_is4 | Kind::xmm_is5 => {
            vector(Register::XMM0, vector_count, random, taken)
        }
        Kind::ymm_or_mem | Kind::ymm_reg | Kind::ymm_rm | Kind::ymm_vvvv | Kind::ymm_is4 | Kind::ymm_is5 => {
            vector(Register::YMM0, vector_count, random, taken)
        }
        Kind::zmm_or_mem | Kind::zmm_reg | Kind::zmm_rm | Kind::zmm_vvvv => {
            vector(Register::ZMM0, 32, random, taken)
        }
        Kind::al => Register::AL,
        Kind::cl => Register::CL,
        Kind::ax => Register::AX,
        Kind::dx => Register::DX,
        Kind::eax => Register::EAX,
        Kind::rax => Register::RAX,
        Kind::st0 => Register::ST0,
        Kind::sti_opcode => register_of(Register::ST0, random.below(8)),
        _ => return immediate(instruction, operand, kind, random),
    };
    instruction.set_op_register(operand, register);
    Some(())
}

fn byte_register(random: &mut Random) -> Register {
    use Register::*;
    random
        .pick(&[AL, CL, DL, BL, AH, CH, DH, BH, BPL, SIL, DIL, R8L, R9L, R10L, R11L, R12L, R13L, R14L, R15L])
}

fn immediate(instruction: &mut Instruction, operand: u32, kind: Kind, random: &mut Random) -> Option<()> {
    let value = random.number();
    let kind = match kind {
        Kind::imm8 | Kind::imm4_m2z => OpKind::Immediate8,
        Kind::imm8_const_1 => OpKind::Immediate8,
        Kind::imm8sex16 => OpKind::Immediate8to16,
        Kind::imm8sex32 => OpKind::Immediate8to32,
        Kind::imm8sex64 => OpKind::Immediate8to64,
        Kind::imm16 => OpKind::Immediate16,
        Kind::imm32 => OpKind::Immediate32,
        Kind::imm32sex64 => OpKind::Immediate32to64,
        Kind::imm64 => OpKind::Immediate64,
        _ => return None,
    };
    let one = instruction.op_code().op_kind(operand) == Kind::imm8_const_1;
    let few = instruction.op_code().op_kind(operand) == Kind::imm4_m2z;
    let second = operand > 0 && instruction.op_kind(operand - 1) == OpKind::Immediate8;
    match kind {
        OpKind::Immediate8 if second => instruction.set_immediate8_2nd(value as u8),
        OpKind::Immediate8 => instruction.set_immediate8(if one {
            1
        } else if few {
            value as u8 & 3
        } else {
            value as u8
        }),
        OpKind::Immediate8to16 => instruction.set_immediate8to16((value as i8).into()),
        OpKind::Immediate8to32 => instruction.set_immediate8to32((value as i8).into()),
        OpKind::Immediate8to64 => instruction.set_immediate8to64((value as i8).into()),
        OpKind::Immediate16 => instruction.set_immediate16(value as u16),
        OpKind::Immediate32 => instruction.set_immediate32(value as u32),
        OpKind::Immediate32to64 => instruction.set_immediate32to64((value as i32).into()),
        _ => instruction.set_immediate64(value),
    }
    instruction.set_op_kind(operand, if second { OpKind::Immediate8_2nd } else { kind });
    Some(())
}

fn memory_operand(
    step: &mut Step,
    instruction: &mut Instruction,
    kind: Kind,
    random: &mut Random,
    vectors: &[u64],
    legacy: bool,
) {
    let first = match kind {
        Kind::mem_vsib32x | Kind::mem_vsib64x => Some(Register::XMM0),
        Kind::mem_vsib32y | Kind::mem_vsib64y => Some(Register::YMM0),
        Kind::mem_vsib32z | Kind::mem_vsib64z => Some(Register::ZMM0),
        _ => None,
    };
    if kind == Kind::mem_offs {
        instruction.set_memory_displ_size(8);
        instruction.set_memory_displacement64(address(random, false));
        return;
    }
    if let Some(first) = first {
        let index = vector(first, 16, random, &mut vectors.to_vec());
        let offsets = if matches!(kind, Kind::mem_vsib32x | Kind::mem_vsib32y | Kind::mem_vsib32z) {
            OFFSETS_32
        } else {
            OFFSETS_64
        };
        let number = index.number() as u32;
        step.push(op!(EVEX_Vmovdqu64_zmm_k1z_zmmm512, Register::ZMM0 + number, at(CONSTANTS + offsets)));
        let base = gpr(random);
        step.push(base_address(base, address(random, false), random));
        set_place(instruction, &Place { base, index, scale: random.pick(&[1, 2, 4, 8]), displacement: 0 });
        return;
    }
    let mnemonic = instruction.mnemonic();
    let by_bit =
        matches!(mnemonic, M::Bt | M::Bts | M::Btr | M::Btc) && instruction.op1_kind() == OpKind::Register;
    let wide = instruction.memory_size().size() >= 16 || matches!(mnemonic, M::Cmpxchg16b);
    let name = format!("{mnemonic:?}").to_lowercase();
    let must_align =
        wide && (legacy || name.contains("movap") || name.contains("movdqa") || name.contains("movnt"));
    let aligned = must_align || random.chance(30);
    let mut place = place(step, random, aligned, !instruction.is_stack_instruction());
    if by_bit {
        // The bit's number reaches beyond the operand: it must be small, and not be taken from an address.
        let register = instruction.op1_register();
        let full = register.full_register();
        if full == place.base || full == place.index {
            place = Place {
                base: Register::RIP,
                index: Register::None,
                scale: 1,
                displacement: address(random, false),
            };
        }
        step.push(op!(Mov_r32_imm32, small(full), random.below(512) as u32));
    }
    set_place(instruction, &place);
}

fn set_place(instruction: &mut Instruction, place: &Place) {
    instruction.set_memory_base(place.base);
    instruction.set_memory_index(place.index);
    instruction.set_memory_index_scale(place.scale);
    instruction.set_memory_displacement64(place.displacement);
    if place.displacement != 0 || place.base == Register::RIP {
        // The encoder takes the shorter form where there is one.
        instruction.set_memory_displ_size(if place.base == Register::RIP { 8 } else { 1 });
    }
}
