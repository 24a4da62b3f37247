//! One loop with accesses of many forms, and the description of each.

use std::arch::naked_asm;

use carom_base::AccessKind::{self, Load, ReadModifyWrite, Store};
use iced_x86::{Decoder, DecoderOptions};

/// Nodes of the list that [`walk`] goes round.
pub const NODES: usize = 16;

/// A node: data, and at byte 56 the address of the next one.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct Node(pub [u64; 24]);

/// Nodes in a ring.
pub fn ring() -> Box<[Node; NODES]> {
    let mut nodes = Box::new([Node([0; 24]); NODES]);
    let addresses: Vec<u64> = nodes.iter().map(|node| std::ptr::from_ref(node) as u64).collect();
    for (index, node) in nodes.iter_mut().enumerate() {
        // Not in the order of addresses.
        node.0[NEXT / 8] = addresses[(index + 5) % NODES];
    }
    nodes
}

const NEXT: usize = 56;

/// Visits `b` nodes of the ring at `a`. The node is in R9 throughout.
#[unsafe(naked)]
pub unsafe extern "C" fn walk(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "mov r8, rsi",
        "2:",
        "mov r9, rdi",
        "movzx eax, byte ptr [rdi + 1]",
        "mov ax, [rdi + 2]",
        "mov eax, [rdi + 4]",
        "mov [rdi + 8], rax",
        "mov byte ptr [rdi + 17], cl",
        "movdqu xmm0, [rdi + 64]",
        "movdqu [rdi + 80], xmm0",
        "add dword ptr [rdi + 20], eax",
        "lock xadd [rdi + 24], rax",
        "xchg [rdi + 32], rax",
        "lock cmpxchg [rdi + 40], rdx",
        "push rax",
        "pop rax",
        "push qword ptr [rdi + 48]",
        "pop qword ptr [rdi + 96]",
        // Bit 130 is in the third word.
        "mov ecx, 130",
        "bts [rdi + 104], rcx",
        "mov [rdi + 2 * rcx - 132], eax",
        "cmp [rdi + 136], rax",
        "lea rsi, [rdi + 144]",
        "lea rdi, [rdi + 152]",
        "movsq",
        "mov rdi, r9",
        "call 3f",
        "mov rdi, [rdi + 56]",
        "dec r8",
        "jnz 2b",
        "ret",
        "3:",
        "ret",
    )
}

/// The address of an access.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// At this offset from the node.
    Node(u64),
    /// At this offset from the stack pointer in front of the instruction.
    Stack(i64),
}

/// An access of [`walk`]: its instruction's number, where, how many bytes, what.
pub type Known = (usize, Place, u32, AccessKind);

/// All accesses to each node.
pub const KNOWN: [Known; 24] = [
    (2, Place::Node(1), 1, Load),
    (3, Place::Node(2), 2, Load),
    (4, Place::Node(4), 4, Load),
    (5, Place::Node(8), 8, Store),
    (6, Place::Node(17), 1, Store),
    (7, Place::Node(64), 16, Load),
    (8, Place::Node(80), 16, Store),
    (9, Place::Node(20), 4, ReadModifyWrite),
    (10, Place::Node(24), 8, ReadModifyWrite),
    (11, Place::Node(32), 8, ReadModifyWrite),
    (12, Place::Node(40), 8, ReadModifyWrite),
    (13, Place::Stack(-8), 8, Store),
    (14, Place::Stack(0), 8, Load),
    (15, Place::Node(48), 8, Load),
    (15, Place::Stack(-8), 8, Store),
    (16, Place::Stack(0), 8, Load),
    (16, Place::Node(96), 8, Store),
    (18, Place::Node(104 + 16), 8, ReadModifyWrite),
    (19, Place::Node(2 * 130 - 132), 4, Store),
    (20, Place::Node(136), 8, Load),
    (23, Place::Node(144), 8, Load),
    (23, Place::Node(152), 8, Store),
    (25, Place::Stack(-8), 8, Store),
    (26, Place::Node(NEXT as u64), 8, Load),
];

/// The return from the loop's call.
pub const RETURN: Known = (30, Place::Stack(0), 8, Load);

/// The addresses of the instructions of [`walk`].
pub fn instructions() -> Vec<u64> {
    let start = walk as *const () as u64;
    // SAFETY: the function's own code.
    let code = unsafe { std::slice::from_raw_parts(walk as *const u8, 150) };
    let decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
    decoder.into_iter().map(|instruction| instruction.ip()).take(RETURN.0 + 1).collect()
}
