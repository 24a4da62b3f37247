//! From kept accesses to the simulator.

use carom_base::{Addr, Domain, Nanos, ProcessId, ThreadId};
use carom_base_sim::{Input, Machine, MachineError, Placement, Results};
use carom_base_stream::{Matched, Sink};

use super::{
    instructions::Instruction,
    moved::{Moved, tagged},
    parts::Parts,
};
use crate::recording::{Input as _, Recordings, ThreadEntry};

/// Accesses of about a tenth of a second.
const TOLD_EVERY: u64 = 1 << 22;

/// The threads that have kept accesses, in the order of their first ones, and then all others.
pub(crate) fn threads(recordings: &mut Recordings<'_>) -> Vec<ThreadEntry> {
    recordings.merged(crate::recording::Combine::Ranks).0.threads().to_vec()
}

/// A thread with at least this part of the accesses is busy.
const BUSY: u64 = 20;

/// A thread that came after others fewer times than this did not take turns with them.
const FEWEST_TURNS: u64 = 3;

/// What a simulation came to.
#[derive(Clone, Debug)]
pub(super) struct Fed {
    pub results: Results,
    /// By reference.
    pub instructions: Vec<Instruction>,
    /// The threads of each core that accessed something.
    pub cores: Vec<Vec<ThreadId>>,
    /// Accesses in a row by one thread, where several took turns.
    pub turn: Option<u64>,
    /// Accesses to bytes that lie apart where the layout is changed.
    pub cut: u64,
    /// Synchronisations that the order went by.
    pub matched: Option<Matched>,
}

/// Feeds simulators with the accesses of threads.
pub(super) struct Feed {
    parts: Parts,
    /// By number of the thread.
    lanes: Vec<Lane>,
    cores: Vec<Vec<ThreadId>>,
    /// Whose accesses came last.
    last: Option<ThreadId>,
    /// Where bytes lie, if not where the program had them.
    moved: Option<Moved>,
    cut: u64,
    accesses: u64,
    /// Called after about each [`TOLD_EVERY`] accesses.
    pub progress: Option<fn(u64)>,
    /// Of the order.
    pub matched: Option<Matched>,
}

#[derive(Clone, Copy, Debug)]
struct Lane {
    process: ProcessId,
    core: usize,
    accesses: u64,
    /// How often it came after another thread.
    turns: u64,
}

impl Feed {
    /// Threads are placed in the order of their numbers. `moved`: where bytes lie, if not where the program had them.
    pub fn new(
        parts: Parts,
        machine: &Machine,
        placement: &Placement,
        threads: &[ThreadEntry],
        moved: Option<Moved>,
    ) -> Result<Self, MachineError> {
        let lane = |(number, thread): (usize, &ThreadEntry)| {
            let core = placement.core(number, machine)?;
            Ok(Lane { process: thread.process, core, accesses: 0, turns: 0 })
        };
        Ok(Self {
            parts,
            lanes: threads.iter().enumerate().map(lane).collect::<Result<_, _>>()?,
            cores: vec![Vec::new(); machine.cores()],
            last: None,
            moved,
            cut: 0,
            accesses: 0,
            progress: None,
            matched: None,
        })
    }

    /// Says where a thread runs that was not known before.
    pub fn place(&mut self, thread: ThreadId, process: ProcessId, core: usize) {
        let number = thread.0 as usize;
        let lane = Lane { process, core, accesses: 0, turns: 0 };
        if self.lanes.len() <= number {
            self.lanes.resize(number + 1, lane);
        }
        self.lanes[number] = lane;
    }

    /// The outcome. `instructions`: those of the references that accesses had.
    pub fn end(self, instructions: Vec<Instruction>) -> Fed {
        let turn = self.turn();
        let Self { parts, lanes, mut cores, cut, matched, .. } = self;
        for (number, lane) in (0..).zip(lanes).filter(|(_, lane)| lane.accesses > 0) {
            if let Some(threads) = cores.get_mut(lane.core) {
                threads.push(ThreadId(number));
            }
        }
        Fed { results: parts.results(), instructions, cores, turn, cut, matched }
    }

    /// The mean number of accesses in a row by one thread, where at least two threads took turns for a long time.
    fn turn(&self) -> Option<u64> {
        let all: u64 = self.lanes.iter().map(|lane| lane.accesses).sum();
        let busy = |lane: &&Lane| lane.accesses >= all / BUSY && lane.turns >= FEWEST_TURNS;
        let mut turns: Vec<u64> =
            self.lanes.iter().filter(busy).map(|lane| lane.accesses / lane.turns).collect();
        turns.sort_unstable();
        // The second longest: one thread alone takes no turns.
        turns.iter().rev().nth(1).copied()
    }
}

impl Sink<Input> for Feed {
    fn accesses(&mut self, thread: ThreadId, _: Domain, accesses: &[Input], _: Nanos) {
        let Some(lane) = self.lanes.get_mut(thread.0 as usize).filter(|_| !accesses.is_empty()) else {
            return;
        };
        let before = self.accesses;
        self.accesses += accesses.len() as u64;
        if let Some(progress) = self.progress.filter(|_| before / TOLD_EVERY < self.accesses / TOLD_EVERY) {
            progress(self.accesses);
        }
        lane.accesses += accesses.len() as u64;
        lane.turns += u64::from(self.last.replace(thread) != Some(thread));
        let Lane { process, core, .. } = *lane;
        let Self { parts, moved, cut, .. } = self;
        let tagged = |access: &Input| access.at(tagged(process, Addr(access.addr())));
        let accesses = accesses.iter().map(tagged);
        let Some(moved) = moved else { return parts.turn(core, accesses) };
        parts.turn(
            core,
            accesses.flat_map(|access| {
                let (addr, width) = (Addr(access.addr()), access.width());
                *cut += u64::from(moved.first(addr, width).1 < width);
                moved.pieces(addr, width).map(move |(to, width)| access.at(to).of_width(width))
            }),
        );
    }

    fn ended(&mut self, _: ThreadId) {}
}
