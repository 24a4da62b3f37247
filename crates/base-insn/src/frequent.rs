//! The instructions of which most programs consist, by their codes: what they do is known without the decoder's list of
//! operands, which takes longer to make than an instruction takes to decode.

use iced_x86::{Code, Instruction, OpKind};

/// What a frequent instruction does each time it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frequent {
    /// It loads this many bytes.
    Load(u32),
    /// It stores this many bytes.
    Store(u32),
    /// A jump to a fixed address, with a condition or without.
    Jump,
    /// A call of a fixed address.
    Call,
    /// A return.
    Return,
}

impl Frequent {
    /// `None` for all other instructions, and where there is no operand in memory.
    pub fn of(instruction: &Instruction) -> Option<Self> {
        use Code::*;
        let code = instruction.code();
        match code {
            Push_r64 => return Some(Self::Store(8)),
            Pop_r64 => return Some(Self::Load(8)),
            Retnq => return Some(Self::Return),
            Call_rel32_64 => return Some(Self::Call),
            _ if instruction.is_jcc_short_or_near() || instruction.is_jmp_short_or_near() => {
                return Some(Self::Jump);
            }
            _ => {}
        }
        let in_memory = [instruction.op0_kind(), instruction.op1_kind()].contains(&OpKind::Memory);
        in_memory.then(|| Self::with_operand(code)).flatten()
    }

    /// The same for a code whose one operand that may be memory is.
    fn with_operand(code: Code) -> Option<Self> {
        use Code::*;
        Some(match code {
            Mov_r64_rm64 | Cmp_r64_rm64 | Cmp_rm64_r64 | Cmp_rm64_imm8 | Cmp_rm64_imm32 | Test_rm64_r64
            | Add_r64_rm64 | Sub_r64_rm64 | Movq_xmm_xmmm64 => Self::Load(8),
            Mov_r32_rm32 | Movsxd_r64_rm32 | Cmp_r32_rm32 | Cmp_rm32_r32 | Cmp_rm32_imm8 | Cmp_rm32_imm32 => {
                Self::Load(4)
            }
            Movzx_r32_rm16 => Self::Load(2),
            Mov_r8_rm8 | Movzx_r32_rm8 | Cmp_rm8_imm8 | Test_rm8_imm8 => Self::Load(1),
            Movups_xmm_xmmm128 | Movaps_xmm_xmmm128 | Movdqa_xmm_xmmm128 | Movdqu_xmm_xmmm128 => {
                Self::Load(16)
            }
            Mov_rm64_r64 | Mov_rm64_imm32 | Movq_xmmm64_xmm => Self::Store(8),
            Mov_rm32_r32 | Mov_rm32_imm32 => Self::Store(4),
            Mov_rm8_r8 | Mov_rm8_imm8 => Self::Store(1),
            Movups_xmmm128_xmm | Movaps_xmmm128_xmm => Self::Store(16),
            _ => return None,
        })
    }
}
