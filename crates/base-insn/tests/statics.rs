//! What is counted per instruction, by hand, and against the operands that are told with registers.

#[path = "support/bench.rs"]
mod bench;
#[path = "support/encodings.rs"]
mod encodings;

use std::collections::BTreeSet;

use bench::{Bench, CODE, registers};
use carom_base::Skip;
use carom_base_insn::{Decoder, Iteration, MAX_INSTRUCTION_BYTES, Operands, Registers, Statics};
use iced_x86::{DecoderOptions, Instruction};

fn decode(code: &[u8]) -> Instruction {
    iced_x86::Decoder::with_ip(64, code, CODE, DecoderOptions::NONE).decode()
}

/// Loads, stores, bytes loaded, bytes stored.
fn counts(loads: u32, stores: u32, loaded_bytes: u32, stored_bytes: u32) -> Statics {
    Statics { loads, stores, loaded_bytes, stored_bytes, ..Statics::default() }
}

const NOTHING: Statics = Statics {
    loads: 0,
    stores: 0,
    loaded_bytes: 0,
    stored_bytes: 0,
    branch: false,
    call: false,
    ret: false,
    atomic: false,
    system_call: false,
    repeated: None,
    lanes: false,
};

fn check(code: &[u8], expected: Statics) {
    assert_eq!(Decoder::new().statics(&decode(code)), expected, "{code:02x?}");
}

#[test]
fn ordinary_instructions() {
    check(&[0x48, 0x8b, 0x07], counts(1, 0, 8, 0)); // mov rax, [rdi]
    check(&[0x66, 0x89, 0x07], counts(0, 1, 0, 2)); // mov [rdi], ax
    check(&[0xc5, 0xfe, 0x6f, 0x07], counts(1, 0, 32, 0)); // vmovdqu ymm0, [rdi]
    check(&[0x48, 0x0f, 0x44, 0x07], counts(1, 0, 8, 0)); // cmove rax, [rdi]: it loads whatever the condition
    check(&[0x48, 0xa5], counts(1, 1, 8, 8)); // movsq without a prefix
    check(&[0x62, 0xe1, 0x75, 0x41, 0xfe, 0x07], counts(1, 0, 64, 0)); // vpaddd zmm16{k1}, zmm17, [rdi]
    check(&[0x0f, 0x01, 0xfc], counts(0, 1, 0, 64)); // clzero
    check(&[0x48, 0x8d, 0x07], NOTHING); // lea rax, [rdi]
    check(&[0x0f, 0x1f, 0x40, 0x00], NOTHING); // nop dword ptr [rax]
    check(&[0x0f, 0x18, 0x0f], NOTHING); // prefetcht0 [rdi]
}

#[test]
fn read_modify_write_is_a_load_and_a_store() {
    check(&[0x01, 0x07], counts(1, 1, 4, 4)); // add [rdi], eax
    let locked = |bytes| Statics { atomic: true, ..counts(1, 1, bytes, bytes) };
    check(&[0xf0, 0x01, 0x07], locked(4)); // lock add [rdi], eax
    check(&[0x48, 0x87, 0x07], locked(8)); // xchg [rdi], rax: locked by nature
    check(&[0xf0, 0x48, 0x0f, 0xc7, 0x0f], locked(16)); // lock cmpxchg16b [rdi]
    check(&[0x0f, 0xb1, 0x0f], counts(1, 1, 4, 4)); // cmpxchg [rdi], ecx, not locked
    check(&[0xc4, 0xe2, 0x71, 0xe4, 0x07], locked(4)); // cmpexadd [rdi], eax, ecx: locked without a prefix
    check(&[0x48, 0x87, 0xc8], NOTHING); // xchg rax, rcx
}

#[test]
fn the_stack_and_control() {
    check(&[0x50], counts(0, 1, 0, 8)); // push rax
    check(&[0xff, 0x74, 0x24, 0x08], counts(1, 1, 8, 8)); // push [rsp+8]
    check(&[0xc9], counts(1, 0, 8, 0)); // leave
    let branch = Statics { branch: true, ..NOTHING };
    check(&[0xeb, 0xfe], branch); // jmp
    check(&[0x74, 0xfe], branch); // je
    check(&[0xe2, 0xfe], branch); // loop
    check(&[0xe3, 0xfe], branch); // jrcxz
    check(&[0xff, 0x27], Statics { branch: true, ..counts(1, 0, 8, 0) }); // jmp [rdi]
    check(&[0xe8, 0, 0, 0, 0], Statics { branch: true, call: true, ..counts(0, 1, 0, 8) });
    check(&[0xff, 0x17], Statics { branch: true, call: true, ..counts(1, 1, 8, 8) }); // call [rdi]
    check(&[0xc3], Statics { branch: true, ret: true, ..counts(1, 0, 8, 0) });
    check(&[0xc2, 0x10, 0x00], Statics { branch: true, ret: true, ..counts(1, 0, 8, 0) }); // ret 16
}

#[test]
fn system_calls_are_no_branches() {
    let call = Statics { system_call: true, ..NOTHING };
    check(&[0x0f, 0x05], call); // syscall
    check(&[0xcd, 0x80], call); // int 0x80
    check(&[0xcd, 0x03], NOTHING); // int 3
    check(&[0xcc], NOTHING); // int3
    check(&[0x0f, 0x0b], NOTHING); // ud2
}

#[test]
fn repeated_strings_are_told_per_iteration() {
    let check = |code: &[u8], loads, stores, bytes, ends_early, narrow| {
        let loaded_bytes = loads * bytes;
        let stored_bytes = stores * bytes;
        let iteration = Iteration { loads, stores, loaded_bytes, stored_bytes, ends_early, narrow };
        check(code, Statics { repeated: Some(iteration), ..NOTHING });
    };
    check(&[0xf3, 0x48, 0xa5], 1, 1, 8, false, false); // rep movsq
    check(&[0xf3, 0xaa], 0, 1, 1, false, false); // rep stosb
    check(&[0xf3, 0xad], 1, 0, 4, false, false); // rep lodsd
    check(&[0xf3, 0x66, 0xa7], 2, 0, 2, true, false); // repe cmpsw
    check(&[0xf2, 0xae], 1, 0, 1, true, false); // repne scasb
    check(&[0x67, 0xf3, 0xa4], 1, 1, 1, false, true); // rep movsb with ecx, esi, edi
}

#[test]
fn lanes_are_left_to_run_time() {
    let lanes = Statics { lanes: true, ..NOTHING };
    check(&[0xc4, 0xe2, 0x6d, 0x90, 0x1c, 0x8f], lanes); // vpgatherdd ymm3, [rdi+ymm1*4], ymm2
    check(&[0xc4, 0xe2, 0x6d, 0x8e, 0x0f], lanes); // vpmaskmovd [rdi], ymm2, ymm1
    check(&[0x62, 0xe1, 0x7e, 0x49, 0x6f, 0x07], lanes); // vmovdqu32 zmm16{k1}, [rdi]
    check(&[0x62, 0xe1, 0x7e, 0x48, 0x6f, 0x07], counts(1, 0, 64, 0)); // vmovdqu32 zmm16, [rdi]
    // vgatherpf0dps [rdi+zmm1*4]{k1} fetches nothing.
    check(&[0x62, 0xf2, 0x7d, 0x49, 0xc6, 0x0c, 0x8f], NOTHING);
}

#[test]
fn xsave_is_stated_at_its_largest() {
    // xsave [rdi], then with edx:eax = 3: legacy region and header, 512 + 64 bytes; all components are no fewer.
    let code = [0x0f, 0xae, 0x27];
    let statics = Decoder::new().statics(&decode(&code));
    assert_eq!((statics.loads, statics.stores), (0, 1));
    assert!(statics.stored_bytes >= 576);
}

/// All that can be known, so that no access is missing: GS is, and XSAVE is asked for all components.
fn everything() -> Registers<'static> {
    let mut regs = Registers { gs_base: Some(0xa_0000), ..registers() };
    (regs.gpr[0], regs.gpr[2]) = (u64::MAX, u64::MAX);
    regs
}

/// The sums of `operands`.
fn sums(operands: &Operands) -> Statics {
    let bytes = |sum: u32, access: &carom_base::Access| sum + access.width;
    counts(
        operands.loads().count() as u32,
        operands.stores().count() as u32,
        operands.loads().fold(0, bytes),
        operands.stores().fold(0, bytes),
    )
}

/// What the code tells is what the code and the registers tell.
fn agree(decoder: &mut Decoder, instruction: &Instruction, code: &[u8]) {
    let statics = decoder.statics(instruction);
    let operands = decoder.operands_before(&everything(), &Bench { code, words: &[] });
    let mut listed = Vec::new();
    decoder.each_access(instruction, |access| listed.push((access.width, access.kind)));
    if statics.lanes {
        // The registers here have no vector state, so the masks are hidden.
        assert!(operands.accesses().is_empty() && operands.skip() != Some(Skip::NotAnAccess));
        assert_eq!((counts_of(&statics), listed.len()), ([0; 4], 0), "{:?}", instruction.code());
        return;
    }
    // Tiles, keys and other state: where the width is hidden the operands tell less.
    if listed.iter().any(|(width, _)| *width == 0) {
        let told = listed.iter().filter(|(width, _)| *width != 0).count();
        assert_eq!(operands.accesses().len(), told, "{:?}", instruction.code());
        return;
    }
    let told: Vec<_> = operands.accesses().iter().map(|access| (access.width, access.kind)).collect();
    assert_eq!(listed, told, "{:?}", instruction.code());
    let once = match statics.repeated {
        Some(once) => counts(once.loads, once.stores, once.loaded_bytes, once.stored_bytes),
        None => statics,
    };
    assert_eq!(counts_of(&once), counts_of(&sums(&operands)), "{:?}", instruction.code());
}

fn counts_of(statics: &Statics) -> [u32; 4] {
    [statics.loads, statics.stores, statics.loaded_bytes, statics.stored_bytes]
}

#[test]
fn all_codes_agree_with_their_operands() {
    let mut decoder = Decoder::new();
    let mut codes = BTreeSet::new();
    let mut hidden = BTreeSet::new();
    encodings::each(CODE, |instruction, code| {
        agree(&mut decoder, instruction, code);
        codes.insert(instruction.code() as u32);
        decoder.each_access(instruction, |access| {
            if access.width == 0 {
                hidden.insert(format!("{:?}", instruction.mnemonic()));
            }
        });
    });
    println!("{} codes; without a width: {hidden:?}", codes.len());
    assert!(codes.len() > 4300);
}

#[test]
fn random_bytes_agree_with_their_operands() {
    const STARTS: u32 = 200_000;
    let mut decoder = Decoder::new();
    let mut state = 0x853c_49e6_748f_ea9bu64;
    let mut next = || {
        // Knuth's MMIX generator.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    let mut valid = 0;
    for _ in 0..STARTS {
        let code: [u8; MAX_INSTRUCTION_BYTES] = std::array::from_fn(|_| next());
        let instruction = decode(&code);
        decoder.statics(&instruction);
        if !instruction.is_invalid() {
            valid += 1;
            agree(&mut decoder, &instruction, &code);
        }
    }
    // Nearly all one-byte opcodes are instructions whatever follows.
    assert!(valid > STARTS / 2);
}
