//! A simulation by several threads, each of a part of all lines.
//!
//! ```text
//!   reading   | ................................. | ...
//!   part 0             | block | block | ...            lines 0, 2, 4, ...
//!   part 1             | block | block | ...            lines 1, 3, 5, ...
//! ```
//!
//! No part needs to know of another ([`Part`]), so their counts add up to those of one simulator for all lines.

use std::{
    mem,
    num::NonZero,
    panic,
    sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    thread::{self, JoinHandle},
};

use carom_base::{AccessKind, Addr};
use carom_base_sim::{Input, Machine, MachineError, Part, Reference, Results, Settings, Simulator};

/// Accesses that are handed over together: 256 KiB of them.
const BLOCK: usize = 1 << 14;

/// Blocks that wait for a part, while others are ahead of it.
const WAITING: usize = 8;

/// The most parts: the thread that reads the accesses is slower than so many.
const MOST_PARTS: usize = 8;

/// Simulators in threads of their own, each of which gets the accesses to its lines.
pub(crate) struct Parts {
    parts: Vec<Lane>,
    line_shift: u32,
}

/// What goes to one part.
struct Lane {
    blocks: SyncSender<Block>,
    /// Blocks that the part has done with: new ones would be new memory for the kernel to clear.
    spare: Receiver<Block>,
    part: JoinHandle<Results>,
    block: Block,
}

/// Accesses of several cores in their order.
struct Block {
    /// Of these, `count` are accesses.
    inputs: Box<[Input]>,
    count: usize,
    /// Core, and the number of its accesses in a row.
    turns: Vec<(u32, u32)>,
    /// Accesses of earlier turns.
    before: usize,
}

impl Parts {
    /// As many parts as there are to be threads, or as the machine can be divided into if these are fewer; one, if conflict
    /// misses are told apart.
    pub fn new(
        machine: &Machine,
        settings: Settings,
        threads: Option<NonZero<usize>>,
    ) -> Result<Self, MachineError> {
        let threads = threads.map_or(1, NonZero::get).min(MOST_PARTS);
        let of = machine.parts().min(1 << threads.ilog2());
        let of = if settings.conflicts { 1 } else { of };
        let part = |index| Simulator::new(machine, Settings { part: Part { index, of }, ..settings });
        let simulators = (0..of).map(part).collect::<Result<Vec<_>, _>>()?;
        let started = simulators.into_iter().map(|simulator| {
            let ((blocks, received), (done, spare)) = (sync_channel(WAITING), channel());
            let part = thread::spawn(move || simulate(simulator, &received, &done));
            Lane { blocks, spare, part, block: Block::empty() }
        });
        Ok(Self { parts: started.collect(), line_shift: machine.line_bytes.trailing_zeros() })
    }

    /// The core makes these accesses, after all earlier ones.
    pub fn turn(&mut self, core: usize, accesses: impl Iterator<Item = Input>) {
        if let [lane] = self.parts.as_mut_slice() {
            lane.extend(core, accesses);
        } else {
            accesses.for_each(|access| self.divide(core, access));
        }
        self.parts.iter_mut().for_each(|lane| lane.end_turn(core));
    }

    /// Gives an access to the parts that have its lines: mostly one. Nothing would predict a branch for each part.
    #[inline(always)]
    fn divide(&mut self, core: usize, access: Input) {
        let (first, last) = (access.addr() >> self.line_shift, access.last() >> self.line_shift);
        self.give(core, first, access);
        if first != last {
            self.divide_rest(core, access);
        }
    }

    /// Gives it to the parts that have its lines but the first.
    #[cold]
    fn divide_rest(&mut self, core: usize, access: Input) {
        let (first, last) = (access.addr() >> self.line_shift, access.last() >> self.line_shift);
        let others = self.parts.len() as u64 - 1;
        (first + 1..=last.min(first + others)).for_each(|line| self.give(core, line, access));
    }

    #[inline(always)]
    fn give(&mut self, core: usize, line: u64, access: Input) {
        // Parts are the residues of lines, and as many as a power of two.
        let part = line as usize & (self.parts.len() - 1);
        if let Some(lane) = self.parts.get_mut(part) {
            lane.push(core, access);
        }
    }

    /// The counts of all parts.
    pub fn results(self) -> Results {
        let each = self.parts.into_iter().map(|mut lane| {
            lane.hand_over();
            let Lane { blocks, part, .. } = lane;
            drop(blocks);
            part.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
        });
        each.reduce(|mut sum, part| {
            sum.add(part);
            sum
        })
        .unwrap_or_default()
    }
}

impl Lane {
    /// Many of them.
    fn extend(&mut self, core: usize, mut accesses: impl Iterator<Item = Input>) {
        loop {
            let Block { inputs, count, .. } = &mut self.block;
            for (place, access) in inputs.iter_mut().skip(*count).zip(&mut accesses) {
                *place = access;
                *count += 1;
            }
            if *count < BLOCK {
                return;
            }
            self.end_full(core);
        }
    }

    /// Inlined: what goes to different parts by turns is not read back from where it was put together.
    #[inline(always)]
    fn push(&mut self, core: usize, access: Input) {
        if self.block.count == BLOCK {
            self.end_full(core);
        }
        let Block { inputs, count, .. } = &mut self.block;
        if let Some(place) = inputs.get_mut(*count) {
            *place = access;
            *count += 1;
        }
    }

    #[cold]
    fn end_full(&mut self, core: usize) {
        self.end_turn(core);
        self.hand_over();
    }

    fn end_turn(&mut self, core: usize) {
        let Block { count, turns, before, .. } = &mut self.block;
        if *count > *before {
            turns.push((core as u32, (*count - *before) as u32));
            *before = *count;
        }
    }

    fn hand_over(&mut self) {
        let next = self.spare.try_recv().unwrap_or_else(|_| Block::empty());
        // A part that takes nothing any more has panicked: told at the end.
        let _ = self.blocks.send(mem::replace(&mut self.block, next));
    }
}

/// What is in a block behind its accesses.
const NONE: Input = Input::new(Addr(0), 1, AccessKind::Load, Reference(0));

impl Block {
    fn empty() -> Self {
        Self { inputs: vec![NONE; BLOCK].into(), count: 0, turns: Vec::new(), before: 0 }
    }

    fn clear(&mut self) {
        (self.count, self.before) = (0, 0);
        self.turns.clear();
    }
}

fn simulate(mut simulator: Simulator, blocks: &Receiver<Block>, done: &Sender<Block>) -> Results {
    for mut block in blocks {
        let mut rest = &*block.inputs;
        for &(core, length) in &block.turns {
            let (turn, behind) = rest.split_at(length as usize);
            simulator.accesses(core as usize, turn);
            rest = behind;
        }
        block.clear();
        // Nobody takes it once there are no more accesses.
        let _ = done.send(block);
    }
    simulator.results()
}

#[cfg(test)]
mod tests {
    use carom_base_sim::included;

    use super::*;

    /// Turns of 1 to 64 accesses to 8 MiB, in more than one block: xorshift chooses core, address, kind and reference.
    fn turns(cores: usize) -> Vec<(usize, Vec<Input>)> {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = move |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let kinds = [AccessKind::Load, AccessKind::Store, AccessKind::ReadModifyWrite];
        // Within a line, across two, and across more than there are parts.
        let widths = [8, 8, 64, 640];
        let mut turns = Vec::new();
        for _ in 0..5 * BLOCK / 64 {
            let core = next(cores as u64) as usize;
            let mut input = || {
                let bytes = if next(2) == 0 { 4 << 10 } else { 8 << 20 };
                let addr = Addr(next(bytes));
                Input::new(
                    addr,
                    widths[next(4) as usize],
                    kinds[next(3) as usize],
                    Reference(next(100) as u32),
                )
            };
            let turn: Vec<Input> = (0..1 + turns.len() % 64).map(|_| input()).collect();
            turns.push((core, turn));
        }
        turns
    }

    #[test]
    fn any_number_of_threads_counts_what_one_simulator_counts() {
        let machine = included("two-sockets").unwrap().unwrap();
        let turns = turns(machine.cores());
        let mut simulator = Simulator::new(&machine, Settings::default()).unwrap();
        turns.iter().for_each(|(core, inputs)| simulator.accesses(*core, inputs));
        let expected = simulator.results();
        assert!(expected.total().caused.total() > 0 && expected.total().sources.remote > 0);
        for threads in [0, 1, 2, 3, 8, 100] {
            let mut parts = Parts::new(&machine, Settings::default(), NonZero::new(threads)).unwrap();
            turns.iter().for_each(|(core, inputs)| parts.turn(*core, inputs.iter().copied()));
            assert!(parts.results() == expected, "{threads} threads");
        }
    }

    #[test]
    fn what_cannot_be_divided_is_simulated_by_one_thread() {
        let of = |text: &str, conflicts| {
            let settings = Settings { conflicts, ..Settings::default() };
            Parts::new(&Machine::parse(text).unwrap(), settings, NonZero::new(4)).unwrap().parts.len()
        };
        // 3 sets, 4 sets, and 4 sets with a fully associative cache beside them.
        assert_eq!(of("cores_per_socket = 1\nl1 = {size = 192, ways = 1}", false), 1);
        assert_eq!(of("cores_per_socket = 1\nl1 = {size = 256, ways = 1}", false), 4);
        assert_eq!(of("cores_per_socket = 1\nl1 = {size = 256, ways = 1}", true), 1);
    }
}
