//! Registers and memory that a test writes down.
#![allow(dead_code, reason = "each test uses a part of it")]

use carom_base::AccessKind;
use carom_base_insn::{Known, Memory, Operands, Registers};

/// Where the code under test lies.
pub const CODE: u64 = 0x40_0000;

/// Code at [`CODE`], and elsewhere the given words of 8 bytes; nothing else is readable.
pub struct Bench<'a> {
    pub code: &'a [u8],
    pub words: &'a [(u64, u64)],
}

impl Memory for Bench<'_> {
    fn read(&self, addr: u64, buf: &mut [u8]) -> usize {
        let byte = |addr: u64| {
            let in_code = self.code.get(addr.wrapping_sub(CODE) as usize).copied();
            let in_word = |(at, word): &(u64, u64)| {
                let offset = addr.wrapping_sub(*at);
                (offset < 8).then(|| (word >> (offset * 8)) as u8)
            };
            in_code.or_else(|| self.words.iter().find_map(in_word))
        };
        for (offset, place) in buf.iter_mut().enumerate() {
            let Some(byte) = byte(addr.wrapping_add(offset as u64)) else { return offset };
            *place = byte;
        }
        buf.len()
    }
}

/// rax = 0x1000, rcx = 0x2000, rdx = 0x3000, rbx = 0x4000, rsp = 0x5000, rbp = 0x6000, rsi = 0x7000,
/// rdi = 0x8000, r8 = 0x9000, …; FS at 0xf0000, GS unknown; all flags clear; no vector state.
pub fn registers() -> Registers<'static> {
    Registers {
        gpr: std::array::from_fn(|number| 0x1000 * (number as u64 + 1)),
        rip: CODE,
        rflags: 0x202,
        fs_base: 0xf_0000,
        gs_base: None,
        xsave: &[],
        known: Known::ALL,
    }
}

/// `load 0x8000+4, store 0x4ff8+8`, then the reason for what is missing.
pub fn describe(operands: &Operands) -> String {
    let access = |access: &carom_base::Access| {
        let kind = match access.kind {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
            AccessKind::ReadModifyWrite => "rmw",
        };
        format!("{kind} {:#x}+{}", access.addr.0, access.width)
    };
    let accesses: Vec<_> = operands.accesses().iter().map(access).collect();
    let skip = operands.skip().map(|skip| format!("{skip:?}"));
    accesses.into_iter().chain(skip).collect::<Vec<_>>().join(", ")
}
