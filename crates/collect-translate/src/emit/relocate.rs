//! Copies of the program's instructions at another address.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, Register};

use crate::{decode::block::Decoded, encode::Emitter, lane::registers::Gpr};

/// Appends an instruction with the bytes `original`. False, and nothing appended, if it can run only in its own
/// place.
pub fn copy(code: &mut Emitter, decoded: &Decoded, original: &[u8]) -> bool {
    let instruction = &decoded.instruction;
    if uses_gs(instruction) || instruction.mnemonic() == Mnemonic::Xbegin {
        return false;
    }
    if !instruction.is_ip_rel_memory_operand() {
        code.raw(original);
        return true;
    }
    let target = instruction.ip_rel_memory_address();
    let offset = decoded.displacement;
    let (Some(before), Some(behind)) = (original.get(..offset), original.get(offset + 4..)) else {
        return false;
    };
    if !code.reaches(target) {
        return absolute(instruction, before, target, behind).is_some_and(|moved| {
            code.raw(&moved);
            true
        });
    }
    let end = code.here().wrapping_add(original.len() as u64);
    code.raw(before);
    code.raw(&(target.wrapping_sub(end) as u32).to_le_bytes());
    code.raw(behind);
    true
}

/// The ModRM byte of an operand with a SIB byte and no base, and a SIB byte without base and index: the operand is
/// the sign-extended displacement (Intel SDM volume 2, tables 2-2 and 2-3).
const REGISTER_FIELD: u8 = 0b0011_1000;
const WITH_SIB: u8 = 0b100;
const NO_BASE_NO_INDEX: u8 = 0x25;

/// Rewrites an instruction that names `target`, below 2 GiB, relative to itself, so that it names it from anywhere.
/// `before` and `behind`: its bytes without the displacement. `None` where that is impossible.
fn absolute(instruction: &Instruction, before: &[u8], target: u64, behind: &[u8]) -> Option<Vec<u8>> {
    let displacement = i32::try_from(target).ok()?;
    let (modrm, prefixes_and_opcode) = before.split_last()?;
    let mut moved = prefixes_and_opcode.to_vec();
    moved.extend([modrm & REGISTER_FIELD | WITH_SIB, NO_BASE_NO_INDEX]);
    moved.extend(displacement.to_le_bytes());
    moved.extend(behind);
    // A prefix that extends the index, which relative operands do not have, would give it one now.
    let again = Decoder::with_ip(64, &moved, instruction.ip(), DecoderOptions::NONE).decode();
    let same = again.code() == instruction.code()
        && again.len() == moved.len()
        && again.memory_base() == Register::None
        && again.memory_index() == Register::None
        && again.memory_displacement64() == target;
    same.then_some(moved)
}

/// Whether the program itself uses GS, with which the engine finds the thread's state: its base is read or written,
/// alone, with the selector, or as part of an address.
pub fn uses_gs(instruction: &Instruction) -> bool {
    use Mnemonic::{Lgs, Mov, Pop, Rdgsbase, Swapgs, Wrgsbase};
    instruction.segment_prefix() == Register::GS
        || match instruction.mnemonic() {
            Rdgsbase | Wrgsbase | Swapgs | Lgs => true,
            Mov | Pop => instruction.op0_register() == Register::GS,
            _ => false,
        }
}

/// Appends `mov r11, operand` for the operand of an indirect jump or call with the bytes `original`. False, and
/// nothing appended, where that is impossible.
pub fn load_target(code: &mut Emitter, instruction: &Instruction, original: &[u8]) -> bool {
    const OPCODE: u8 = 0xff;
    const MOV: u8 = 0x8b;
    const REX_WR: u8 = 0x4c;
    let mut rex = REX_WR;
    let mut prefixes = Vec::new();
    let mut at = 0;
    while let Some(&byte) = original.get(at) {
        match byte {
            // Segment FS and address size concern the operand.
            0x64 | 0x67 => prefixes.push(byte),
            // Operand size, bnd, notrack and meaningless segments do not.
            0x66 | 0xf2 | 0xf3 | 0x2e | 0x36 | 0x3e | 0x26 => {}
            // X and B extend the operand's registers.
            0x40..=0x4f => rex |= byte & 0b11,
            _ => break,
        }
        at += 1;
    }
    let (Some(&OPCODE), Some(&modrm)) = (original.get(at), original.get(at + 1)) else { return false };
    if uses_gs(instruction) {
        return false;
    }
    let r11 = Gpr::R11.0 & 7;
    let modrm = modrm & 0b1100_0111 | r11 << 3;
    if instruction.is_ip_rel_memory_operand() {
        let target = instruction.ip_rel_memory_address();
        let near = code.reaches(target);
        let Some(low) = i32::try_from(target).ok().or(near.then_some(0)) else { return false };
        code.raw(&prefixes);
        if near {
            code.raw(&[rex, MOV, modrm]);
            let end = code.here().wrapping_add(4);
            code.raw(&(target.wrapping_sub(end) as u32).to_le_bytes());
        } else {
            const INDEX: u8 = 0b10;
            code.raw(&[rex & !INDEX, MOV, modrm & REGISTER_FIELD | WITH_SIB, NO_BASE_NO_INDEX]);
            code.raw(&low.to_le_bytes());
        }
    } else {
        code.raw(&prefixes);
        code.raw(&[rex, MOV, modrm]);
        code.raw(original.get(at + 2..).unwrap_or_default());
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

    const ORIGINAL: u64 = 0x5555_0000;
    const MOVED: u64 = 0x5000_0000;

    fn moved(bytes: &[u8], how: fn(&mut Emitter, &Decoded, &[u8]) -> bool) -> Option<String> {
        moved_to(MOVED, bytes, how)
    }

    fn moved_to(to: u64, bytes: &[u8], how: fn(&mut Emitter, &Decoded, &[u8]) -> bool) -> Option<String> {
        let mut decoder = Decoder::with_ip(64, bytes, ORIGINAL, DecoderOptions::NONE);
        let instruction = decoder.decode();
        let displacement = decoder.get_constant_offsets(&instruction).displacement_offset();
        let decoded = Decoded { instruction, statics: carom_base_insn::Statics::default(), displacement };
        let mut code = Emitter::at(to);
        how(&mut code, &decoded, bytes).then(|| {
            let mut text = String::new();
            let again = Decoder::with_ip(64, code.bytes(), to, DecoderOptions::NONE).decode();
            assert_eq!(again.len(), code.bytes().len(), "one instruction, all of it");
            IntelFormatter::new().format(&again, &mut text);
            text
        })
    }

    #[test]
    fn an_operand_relative_to_the_instruction_keeps_its_address() {
        // cmp dword ptr [rip+0x100], 7: the displacement is followed by an immediate.
        let text = moved(&[0x83, 0x3d, 0x00, 0x01, 0x00, 0x00, 0x07], copy);
        assert_eq!(text.as_deref(), Some("cmp dword ptr [55550107h],7"));
    }

    /// Memory below 2 GiB can be named from anywhere by its address.
    #[test]
    fn an_operand_out_of_reach_is_named_by_its_address() {
        const FAR: u64 = 0x5555_0000_0000;
        let far = |bytes: &[u8]| moved_to(FAR, bytes, copy);
        // cmp dword ptr [rip+0x100], 7; movss xmm9, [rip+0x10]; vpaddd ymm16, ymm1, [rip+0x20]
        assert_eq!(far(&[0x83, 0x3d, 0, 1, 0, 0, 7]).as_deref(), Some("cmp dword ptr [55550107h],7"));
        assert_eq!(
            far(&[0xf3, 0x44, 0x0f, 0x10, 0x0d, 0x10, 0, 0, 0]).as_deref(),
            Some("movss xmm9,[55550019h]")
        );
        assert_eq!(
            far(&[0x62, 0xe1, 0x75, 0x28, 0xfe, 0x05, 0x20, 0, 0, 0]).as_deref(),
            Some("vpaddd ymm16,ymm1,[5555002Ah]")
        );
        // mov rax, [rip+0x10] with a prefix that extends the index: R12 would be added.
        assert_eq!(far(&[0x4a, 0x8b, 0x05, 0x10, 0, 0, 0]), None);
        let target = moved_to(FAR, &[0xff, 0x25, 0x10, 0, 0, 0], |code, decoded, bytes| {
            load_target(code, &decoded.instruction, bytes)
        });
        assert_eq!(target.as_deref(), Some("mov r11,[55550016h]"));
    }

    /// An instruction of the largest length, which would become one byte longer.
    #[test]
    fn an_instruction_that_would_be_too_long_stays() {
        // 15 bytes: four prefixes of segments without meaning, mov qword ptr [rip+0x10], 7
        let longest = [0x3e, 0x3e, 0x3e, 0x3e, 0x48, 0xc7, 0x05, 0x10, 0, 0, 0, 7, 0, 0, 0];
        assert!(moved(&longest, copy).is_some());
        assert_eq!(moved_to(0x5555_0000_0000, &longest, copy), None);
    }

    #[test]
    fn other_instructions_stay_as_they_are() {
        assert_eq!(moved(&[0x48, 0x8b, 0x44, 0x24, 0x08], copy).as_deref(), Some("mov rax,[rsp+8]"));
    }

    #[test]
    fn the_register_of_our_own_is_not_shared() {
        // mov rax, gs:[0]; rdgsbase rax
        assert_eq!(moved(&[0x65, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0], copy), None);
        assert_eq!(moved(&[0xf3, 0x48, 0x0f, 0xae, 0xc8], copy), None);
    }

    #[test]
    fn targets_of_indirect_jumps_are_loaded_as_they_were_named() {
        let target = |bytes: &[u8]| {
            moved(bytes, |code, decoded, bytes| load_target(code, &decoded.instruction, bytes)).unwrap()
        };
        // bnd jmp [rip+0x10]; notrack jmp rax; call [r12+r8*8+0x20]; call fs:[0x10]; jmp r11; call [rsp+8]
        assert_eq!(target(&[0xf2, 0xff, 0x25, 0x10, 0, 0, 0]), "mov r11,[55550017h]");
        assert_eq!(target(&[0x3e, 0xff, 0xe0]), "mov r11,rax");
        assert_eq!(target(&[0x43, 0xff, 0x54, 0xc4, 0x20]), "mov r11,[r12+r8*8+20h]");
        assert_eq!(target(&[0x64, 0xff, 0x14, 0x25, 0x10, 0, 0, 0]), "mov r11,fs:[10h]");
        assert_eq!(target(&[0x41, 0xff, 0xe3]), "mov r11,r11");
        assert_eq!(target(&[0xff, 0x54, 0x24, 0x08]), "mov r11,[rsp+8]");
    }
}
