//! Lines of memory that cores took from each other.

use std::cmp::Reverse;

use carom_base::{Addr, ProcessId, StackId};
use carom_base_sim::{Invalidated, Reference, Results, Sharing};

use super::{LineFinding, MOST_LINES, Pair, Part, feed::Instruction, moved::tagged};
use crate::{recording::Names, symbols::Frame};

/// Pairs of a line that are named.
const MOST_PAIRS: usize = 8;

/// How the simulator cuts memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grain {
    pub line_bytes: u64,
    /// Bytes for each bit of a mask.
    pub mask_bytes: u32,
}

/// The lines that were taken most often, and how many others there are.
pub(super) fn lines(
    results: &Results,
    instructions: &[Instruction],
    grain: Grain,
    names: &mut dyn Names,
) -> (Vec<LineFinding>, usize) {
    let mut lines: Vec<(Sharing, &[Invalidated])> = results
        .invalidated
        .chunk_by(|one, other| one.line == other.line)
        .map(|pairs| (pairs.iter().fold(Sharing::default(), |sum, pair| sum + pair.sharing), pairs))
        .collect();
    lines.sort_by_key(|(sharing, _)| Reverse(sharing.total()));
    let others = lines.len().saturating_sub(MOST_LINES);
    lines.truncate(MOST_LINES);
    let named = lines
        .into_iter()
        .map(|(sharing, pairs)| Named { instructions, grain, names: &mut *names }.line(sharing, pairs));
    (named.collect(), others)
}

/// What gives a line its names.
struct Named<'a> {
    instructions: &'a [Instruction],
    grain: Grain,
    names: &'a mut dyn Names,
}

impl Named<'_> {
    fn line(mut self, sharing: Sharing, pairs: &[Invalidated]) -> LineFinding {
        let mut pairs = pairs.to_vec();
        pairs.sort_by_key(|pair| Reverse(pair.sharing.total()));
        let other_pairs = pairs.len().saturating_sub(MOST_PAIRS);
        let process = pairs.first().and_then(|pair| self.instruction(pair.by)).map(|by| by.process);
        let process = process.unwrap_or(ProcessId(0));
        let line = pairs.first().map_or(0, |pair| pair.line);
        let address = tagged(process, Addr(line.wrapping_mul(self.grain.line_bytes)));
        // The first byte that is in dispute tells whose line it is: it may begin with another variable.
        let first = pairs.first().map_or(0, |pair| (pair.stored | pair.accessed).trailing_zeros());
        let at = Addr(address.0.wrapping_add(u64::from(first * self.grain.mask_bytes)));
        LineFinding {
            process,
            address,
            object: self.names.object(process, at),
            sharing,
            pairs: pairs.iter().take(MOST_PAIRS).map(|pair| self.pair(process, address, pair)).collect(),
            other_pairs,
        }
    }

    fn pair(&mut self, process: ProcessId, address: Addr, pair: &Invalidated) -> Pair {
        Pair {
            by: self.path(pair.by),
            of: self.path(pair.of),
            sharing: pair.sharing,
            stored: self.part(process, address, pair.stored),
            accessed: self.part(process, address, pair.accessed),
        }
    }

    fn path(&mut self, of: Reference) -> Vec<Frame> {
        let found = self.instruction(of).map(|known| (known.process, known.ip));
        found.map_or_else(Vec::new, |(process, ip)| self.names.call_path(process, ip, StackId::NONE))
    }

    fn part(&mut self, process: ProcessId, address: Addr, mask: u64) -> Part {
        if mask == 0 {
            return Part::default();
        }
        let (first, last) = (mask.trailing_zeros(), u64::BITS - 1 - mask.leading_zeros());
        let (offset, width) = (first * self.grain.mask_bytes, (last - first + 1) * self.grain.mask_bytes);
        let at = Addr(address.0.wrapping_add(u64::from(offset)));
        Part { offset, width, field: self.names.field(process, at, width) }
    }

    fn instruction(&self, of: Reference) -> Option<&Instruction> {
        self.instructions.get(of.0 as usize)
    }
}
