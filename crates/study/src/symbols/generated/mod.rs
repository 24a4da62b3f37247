//! Code that a process made while it ran, named by the files in which its runtime described it.
//!
//! Two formats are in use: [`perf_map`], a text file of addresses and names, and [`jitdump`], which has lines of source too.

mod described;
mod jitdump;
mod perf_map;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::Frame;
use super::regular::open_regular;

/// No runtime makes more routines in a process; more are left out.
const MOST_ROUTINES: usize = 1 << 20;
/// Names are cut to this number of bytes.
const MOST_NAME_BYTES: usize = 1 << 12;
/// No runtime describes more lines of source; more are left out.
const MOST_LINES: usize = 1 << 20;

/// Why a description ends early. What was read before it counts.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is not as it was when the process had ended.
    #[error("has changed since the recording")]
    Changed,
    /// It does not begin like a jitdump of this byte order.
    #[error("is no jitdump")]
    NoJitdump,
    /// It describes the code of another kind of processor.
    #[error("describes code of ELF machine {0}")]
    Machine(u32),
    /// A record's length is less than what it must hold.
    #[error("has a record of kind {kind} with {bytes} bytes")]
    Record {
        /// The kind.
        kind: u32,
        /// The length that it states.
        bytes: u32,
    },
    /// It has more routines or lines than are read.
    #[error("is larger than can be read")]
    TooLarge,
}

/// A file in which a process described code that it made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The file.
    pub path: PathBuf,
    /// Its length when the process had ended. Of another length it is of another process.
    pub bytes: u64,
}

/// The routines that a process made, by address. They do not overlap: of two in one place, the later one counts, as memory of
/// discarded code is used again.
#[derive(Debug, Default)]
pub struct GeneratedCode {
    routines: BTreeMap<u64, Routine>,
}

/// A run of code with a name.
#[derive(Debug)]
struct Routine {
    end: u64,
    name: Rc<str>,
    /// Lines of source by offset from the first byte, in order.
    lines: Vec<LineAt>,
    /// Where it was described.
    module: Rc<Path>,
}

/// From `offset` on the code is that of a line.
#[derive(Clone, Debug)]
struct LineAt {
    offset: u64,
    line: u32,
    file: Rc<str>,
}

impl GeneratedCode {
    /// Reads the descriptions of a process, with what was wrong with each.
    pub(super) fn read(descriptions: &[Description]) -> (Self, Vec<(PathBuf, Malformed)>) {
        let mut code = Self::default();
        let read = |each: &Description| code.read_one(each).err().map(|error| (each.path.clone(), error));
        let malformed = descriptions.iter().filter_map(read).collect();
        (code, malformed)
    }

    fn read_one(&mut self, Description { path, bytes }: &Description) -> Result<(), Malformed> {
        let (file, status) = open_regular(path)?;
        if status.len() != *bytes {
            return Err(Malformed::Changed);
        }
        let module = Rc::from(path.as_path());
        let mut input = BufReader::new(file.take(*bytes));
        if is_map(path) { self.read_map(&mut input, &module) } else { self.read_dump(&mut input, &module) }
    }

    /// Reads a text of addresses and names.
    ///
    /// # Errors
    /// See [`Malformed`]. Routines that were read before it count.
    pub fn read_map(&mut self, input: &mut impl BufRead, module: &Rc<Path>) -> Result<(), Malformed> {
        perf_map::read(input, |range, name| self.add(range, name, Vec::new(), module))
    }

    /// Reads a jitdump.
    ///
    /// # Errors
    /// See [`Malformed`]. Routines that were read before it count.
    pub fn read_dump(&mut self, input: &mut impl BufRead, module: &Rc<Path>) -> Result<(), Malformed> {
        jitdump::read(input, |change| match change {
            jitdump::Change::Load { code, name, lines } => self.add(code, name, lines, module),
            jitdump::Change::Move { from, to } => self.relocate(from, to),
        })
    }

    fn add(
        &mut self,
        code: Range<u64>,
        name: &str,
        lines: Vec<LineAt>,
        module: &Rc<Path>,
    ) -> Result<(), Malformed> {
        if code.is_empty() {
            return Ok(());
        }
        let routine = Routine { end: code.end, name: name.into(), lines, module: module.clone() };
        self.place(code.start, routine)
    }

    fn relocate(&mut self, from: u64, to: u64) -> Result<(), Malformed> {
        let Some(mut routine) = self.routines.remove(&from) else { return Ok(()) };
        routine.end = to.saturating_add(routine.end - from);
        self.place(to, routine)
    }

    fn place(&mut self, start: u64, routine: Routine) -> Result<(), Malformed> {
        while let Some((&before, older)) = self.routines.range(..routine.end).next_back()
            && older.end > start
        {
            self.routines.remove(&before);
        }
        if self.routines.len() >= MOST_ROUTINES {
            return Err(Malformed::TooLarge);
        }
        self.routines.insert(start, routine);
        Ok(())
    }

    /// The routine at an instruction, where it was described.
    pub fn frame(&self, address: u64) -> Option<Frame> {
        let (start, routine) = self.routines.range(..=address).next_back()?;
        if address >= routine.end {
            return None;
        }
        let offset = address - start;
        let line = routine.lines.partition_point(|line| line.offset <= offset).checked_sub(1);
        let line = line.and_then(|index| routine.lines.get(index));
        let said = described::of(&routine.name);
        Some(Frame {
            function: Some(said.function.to_owned()),
            file: line.map(|line| line.file.to_string()).or_else(|| said.file.map(str::to_owned)),
            line: line.map(|line| line.line).or(said.line).filter(|line| *line > 0),
            module: Some(routine.module.to_path_buf()),
            address,
            ..Frame::default()
        })
    }
}

/// Whether it is a text of addresses and names, by the file's name.
fn is_map(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "map")
}

#[cfg(test)]
mod tests;
