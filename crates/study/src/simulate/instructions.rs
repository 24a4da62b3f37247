//! The instructions of a simulation, which are what its counts belong to.

use std::cell::RefCell;

use carom_base::{Access, Addr, Ip, ProcessId, ThreadId};
use carom_base_sim::{Input, Reference};
use carom_base_stream::{Streamed, frame::Form};
use rustc_hash::FxHashMap;

/// Lines that are remembered of each instruction's data.
const LINES_LOOKED_AT: usize = 8;

/// What a [`Reference`] stands for.
#[derive(Clone, Debug)]
pub(super) struct Instruction {
    pub process: ProcessId,
    pub ip: Ip,
    /// Some of the data that it accesses: a byte of each line.
    pub data: Vec<Addr>,
}

/// Instructions, numbered in the order of their first accesses.
#[derive(Debug, Default)]
pub(super) struct Instructions {
    /// By number of the thread.
    processes: Vec<ProcessId>,
    /// Looked up for each instruction of each frame.
    numbers: FxHashMap<(ProcessId, Ip), u32>,
    /// By number.
    all: Vec<Instruction>,
}

impl Instructions {
    /// Those of threads, which are in these processes.
    pub fn new(processes: Vec<ProcessId>) -> Self {
        Self { processes, ..Self::default() }
    }

    /// Says of which process a thread is.
    pub fn place(&mut self, thread: ThreadId, process: ProcessId) {
        let number = thread.0 as usize;
        self.processes.resize(self.processes.len().max(number + 1), process);
        if let Some(place) = self.processes.get_mut(number) {
            *place = process;
        }
    }

    /// The access as the simulator takes it, but where the program has it. `None` for a thread that is not known.
    pub fn input(&mut self, thread: ThreadId, access: Access) -> Option<Input> {
        let process = *self.processes.get(thread.0 as usize)?;
        let next = self.all.len() as u32;
        let number = *self.numbers.entry((process, access.ip)).or_insert(next);
        if number == next {
            self.all.push(Instruction { process, ip: access.ip, data: Vec::new() });
        }
        if let Some(instruction) = self.all.get_mut(number as usize) {
            instruction.note(access.addr);
        }
        Some(Input::of(access, Reference(number)))
    }

    /// What a number stands for.
    pub fn of(&self, reference: Reference) -> Option<&Instruction> {
        self.all.get(reference.0 as usize)
    }

    /// By number.
    pub fn into_all(self) -> Vec<Instruction> {
        self.all
    }
}

impl Instruction {
    fn note(&mut self, addr: Addr) {
        let line = addr.line();
        if self.data.len() < LINES_LOOKED_AT && self.data.iter().all(|known| known.line() != line) {
            self.data.push(addr);
        }
    }
}

/// Accesses as the simulator takes them, with the numbers of their instructions.
pub(super) struct Numbered<'a>(pub &'a RefCell<Instructions>);

impl Form for Numbered<'_> {
    type Access = Input;

    fn site(&mut self, thread: ThreadId, first: &Streamed) -> Input {
        let input = self.0.borrow_mut().input(thread, first.access);
        // What threads do that are not known is not simulated.
        input.unwrap_or_else(|| Input::of(first.access, Reference::default()))
    }

    #[inline]
    fn at(access: Input, addr: Addr) -> Input {
        access.at(addr)
    }
}
