//! The memory operands of each class of instruction, by hand. Register values: see `bench::registers`.

#[path = "support/bench.rs"]
mod bench;

use std::arch::x86_64::__cpuid_count;

use bench::{Bench, CODE, describe, registers};
use carom_base_insn::{Decoder, Registers};

fn check_with(regs: &Registers, code: &[u8], expected: &str) {
    let told = Decoder::new().operands_before(regs, &Bench { code, words: &[] });
    assert_eq!(describe(&told), expected);
}

fn check(code: &[u8], expected: &str) {
    check_with(&registers(), code, expected);
}

#[test]
fn effective_addresses() {
    // mov rax, [rbx+rcx*8+16]: 0x4000 + 8 * 0x2000 + 16.
    check(&[0x48, 0x8b, 0x44, 0xcb, 0x10], "load 0x14010+8");
    // mov [rip+0x100], ecx: the next instruction is at 0x400006.
    check(&[0x89, 0x0d, 0x00, 0x01, 0x00, 0x00], "store 0x400106+4");
    // mov eax, [edi+8]: the upper half of rdi does not count.
    let mut regs = registers();
    regs.gpr[7] = 0x1_0000_8000;
    check_with(&regs, &[0x67, 0x8b, 0x47, 0x08], "load 0x8008+4");
    // fld tbyte ptr [rdi]; vmovdqu ymm0, [rdi]; cmovs rax, [rdi] with the condition false: it loads.
    check(&[0xdb, 0x2f], "load 0x8000+10");
    check(&[0xc5, 0xfe, 0x6f, 0x07], "load 0x8000+32");
    check(&[0x48, 0x0f, 0x48, 0x07], "load 0x8000+8");
    // xlat: rbx + al, al = 0.
    check(&[0xd7], "load 0x4000+1");
}

#[test]
fn segments() {
    // mov rax, fs:[0x28].
    check(&[0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0], "load 0xf0028+8");
    // mov rax, gs:[rdi], once without and once with a known base.
    let through_gs = [0x65, 0x48, 0x8b, 0x07];
    check(&through_gs, "HiddenState");
    let regs = Registers { gs_base: Some(0xa_0000), ..registers() };
    check_with(&regs, &through_gs, "load 0xa8000+8");
}

#[test]
fn reading_and_writing_is_one_access() {
    check(&[0x83, 0x07, 0x01], "rmw 0x8000+4"); // add dword ptr [rdi], 1
    check(&[0xf0, 0x48, 0x0f, 0xc1, 0x07], "rmw 0x8000+8"); // lock xadd [rdi], rax
    check(&[0xf0, 0x0f, 0xb1, 0x0f], "rmw 0x8000+4"); // lock cmpxchg [rdi], ecx
    check(&[0xf0, 0x48, 0x0f, 0xc7, 0x0f], "rmw 0x8000+16"); // lock cmpxchg16b [rdi]
    check(&[0x86, 0x07], "rmw 0x8000+1"); // xchg [rdi], al
}

#[test]
fn the_stack() {
    check(&[0x50], "store 0x4ff8+8"); // push rax
    check(&[0x66, 0x6a, 0x05], "store 0x4ffe+2"); // pushw 5
    check(&[0xff, 0x74, 0x24, 0x08], "load 0x5008+8, store 0x4ff8+8"); // push [rsp+8]
    // pop [rsp+8]: the address is formed after rsp has moved, 0x5008 + 8.
    check(&[0x8f, 0x44, 0x24, 0x08], "store 0x5010+8, load 0x5000+8");
    check(&[0xff, 0x54, 0x24, 0x10], "load 0x5010+8, store 0x4ff8+8"); // call [rsp+16]
    check(&[0xc2, 0x10, 0x00], "load 0x5000+8"); // ret 16
    check(&[0xc9], "load 0x6000+8"); // leave
    check(&[0xc8, 0x10, 0x00, 0x00], "store 0x4ff8+8"); // enter 16, 0
}

#[test]
fn string_instructions_access_one_element() {
    check(&[0x48, 0xa5], "load 0x7000+8, store 0x8000+8"); // movsq
    check(&[0xf3, 0xab], "store 0x8000+4"); // rep stosd
    check(&[0xf2, 0xae], "load 0x8000+1"); // repne scasb
    check(&[0x66, 0xa7], "load 0x7000+2, load 0x8000+2"); // cmpsw
    // rep stosd with no iterations left.
    let mut regs = registers();
    regs.gpr[1] = 0;
    check_with(&regs, &[0xf3, 0xab], "NotAnAccess");
}

#[test]
fn bit_strings() {
    // bts [rdi], rcx: bit 0x2000 is in quadword 0x2000 / 64 = 0x80, at 8 * 0x80 = 0x400.
    check(&[0x48, 0x0f, 0xab, 0x0f], "rmw 0x8400+8");
    // Bit -1 is the top bit of the quadword before.
    let mut regs = registers();
    regs.gpr[1] = u64::MAX;
    check_with(&regs, &[0x48, 0x0f, 0xab, 0x0f], "rmw 0x7ff8+8");
    // bt dword ptr [rdi], 5: an immediate stays in the stated element.
    check(&[0x0f, 0xba, 0x27, 0x05], "load 0x8000+4");
}

#[test]
fn large_operands() {
    check(&[0x0f, 0xae, 0x07], "store 0x8000+512"); // fxsave [rdi]
    check(&[0x66, 0x0f, 0x38, 0xf8, 0x07], "load 0x8000+64, store 0x1000+64"); // movdir64b rax, [rdi]
    // clzero with rax = 0x1000 | 0x23: the whole line.
    let mut regs = registers();
    regs.gpr[0] = 0x1023;
    check_with(&regs, &[0x0f, 0x01, 0xfc], "store 0x1000+64");
    // xsave [rdi] of x87 and SSE alone (edx:eax = 3): legacy region and header, 512 + 64 bytes.
    regs.gpr[0] = 3;
    regs.gpr[2] = 0;
    check_with(&regs, &[0x0f, 0xae, 0x27], "store 0x8000+576");
}

#[test]
fn what_is_no_access() {
    check(&[0x48, 0x8d, 0x47, 0x08], "NotAnAccess"); // lea rax, [rdi+8]
    check(&[0x0f, 0x1f, 0x40, 0x08], "NotAnAccess"); // nop dword ptr [rax+8]
    check(&[0x0f, 0x18, 0x0f], "NotAnAccess"); // prefetcht0 [rdi]
    check(&[0x0f, 0xae, 0x3f], "NotAnAccess"); // clflush [rdi]
    check(&[0x0f, 0x05], "NotAnAccess"); // syscall
    check(&[0x48, 0x01, 0xc8], "NotAnAccess"); // add rax, rcx
    check(&[0x06], "Undecodable"); // push es does not exist in 64-bit mode
    check(&[0x48, 0x8b], "Undecodable"); // cut off by unreadable memory
}

#[test]
fn masks_and_vector_indices() {
    // Without vector state: the reasons.
    check(&[0xc4, 0xe2, 0x6d, 0x8e, 0x0f], "HiddenState"); // vpmaskmovd [rdi], ymm2, ymm1
    let Some(area) = Area::new() else { return eprintln!("skipped: processor: no AVX") };
    let regs = Registers { xsave: &area.0, ..registers() };
    // Lanes 0, 3 and 5 of the mask have their sign bit set.
    check_with(&regs, &[0xc4, 0xe2, 0x6d, 0x8e, 0x0f], "store 0x8000+4, store 0x800c+4, store 0x8014+4");
    // vpgatherdd ymm3, [rdi+ymm1*4], ymm2: indices are 10 * lane, except lane 3: -1.
    let gather = [0xc4, 0xe2, 0x6d, 0x90, 0x1c, 0x8f];
    check_with(&regs, &gather, "load 0x8000+4, load 0x7ffc+4, load 0x80c8+4");
    // maskmovdqu xmm1, xmm2: byte by byte; only the top bytes of lanes 0 and 3 are set.
    check_with(&regs, &[0x66, 0x0f, 0xf7, 0xca], "store 0x8003+1, store 0x800f+1");
    // The same with the mask itself unknown.
    let mut unknown = regs;
    unknown.known.vectors = !(1 << 2);
    check_with(&unknown, &gather, "HiddenState");
    unknown.known.vectors = !(1 << 1);
    check_with(&unknown, &gather, "VectorAddress");
}

#[test]
fn mask_registers() {
    let Some(area) = Area::new().filter(|area| area.has_opmask()) else {
        return eprintln!("skipped: processor: no AVX-512");
    };
    let regs = Registers { xsave: &area.0, ..registers() };
    // k1 = 0b1010_0001.
    let load = [0x62, 0xe1, 0x7e, 0x49, 0x6f, 0x07]; // vmovdqu32 zmm16{k1}, [rdi]
    check_with(&regs, &load, "load 0x8000+4, load 0x8014+4, load 0x801c+4");
    let bytes = [0x62, 0xe1, 0x7f, 0x49, 0x7f, 0x07]; // vmovdqu8 [rdi]{k1}, zmm16
    check_with(&regs, &bytes, "store 0x8000+1, store 0x8005+1, store 0x8007+1");
    let compress = [0x62, 0xe2, 0x7d, 0x49, 0x8b, 0x07]; // vpcompressd [rdi]{k1}, zmm16: side by side
    check_with(&regs, &compress, "store 0x8000+4, store 0x8004+4, store 0x8008+4");
    // Masked arithmetic is one access of full width; a broadcast is one of an element.
    check_with(&regs, &[0x62, 0xe1, 0x75, 0x41, 0xfe, 0x07], "load 0x8000+64"); // vpaddd zmm16{k1}, zmm17, [rdi]
    check_with(&regs, &[0x62, 0xe1, 0x75, 0x50, 0xfe, 0x07], "load 0x8000+4"); // … {1to16}
    // k2 is all zero: vmovdqu32 zmm16{k2}, [rdi].
    check_with(&regs, &[0x62, 0xe1, 0x7e, 0x4a, 0x6f, 0x07], "Masked");
}

/// `after` is what the instruction left, at its end.
fn check_after(code: &[u8], change: impl Fn(&mut Registers), expected: &str) {
    let mut regs = registers();
    regs.rip = CODE + code.len() as u64;
    change(&mut regs);
    let told = Decoder::new().operands_after(&regs, CODE, &Bench { code, words: &[] });
    assert_eq!(describe(&told), expected);
}

#[test]
fn addresses_told_afterwards() {
    check_after(&[0x48, 0x8b, 0x44, 0xcb, 0x10], |_| (), "load 0x14010+8"); // mov rax, [rbx+rcx*8+16]
    check_after(&[0x48, 0x8b, 0x00], |_| (), "AddressLost"); // mov rax, [rax]
    check_after(&[0x0f, 0xb6, 0x04, 0x07], |_| (), "AddressLost"); // movzx eax, byte ptr [rdi+rax]
    check_after(&[0x50], |_| (), "store 0x5000+8"); // push rax: rsp is where it stored
    check_after(&[0x5b], |_| (), "load 0x4ff8+8"); // pop rbx
    check_after(&[0x5c], |_| (), "AddressLost"); // pop rsp
    check_after(&[0xff, 0x74, 0x24, 0x08], |_| (), "load 0x5010+8, store 0x5000+8"); // push [rsp+8]
    check_after(&[0xc9], |_| (), "load 0x4ff8+8"); // leave
    check_after(&[0xc8, 0x10, 0, 0], |regs| regs.gpr[5] = 0x5010, "store 0x5010+8"); // enter 16, 0
    // call [rsp+16] and ret 16, at wherever they led.
    check_after(&[0xff, 0x54, 0x24, 0x10], |regs| regs.rip = 0x1234, "load 0x5018+8, store 0x5000+8");
    check_after(&[0xc2, 0x10, 0x00], |regs| regs.rip = 0x1234, "load 0x4fe8+8");
    check_after(&[0x48, 0x0f, 0xc1, 0x00], |_| (), "AddressLost"); // xadd [rax], rax
}

#[test]
fn a_compare_and_swap_that_succeeded_kept_its_accumulator() {
    let code = [0x48, 0x0f, 0xb1, 0x08]; // cmpxchg [rax], rcx
    check_after(&code, |_| (), "AddressLost");
    check_after(&code, |regs| regs.rflags |= 1 << 6, "rmw 0x1000+8"); // ZF
}

#[test]
fn string_instructions_told_afterwards() {
    check_after(&[0x48, 0xa5], |_| (), "load 0x6ff8+8, store 0x7ff8+8"); // movsq
    check_after(&[0x48, 0xa5], |regs| regs.rflags |= 1 << 10, "load 0x7008+8, store 0x8008+8"); // DF
    // rep movsb between two iterations: still at the instruction.
    check_after(&[0xf3, 0xa4], |regs| regs.rip = CODE, "load 0x6fff+1, store 0x7fff+1");
}

#[test]
fn code_that_has_changed_is_noticed() {
    // A boundary says that 3 bytes end here, but the instruction there now has 4.
    let mut regs = registers();
    regs.rip = CODE + 3;
    let bench = Bench { code: &[0x48, 0x0f, 0xb1, 0x08], words: &[] };
    assert_eq!(describe(&Decoder::new().operands_after(&regs, CODE, &bench)), "UnknownPredecessor");
}

/// An XSAVE area in which lane n of vector 1 is 10 n (lane 3: -1), vector 2 has the sign bits of the lanes
/// 0, 3 and 5, and k1 is 0b1010_0001.
struct Area(Vec<u8>);

impl Area {
    /// `None` on processors without AVX.
    fn new() -> Option<Self> {
        let avx = offset_of(2)?;
        let mut area = Self(vec![0; 8192]);
        area.put(512, &u64::MAX.to_le_bytes());
        for lane in 0..8u32 {
            let index = if lane == 3 { u32::MAX } else { 10 * lane };
            let sign = if [0, 3, 5].contains(&lane) { 1u32 << 31 } else { 0 };
            let within = |register: usize| match lane as usize {
                low @ 0..4 => 160 + register * 16 + low * 4,
                high => avx + register * 16 + (high - 4) * 4,
            };
            area.put(within(1), &index.to_le_bytes());
            area.put(within(2), &sign.to_le_bytes());
        }
        if let Some(opmask) = offset_of(5) {
            area.put(opmask + 8, &0b1010_0001u64.to_le_bytes());
        }
        Some(area)
    }

    fn has_opmask(&self) -> bool {
        offset_of(5).is_some()
    }

    fn put(&mut self, offset: usize, bytes: &[u8]) {
        self.0[offset..offset + bytes.len()].copy_from_slice(bytes);
    }
}

/// Where XSAVE keeps a state component, if this processor has it.
fn offset_of(component: u32) -> Option<usize> {
    #[allow(unused_unsafe, reason = "an unsafe function up to Rust 1.93")]
    // SAFETY: every x86-64 processor has CPUID.
    let leaf = unsafe { __cpuid_count(0xd, component) };
    (leaf.eax > 0).then_some(leaf.ebx as usize)
}
