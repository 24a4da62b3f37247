//! Reads the program's code, and decodes one instruction of it.

use iced_x86::{DecoderOptions, Instruction};

/// No x86 instruction is longer.
pub const MAX_INSTRUCTION_BYTES: usize = 15;

/// The code and data of the interrupted process.
pub trait Memory {
    /// Copies up to `buf.len()` bytes from `addr` on and returns how many were readable. Never faults.
    fn read(&self, addr: u64, buf: &mut [u8]) -> usize;
}

/// The instruction at `ip`.
pub(crate) fn fetch(ip: u64, mem: &impl Memory) -> Option<Instruction> {
    let mut bytes = [0; MAX_INSTRUCTION_BYTES];
    let length = mem.read(ip, &mut bytes);
    let instruction = decode(bytes.get(..length)?, ip);
    (!instruction.is_invalid()).then_some(instruction)
}

pub(crate) fn decode(bytes: &[u8], ip: u64) -> Instruction {
    iced_x86::Decoder::with_ip(64, bytes, ip, DecoderOptions::NONE).decode()
}
