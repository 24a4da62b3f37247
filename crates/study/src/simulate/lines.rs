//! Lines of memory that cores took from each other.

use std::{cmp::Reverse, collections::HashMap};

use carom_base::{Addr, ProcessId, StackId};
use carom_base_sim::{Invalidated, Reference, Results, Sharing};

use super::{LineFinding, MOST_LINES, Pair, Part, Taken, instructions::Instruction, moved::tagged};
use crate::{
    recording::Names,
    symbols::{DataObject, Frame},
};

/// Lines whose objects are looked up: arrays have thousands of them.
const LOOKED_UP: usize = 2000;

/// Pairs of a line that are named.
const MOST_PAIRS: usize = 8;

/// How the simulator cuts memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grain {
    pub line_bytes: u64,
    /// Bytes for each bit of a mask.
    pub mask_bytes: u32,
}

/// The lines that cores took from each other.
pub(super) struct Lines {
    /// Those that were taken most often.
    pub most: Vec<LineFinding>,
    /// How many others there are.
    pub others: usize,
    /// Whose lines they are, as far as they are looked up.
    pub objects: Vec<Taken>,
    /// How many are not.
    pub unnamed: usize,
}

/// Finds them in the results.
pub(super) fn lines(
    results: &Results,
    instructions: &[Instruction],
    grain: Grain,
    names: &mut dyn Names,
) -> Lines {
    let mut lines: Vec<(Sharing, &[Invalidated])> = results
        .invalidated
        .chunk_by(|one, other| one.line == other.line)
        .map(|pairs| (pairs.iter().fold(Sharing::default(), |sum, pair| sum + pair.sharing), pairs))
        .collect();
    lines.sort_by_key(|(sharing, _)| Reverse(sharing.total()));
    let (others, unnamed) = (lines.len().saturating_sub(MOST_LINES), lines.len().saturating_sub(LOOKED_UP));
    let mut named = Named { instructions, grain, names };
    let objects = lines.iter().take(LOOKED_UP).map(|(sharing, pairs)| (named.object(pairs), *sharing));
    let objects = together(objects);
    let most =
        lines.into_iter().take(MOST_LINES).map(|(sharing, pairs)| named.line(sharing, pairs)).collect();
    Lines { most, others, objects, unnamed }
}

/// Adds up the lines of each object, the most often taken first. Blocks of one name have one cause.
fn together(lines: impl Iterator<Item = (DataObject, Sharing)>) -> Vec<Taken> {
    let mut objects: Vec<Taken> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (object, sharing) in lines {
        let at = *known.entry(object.name.clone()).or_insert(objects.len());
        match objects.get_mut(at) {
            Some(taken) => {
                taken.sharing += sharing;
                taken.lines += 1;
            }
            None => objects.push(Taken { object, sharing, lines: 1 }),
        }
    }
    objects.sort_by_key(|taken| Reverse(taken.sharing.total()));
    objects
}

fn most_frequent_first(pairs: &[Invalidated]) -> Vec<Invalidated> {
    let mut pairs = pairs.to_vec();
    pairs.sort_by_key(|pair| Reverse(pair.sharing.total()));
    pairs
}

/// What gives a line its names.
struct Named<'a> {
    instructions: &'a [Instruction],
    grain: Grain,
    names: &'a mut dyn Names,
}

impl Named<'_> {
    /// The process that took a line, the line's first byte, and the first byte of it that is in dispute: the line may begin
    /// with another variable.
    fn place(&self, pairs: &[Invalidated]) -> (ProcessId, Addr, Addr) {
        let process = pairs.first().and_then(|pair| self.instruction(pair.by)).map(|by| by.process);
        let process = process.unwrap_or(ProcessId(0));
        let line = pairs.first().map_or(0, |pair| pair.line);
        let address = tagged(process, Addr(line.wrapping_mul(self.grain.line_bytes)));
        let first = pairs.first().map_or(0, |pair| (pair.stored | pair.accessed).trailing_zeros());
        (process, address, Addr(address.0.wrapping_add(u64::from(first * self.grain.mask_bytes))))
    }

    fn object(&mut self, pairs: &[Invalidated]) -> DataObject {
        let (process, _, at) = self.place(most_frequent_first(pairs).get(..1).unwrap_or_default());
        self.names.object(process, at)
    }

    fn line(&mut self, sharing: Sharing, pairs: &[Invalidated]) -> LineFinding {
        let pairs = most_frequent_first(pairs);
        let other_pairs = pairs.len().saturating_sub(MOST_PAIRS);
        let (process, address, at) = self.place(&pairs);
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
