//! When superblocks are made (`emit::superblocks`): every now and then the counters tell which branches go one way mostly, and the
//! fragments that gain are translated anew.

use super::{Engine, with};
use crate::{
    blocks::{cache::Cache, likely::Bias, place::Place},
    decode::block::Block,
    probes::{
        counter::{Counter, Unit},
        mode::{Mode, Version},
    },
};

/// A branch is worth it that was executed so often, and so often for each tick of 10 ms. By estimate, to translate its fragment anew
/// takes tens of microseconds, to enter all landings into their tables again some milliseconds, and each time that a block is not
/// counted saves a third of a nanosecond.
const OFTEN: i64 = 200_000;
const OFTEN_IN_A_TICK: i64 = 5_000;

/// Of so many times, it must have gone the other way once at most.
const MOSTLY: i64 = 4;

/// A superblock is given up where every second execution leaves it.
const TOO_OFTEN: i64 = 2;

/// The turns at which branches are looked at: by the ticks of all threads' timers.
#[derive(Debug)]
pub struct Turns {
    ticks: u64,
    due: u64,
    /// The turn has come, and a thread in the dispatcher is to take it.
    pub pending: bool,
    /// It comes always, for tests.
    always: bool,
}

/// The first turn comes after so many ticks: programs that end before gain nothing.
const FIRST: u64 = 5;

impl Default for Turns {
    fn default() -> Self {
        Self { ticks: 0, due: FIRST, pending: false, always: false }
    }
}

impl Turns {
    /// A timer has ticked. Each turn comes later after the one before it.
    pub fn tick(&mut self) {
        self.ticks += 1;
        if self.ticks >= self.due {
            self.pending = true;
            self.due = self.ticks + self.ticks / 2 + FIRST;
        }
    }
}

/// Takes each branch for one that goes one way mostly, for tests.
#[doc(hidden)]
pub fn assume_superblocks() {
    with(|engine| engine.cache.likely.assume_all());
}

/// Has each thread in the dispatcher look at branches, for tests.
#[doc(hidden)]
pub fn look_at_branches_always() {
    with(|engine| engine.turns.always = true);
}

/// How many branches are known to go one way mostly, for tests.
#[doc(hidden)]
pub fn biased_branches() -> usize {
    let mut biased = 0;
    with(|engine| biased = engine.cache.likely.biased());
    biased
}

impl Engine {
    /// Makes superblocks, if their turn has come.
    pub fn make_superblocks(&mut self) {
        let due = std::mem::take(&mut self.turns.pending) || self.turns.always;
        if !due || !matches!(self.cache.mode(), Mode::Count | Mode::Sample { .. } | Mode::Episodes { .. }) {
            return;
        }
        let mut forgotten = Vec::new();
        for Found { block, bias } in self.biased() {
            let Some(branch) = last(&mut self.cache, &block) else { continue };
            let (next, target) = (branch.next_ip(), branch.near_branch_target());
            let is_loop = bias == Some(Bias::Jumps) && target < next;
            if is_loop || !self.cache.likely.learn(branch.ip(), bias) {
                continue;
            }
            forgotten.push(branch.ip()..next + 1);
            if bias == Some(Bias::Jumps) {
                forgotten.push(target..target + 1);
            }
        }
        self.cache.forget(&forgotten);
    }

    /// Blocks with a branch that goes one way mostly, or no longer, by their counters.
    fn biased(&self) -> Vec<Found> {
        let mut found = Vec::new();
        let often = OFTEN.max(OFTEN_IN_A_TICK.saturating_mul(self.turns.ticks as i64));
        for (arena, code) in self.cache.arenas.all().iter().enumerate() {
            let units = |id| self.threads().map(|books| books.units(Place { arena, code, id })).sum::<i64>();
            let counters = code.counters();
            let mut add =
                |block: u64, falls: &dyn Fn() -> i64, judge: &dyn Fn(i64, i64) -> Option<Option<Bias>>| {
                    let all = units(block);
                    if all >= often
                        && let Some(&block) = counters.get(block as usize)
                        && block.version == Version::Plain
                        && let Some(bias) = judge(all, falls())
                    {
                        found.push(Found { block, bias });
                    }
                };
            let mut before = 0;
            for (id, counter) in (0..).zip(counters).filter(|(_, counter)| counter.unit == Unit::Execution) {
                let block = std::mem::replace(&mut before, id);
                match counter.rest_of {
                    Some(block) => add(block.into(), &|| units(id), &is_given_up),
                    None if counter.fallen => add(block, &|| units(id), &bias),
                    None => {}
                }
            }
            for (nth, edge) in code.edges().iter().enumerate() {
                let falls = || self.threads().filter_map(|books| code.falls(books.lane).nth(nth)).sum();
                if let Some(block) = edge.block {
                    add(block.into(), &falls, &bias);
                }
            }
        }
        found
    }
}

/// A block whose branch has a bias, or none any more.
struct Found {
    block: Counter,
    bias: Option<Bias>,
}

/// The bias of a branch by how often it was executed and fell through, if it has one.
fn bias(all: i64, falls: i64) -> Option<Option<Bias>> {
    match () {
        () if all - falls <= all / MOSTLY => Some(Some(Bias::Falls)),
        () if falls <= all / MOSTLY => Some(Some(Bias::Jumps)),
        () => None,
    }
}

/// Whether a superblock is no longer worth it that was entered so often, and went on behind a branch so often.
fn is_given_up(all: i64, went_on: i64) -> Option<Option<Bias>> {
    (all - went_on >= all / TOO_OFTEN).then_some(None)
}

/// The last instruction of the block that a counter counts, if that is a branch.
fn last(cache: &mut Cache, counter: &Counter) -> Option<iced_x86::Instruction> {
    let code = cache.source.code_after(counter.pc)?;
    let mut block = Block::decode(counter.pc, code, &mut cache.accesses)?;
    block.truncate(counter.sums().instructions as usize);
    block.last().copied().filter(|last| last.is_jcc_short_or_near())
}
