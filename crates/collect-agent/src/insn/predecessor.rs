//! Which instruction stands in front of an address: x86 decodes forward only.

use carom_base::Skip;
use iced_x86::{DecoderOptions, FlowControl, Instruction};

use super::decoder::{MAX_INSTRUCTION_BYTES, Memory, fetch};
use super::string;

/// How far a function is decoded before giving up. Interpreters' main loops reach this size.
const MAX_BYTES: u64 = 64 * 1024;
/// How far behind a remembered boundary may lie where the function's start is not known.
const MAX_UNGUIDED_BYTES: u64 = 512;
/// Code is read in pieces of this size.
const WINDOW_BYTES: usize = 256;
/// Entries of either cache.
const SLOTS: usize = 1024;
/// A boundary is remembered once in so many bytes.
const BLOCK_BYTES: u64 = 256;

/// What one thread remembers about instruction boundaries, in two direct-mapped tables.
pub(super) struct Boundaries {
    /// Answers given, by the address asked for.
    answers: Box<[Answer]>,
    /// The first boundary seen in a block of [`BLOCK_BYTES`], by block: where decoding can start again.
    starts: Box<[u64]>,
}

#[derive(Clone, Copy)]
struct Answer {
    ip: u64,
    predecessor: Result<u64, Skip>,
}

const NO_ANSWER: Answer = Answer { ip: 0, predecessor: Err(Skip::UnknownPredecessor) };

impl Boundaries {
    pub fn new() -> Self {
        Self { answers: vec![NO_ANSWER; SLOTS].into_boxed_slice(), starts: vec![0; SLOTS].into_boxed_slice() }
    }

    pub fn forget(&mut self) {
        self.answers.fill(NO_ANSWER);
        self.starts.fill(0);
    }

    pub fn predecessor(
        &mut self,
        ip: u64,
        function_start: Option<u64>,
        mem: &impl Memory,
    ) -> Result<u64, Skip> {
        let slot = slot(ip);
        if let Some(answer) = self.answers.get(slot).filter(|answer| answer.ip == ip) {
            return answer.predecessor;
        }
        let predecessor = self.look_up(ip, function_start, mem);
        // Without a start, a better answer may come when one is known.
        let is_final = function_start.is_some() || predecessor.is_ok();
        if let Some(answer) = self.answers.get_mut(slot).filter(|_| is_final) {
            *answer = Answer { ip, predecessor };
        }
        // The processor itself said that an instruction begins here.
        self.remember(ip);
        predecessor
    }

    fn look_up(&mut self, ip: u64, function_start: Option<u64>, mem: &impl Memory) -> Result<u64, Skip> {
        if fetch(ip, mem).is_some_and(|here| string::is_repeated(&here)) {
            return Ok(ip);
        }
        let start = self.start_before(ip, function_start)?;
        let last = self.decode_up_to(ip, start, mem)?;
        match last.flow_control() {
            FlowControl::Next | FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend => {
                Ok(last.ip())
            }
            // The kernel returns to the next instruction; iced counts system calls as calls.
            FlowControl::Call if !last.is_call_near() && !last.is_call_near_indirect() => Ok(last.ip()),
            FlowControl::Interrupt if last.mnemonic() == iced_x86::Mnemonic::Int => Ok(last.ip()),
            _ => Err(Skip::NotFallThrough),
        }
    }

    /// The nearest boundary in front of `ip` that is known, within the function.
    fn start_before(&self, ip: u64, function_start: Option<u64>) -> Result<u64, Skip> {
        if function_start == Some(ip) {
            return Err(Skip::NotFallThrough);
        }
        let reach = match function_start {
            Some(start) if start < ip && ip - start <= MAX_BYTES => ip - start,
            Some(_) => return Err(Skip::UnknownPredecessor),
            None => MAX_UNGUIDED_BYTES,
        };
        let lowest = ip.saturating_sub(reach);
        let mut block = ip / BLOCK_BYTES;
        while block >= lowest / BLOCK_BYTES && block > 0 {
            let start = self.starts.get(slot(block)).copied().unwrap_or_default();
            if start / BLOCK_BYTES == block && (lowest..ip).contains(&start) {
                return Ok(start);
            }
            block -= 1;
        }
        function_start.ok_or(Skip::UnknownPredecessor)
    }

    /// Decodes from `start` on and returns the instruction that ends at `ip`.
    fn decode_up_to(&mut self, ip: u64, start: u64, mem: &impl Memory) -> Result<Instruction, Skip> {
        let mut window = [0; WINDOW_BYTES];
        let mut at = start;
        loop {
            let length = mem.read(at, &mut window);
            let code = window.get(..length).unwrap_or_default();
            let mut decoder = iced_x86::Decoder::with_ip(64, code, at, DecoderOptions::NONE);
            // Up to where a whole instruction is certainly in the window, or all that can be read.
            let whole = if length == WINDOW_BYTES { length - MAX_INSTRUCTION_BYTES } else { length };
            let mut instruction = Instruction::default();
            while decoder.position() < whole {
                decoder.decode_out(&mut instruction);
                if instruction.is_invalid() || instruction.next_ip() > ip {
                    return Err(Skip::UnknownPredecessor);
                }
                if instruction.next_ip() == ip {
                    return Ok(instruction);
                }
                if instruction.next_ip() / BLOCK_BYTES != instruction.ip() / BLOCK_BYTES {
                    self.remember(instruction.next_ip());
                }
            }
            let next = decoder.ip();
            if next <= at {
                return Err(Skip::UnknownPredecessor);
            }
            at = next;
        }
    }

    fn remember(&mut self, boundary: u64) {
        let block = boundary / BLOCK_BYTES;
        if let Some(start) = self.starts.get_mut(slot(block))
            && (*start / BLOCK_BYTES != block || *start > boundary)
        {
            *start = boundary;
        }
    }
}

/// Fibonacci hashing.
fn slot(key: u64) -> usize {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    (key.wrapping_mul(GOLDEN) >> 32) as usize % SLOTS
}
