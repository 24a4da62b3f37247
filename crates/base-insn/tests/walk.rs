//! What a walk knows, forgets and stops at, by hand. Register values: see `bench::registers`.

#[path = "support/bench.rs"]
mod bench;

use bench::{Bench, CODE, registers};
use carom_base_insn::{Decoder, Obstacle, Registers, Walk};

const RAX: usize = 0;
const RCX: usize = 1;

fn walk(code: &[u8], words: &[(u64, u64)], k: u32) -> Walk<'static> {
    Decoder::new().walk(&registers(), k, &Bench { code, words })
}

fn arrive(code: &[u8], words: &[(u64, u64)], k: u32) -> Registers<'static> {
    match walk(code, words, k) {
        Walk::Arrived(regs) => regs,
        stuck @ Walk::Stuck { .. } => panic!("{stuck:?}"),
    }
}

fn known(regs: &Registers, number: usize) -> Option<u64> {
    (regs.known.gpr >> number & 1 == 1).then_some(regs.gpr[number])
}

fn stuck(code: &[u8], words: &[(u64, u64)], k: u32) -> (u32, Obstacle) {
    match walk(code, words, k) {
        Walk::Stuck { after, why, .. } => (after, why),
        Walk::Arrived(regs) => panic!("arrived at {:#x}", regs.rip),
    }
}

#[test]
fn no_step_is_where_it_started() {
    assert_eq!(arrive(&[], &[], 0).rip, CODE);
}

#[test]
fn a_load_sees_the_stores_before_it() {
    // mov qword ptr [rdi], -2; mov byte ptr [rdi+1], 5; mov rax, [rdi]:
    // byte 1 of 0xffff_ffff_ffff_fffe is replaced by 5.
    let code = [0x48, 0xc7, 0x07, 0xfe, 0xff, 0xff, 0xff, 0xc6, 0x47, 0x01, 0x05, 0x48, 0x8b, 0x07];
    assert_eq!(known(&arrive(&code, &[], 3), RAX), Some(0xffff_ffff_ffff_05fe));
}

#[test]
fn a_load_is_put_together_from_stores_and_memory() {
    // mov [rdi+4], ecx (0x2000); mov rax, [rdi], over 0x1111_1111_2222_2222.
    let code = [0x89, 0x4f, 0x04, 0x48, 0x8b, 0x07];
    let regs = arrive(&code, &[(0x8000, 0x1111_1111_2222_2222)], 2);
    assert_eq!(known(&regs, RAX), Some(0x2000_2222_2222));
}

#[test]
fn unreadable_memory_is_unknown_until_overwritten() {
    // mov rax, [rdi]; mov eax, ecx.
    let code = [0x48, 0x8b, 0x07, 0x89, 0xc8];
    assert_eq!(known(&arrive(&code, &[], 1), RAX), None);
    assert_eq!(known(&arrive(&code, &[], 2), RAX), Some(0x2000));
}

#[test]
fn a_store_to_somewhere_unknown_hides_all_memory() {
    // mov rax, [rdi] (unreadable); mov [rax], rcx; mov rcx, [rsi]; and with the store left out.
    let code = [0x48, 0x8b, 0x07, 0x48, 0x89, 0x08, 0x48, 0x8b, 0x0e];
    assert_eq!(known(&arrive(&code, &[(0x7000, 7)], 3), RCX), None);
    let without = [0x48, 0x8b, 0x07, 0x48, 0x8b, 0x0e];
    assert_eq!(known(&arrive(&without, &[(0x7000, 7)], 2), RCX), Some(7));
}

#[test]
fn vector_code_passes_by() {
    // vmovdqu ymm0, [rdi]; vmovd eax, xmm0; xor eax, eax: unknown in between, known after the idiom.
    let code = [0xc5, 0xfe, 0x6f, 0x07, 0xc5, 0xf9, 0x7e, 0xc0, 0x31, 0xc0];
    let regs = arrive(&code, &[], 2);
    assert_eq!(known(&regs, RAX), None);
    assert_eq!(regs.known.vectors & 1, 0);
    assert_eq!(known(&arrive(&code, &[], 3), RAX), Some(0));
}

#[test]
fn a_branch_on_something_unknown_stops_the_walk() {
    // mov rax, [rdi] (unreadable); test rax, rax; je +0.
    let code = [0x48, 0x8b, 0x07, 0x48, 0x85, 0xc0, 0x74, 0x00];
    assert_eq!(stuck(&code, &[], 3), (2, Obstacle::Unknown));
}

#[test]
fn calls_and_returns() {
    // call +1 (over the nop); nop; ret: the return goes back to the nop.
    let code = [0xe8, 0x01, 0, 0, 0, 0x90, 0xc3];
    let regs = arrive(&code, &[], 2);
    assert_eq!((regs.rip, regs.gpr[4]), (CODE + 5, 0x5000));
}

#[test]
fn what_must_not_be_stepped_over() {
    let cases: [&[u8]; 10] = [
        &[0x0f, 0x05],             // syscall
        &[0xcd, 0x80],             // int 0x80
        &[0xcc],                   // int3
        &[0x9c],                   // pushf
        &[0x9d],                   // popf
        &[0x48, 0xcf],             // iretq
        &[0x8e, 0xd0],             // mov ss, eax
        &[0xc7, 0xf8, 0, 0, 0, 0], // xbegin +0
        &[0xf4],                   // hlt
        &[0x0f, 0x0b],             // ud2
    ];
    for code in cases {
        assert_eq!(stuck(code, &[], 1), (0, Obstacle::Unsteppable), "{code:x?}");
    }
    assert_eq!(stuck(&[0x90, 0x06], &[], 2), (1, Obstacle::Undecodable));
}

#[test]
fn a_repeated_string_instruction_is_one_step_per_iteration() {
    // mov ecx, 2; rep stosb; nop.
    let code = [0xb9, 2, 0, 0, 0, 0xf3, 0xaa, 0x90];
    let half = arrive(&code, &[], 2);
    assert_eq!((half.rip, half.gpr[RCX], half.gpr[7]), (CODE + 5, 1, 0x8001));
    let done = arrive(&code, &[], 3);
    assert_eq!((done.rip, done.gpr[RCX], done.gpr[7]), (CODE + 7, 0, 0x8002));
    // With nothing to do it still is a step.
    let mut regs = registers();
    regs.gpr[RCX] = 0;
    let bench = Bench { code: &[0xf3, 0xaa], words: &[] };
    assert!(matches!(Decoder::new().walk(&regs, 1, &bench), Walk::Arrived(regs) if regs.rip == CODE + 2));
}

#[test]
fn predecessors() {
    use carom_base::Skip::{NotFallThrough, UnknownPredecessor};
    // 0: mov rax, [rdi]; 3: je +2; 5: jmp +3; 7: call +0; 12: syscall; 14: rep stosb; 16: ret; 17: nop.
    let code =
        [0x48, 0x8b, 0x07, 0x74, 0x02, 0xeb, 0x03, 0xe8, 0, 0, 0, 0, 0x0f, 0x05, 0xf3, 0xaa, 0xc3, 0x90];
    let bench = Bench { code: &code, words: &[] };
    let ask = |offset: u64| {
        let told = Decoder::new().predecessor(CODE + offset, Some(CODE), &bench);
        told.map(|predecessor| predecessor - CODE)
    };
    assert_eq!(ask(0), Err(NotFallThrough)); // the function's start
    assert_eq!(ask(1), Err(UnknownPredecessor)); // inside an instruction
    assert_eq!(ask(3), Ok(0));
    assert_eq!(ask(5), Ok(3)); // a conditional jump not taken
    assert_eq!(ask(7), Err(NotFallThrough)); // behind a jump
    assert_eq!(ask(12), Err(NotFallThrough)); // behind a call: the callee's return ran last
    assert_eq!(ask(14), Ok(14)); // between two iterations
    assert_eq!(ask(16), Ok(14));
    assert_eq!(ask(17), Err(NotFallThrough)); // behind a return
}

#[test]
fn boundaries_seen_earlier_serve_without_a_function_start() {
    let code = [0x48, 0x8b, 0x07, 0x48, 0x89, 0x06, 0x90];
    let bench = Bench { code: &code, words: &[] };
    let mut decoder = Decoder::new();
    let unknown = Err(carom_base::Skip::UnknownPredecessor);
    assert_eq!(decoder.predecessor(CODE + 6, None, &bench), unknown);
    assert_eq!(decoder.predecessor(CODE + 3, Some(CODE), &bench), Ok(CODE));
    // The boundary at 3 is known now.
    assert_eq!(decoder.predecessor(CODE + 6, None, &bench), Ok(CODE + 3));
    decoder.forget_code();
    assert_eq!(decoder.predecessor(CODE + 6, None, &bench), unknown);
}

#[test]
fn where_no_boundary_is_known_several_starts_agree() {
    // add qword [rdi], 1, without the function that begins with it.
    let code = [0x48, 0x83, 0x07, 0x01].repeat(20);
    let bench = Bench { code: &code, words: &[] };
    assert_eq!(Decoder::new().predecessor(CODE + 72, None, &bench), Ok(CODE + 68));
    // The processor was between these bytes all the same: nothing ends there.
    let unknown = Err(carom_base::Skip::UnknownPredecessor);
    assert_eq!(Decoder::new().predecessor(CODE + 73, None, &bench), unknown);
    // Too little can be read.
    assert_eq!(Decoder::new().predecessor(CODE + 60, None, &bench), unknown);
}
