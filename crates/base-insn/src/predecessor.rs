//! Finds the instruction in front of an address: x86 can be decoded forward only.

use carom_base::Skip;
use iced_x86::{DecoderOptions, FlowControl, Instruction};

use crate::code::{MAX_INSTRUCTION_BYTES, Memory, fetch};
use crate::string;

/// How far a function is decoded before giving up. Interpreters' main loops reach this size.
const MAX_BYTES: u64 = 64 * 1024;
/// How far behind a remembered boundary may lie where the function's start is not known.
const MAX_UNGUIDED_BYTES: u64 = 512;
/// How far back decoding begins where no boundary is known.
const UNKNOWN_BYTES: usize = 64;
/// Code is read in pieces of this size.
const WINDOW_BYTES: usize = 256;
/// Entries of either cache.
const SLOTS: usize = 1024;
/// One boundary is remembered in each block of this size.
const BLOCK_BYTES: u64 = 256;

/// One thread's known instruction boundaries, in two direct-mapped tables.
pub(crate) struct Boundaries {
    /// Earlier answers, by their address.
    answers: Box<[Answer]>,
    /// The first boundary seen in a block of [`BLOCK_BYTES`], by block: where decoding can start again.
    starts: Box<[u64]>,
}

/// An address asked for, from bit [`Self::CODE_BITS`] on, and the answer's code below: how many bytes in front of it
/// the predecessor begins, or [`Self::SKIPPED`] and why there is none. 0 is no answer. Each thread has a thousand of
/// them, in 8 KiB.
#[derive(Clone, Copy)]
struct Answer(u64);

impl Answer {
    /// User addresses have 56 bits at most, with five levels of page tables.
    const CODE_BITS: u32 = 7;
    /// More than the bytes of any instruction.
    const SKIPPED: u64 = 16;

    fn new(ip: u64, predecessor: Result<u64, Skip>) -> Self {
        let code = match predecessor {
            Ok(start) => ip.wrapping_sub(start),
            Err(skip) => Self::SKIPPED + skip as u64,
        };
        Self(ip << Self::CODE_BITS | code)
    }

    /// The predecessor of `ip`, if this is the answer for it.
    fn of(self, ip: u64) -> Option<Result<u64, Skip>> {
        let code = self.0 & ((1 << Self::CODE_BITS) - 1);
        if self.0 == 0 || self.0 >> Self::CODE_BITS != ip {
            return None;
        }
        match code.checked_sub(Self::SKIPPED) {
            None => Some(Ok(ip - code)),
            Some(skip) => Skip::from_u8(skip as u8).map(Err),
        }
    }
}

impl Boundaries {
    pub fn new() -> Self {
        Self { answers: vec![Answer(0); SLOTS].into_boxed_slice(), starts: vec![0; SLOTS].into_boxed_slice() }
    }

    pub fn forget(&mut self) {
        self.answers.fill(Answer(0));
        self.starts.fill(0);
    }

    pub fn predecessor(
        &mut self,
        ip: u64,
        function_start: Option<u64>,
        mem: &impl Memory,
    ) -> Result<u64, Skip> {
        let slot = slot(ip);
        if let Some(answer) = self.answers.get(slot).and_then(|answer| answer.of(ip)) {
            return answer;
        }
        let predecessor = self.look_up(ip, function_start, mem);
        // Without a start, a better answer may come when one is known.
        let is_final = function_start.is_some() || predecessor.is_ok();
        if let Some(answer) = self.answers.get_mut(slot).filter(|_| is_final) {
            *answer = Answer::new(ip, predecessor);
        }
        // The processor itself said that an instruction begins here.
        self.remember(ip);
        predecessor
    }

    fn look_up(&mut self, ip: u64, function_start: Option<u64>, mem: &impl Memory) -> Result<u64, Skip> {
        if fetch(ip, mem).is_some_and(|here| string::is_repeated(&here)) {
            return Ok(ip);
        }
        let last = match self.start_before(ip, function_start) {
            Ok(start) => self.decode_up_to(ip, start, mem)?,
            Err(Skip::UnknownPredecessor) if function_start.is_none() => agreed(ip, mem)?,
            Err(skip) => return Err(skip),
        };
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

/// The instruction that ends at `ip`, where no boundary in front of it is known: in code that was made at run time, for example.
///
/// Of any 15 consecutive bytes of code one is the first of an instruction, and decoding from there meets `ip`. So what all
/// starts that meet `ip` say is true. Mostly they do agree, because wrong starts fall in with the right ones after a few
/// instructions.
fn agreed(ip: u64, mem: &impl Memory) -> Result<Instruction, Skip> {
    let mut window = [0; UNKNOWN_BYTES];
    let start = ip.checked_sub(UNKNOWN_BYTES as u64).ok_or(Skip::UnknownPredecessor)?;
    if mem.read(start, &mut window) != UNKNOWN_BYTES {
        return Err(Skip::UnknownPredecessor);
    }
    let mut found: Option<Instruction> = None;
    for skipped in 0..MAX_INSTRUCTION_BYTES {
        let code = window.get(skipped..).unwrap_or_default();
        let Some(last) = last_of(code, start + skipped as u64) else { continue };
        match &found {
            Some(known) if known.ip() != last.ip() => return Err(Skip::UnknownPredecessor),
            _ => found = Some(last),
        }
    }
    found.ok_or(Skip::UnknownPredecessor)
}

/// The last instruction in `code`, which begins at `ip`, if it ends with an instruction.
fn last_of(code: &[u8], ip: u64) -> Option<Instruction> {
    let mut decoder = iced_x86::Decoder::with_ip(64, code, ip, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        if instruction.is_invalid() {
            return None;
        }
    }
    Some(instruction)
}

/// Fibonacci hashing.
fn slot(key: u64) -> usize {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    (key.wrapping_mul(GOLDEN) >> 32) as usize % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_given_to_its_question_only() {
        let highest = (1 << 56) - 1;
        for ip in [1 << 12, highest] {
            let skips = Skip::ALL.map(Err);
            let starts = [0, 1, MAX_INSTRUCTION_BYTES as u64].map(|bytes| Ok(ip - bytes));
            for predecessor in skips.into_iter().chain(starts) {
                let answer = Answer::new(ip, predecessor);
                assert_eq!(answer.of(ip), Some(predecessor));
                assert_eq!(answer.of(ip - 1), None);
            }
        }
        assert_eq!(Answer(0).of(0), None);
    }
}
