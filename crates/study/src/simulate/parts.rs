//! A simulation by several threads, each of a part of all lines.
//!
//! ```text
//!   reading   | block 0 | block 1 | block 2 | ...
//!   part 0              | block 0 | block 1 | ...      lines 0, 2, 4, ...
//!   part 1              | block 0 | block 1 | ...      lines 1, 3, 5, ...
//! ```
//!
//! No part needs to know of another ([`Part`]), so their counts add up to those of one simulator for all lines.

use std::{
    mem,
    num::NonZero,
    panic,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use carom_base_sim::{Input, Machine, MachineError, Part, Results, Settings, Simulator};

/// Accesses that are handed over together: 1 MiB of them.
const BLOCK: usize = 1 << 16;

/// Blocks that wait for a part, while others are ahead of it.
const WAITING: usize = 8;

/// The most parts: every part looks at all accesses, and the thread that reads them is slower than so many parts.
const MOST_PARTS: usize = 8;

/// Simulators in threads of their own, which see the same accesses.
pub(crate) struct Parts {
    parts: Vec<(SyncSender<Arc<Block>>, JoinHandle<Results>)>,
    block: Block,
}

/// Accesses of several cores in their order.
#[derive(Default)]
struct Block {
    inputs: Vec<Input>,
    /// Core, and the number of its accesses in a row.
    turns: Vec<(usize, usize)>,
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
            let (sender, blocks) = sync_channel(WAITING);
            (sender, thread::spawn(move || simulate(simulator, &blocks)))
        });
        Ok(Self { parts: started.collect(), block: Block::default() })
    }

    /// The core makes these accesses, after all earlier ones.
    pub fn accesses(&mut self, core: usize, inputs: &[Input]) {
        self.block.turns.push((core, inputs.len()));
        self.block.inputs.extend_from_slice(inputs);
        if self.block.inputs.len() >= BLOCK {
            self.hand_over();
        }
    }

    /// The counts of all parts.
    pub fn results(mut self) -> Results {
        self.hand_over();
        let each = self.parts.into_iter().map(|(blocks, part)| {
            drop(blocks);
            part.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
        });
        each.reduce(|mut sum, part| {
            sum.add(part);
            sum
        })
        .unwrap_or_default()
    }

    fn hand_over(&mut self) {
        let block = Arc::new(mem::take(&mut self.block));
        for (blocks, _) in &self.parts {
            // A part that takes nothing any more has panicked: told at the end.
            let _ = blocks.send(Arc::clone(&block));
        }
    }
}

fn simulate(mut simulator: Simulator, blocks: &Receiver<Arc<Block>>) -> Results {
    for block in blocks {
        let mut rest = block.inputs.as_slice();
        for &(core, length) in &block.turns {
            let (turn, behind) = rest.split_at(length);
            simulator.accesses(core, turn);
            rest = behind;
        }
    }
    simulator.results()
}

#[cfg(test)]
mod tests {
    use carom_base::{AccessKind, Addr};
    use carom_base_sim::{Reference, included};

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
        let mut turns = Vec::new();
        for _ in 0..5 * BLOCK / 64 {
            let core = next(cores as u64) as usize;
            let mut input = || {
                let bytes = if next(2) == 0 { 4 << 10 } else { 8 << 20 };
                let addr = Addr(next(bytes));
                Input::new(addr, 8, kinds[next(3) as usize], Reference(next(100) as u32))
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
            turns.iter().for_each(|(core, inputs)| parts.accesses(*core, inputs));
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
