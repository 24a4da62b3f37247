//! Simulations of the accesses of recordings: one, or one for each of several layouts, which are fed together.

use std::{cell::RefCell, num::NonZero, slice};

use carom_base::{Domain, Nanos, ThreadId};
use carom_base_sim::{Input, Machine, MachineError, Results};
use carom_base_stream::{Sink, Turns};
use carom_store::StoreError;

use super::{
    Order, SimulateStudy,
    feed::{Fed, Feed},
    implied::Implied,
    instructions::{Instruction, Instructions, Numbered},
    moved::Moved,
    order::Even,
    parts::Parts,
};
use crate::recording::{Recordings, ThreadEntry};

impl SimulateStudy {
    /// All accesses, with those that they imply, and with data where it was or moved. Also the first problem, where not all could
    /// be read.
    pub(super) fn simulate(
        &self,
        recordings: &Recordings<'_>,
        implied: &mut Implied,
        machine: &Machine,
        threads: &[ThreadEntry],
        moved: Option<Moved>,
    ) -> Result<(Fed, Option<StoreError>), MachineError> {
        let mut feed = self.feed(machine, threads, moved, self.threads)?;
        let (instructions, damage) = self.run(recordings, implied, threads, slice::from_mut(&mut feed));
        Ok((feed.end(instructions), damage))
    }

    /// The same with data moved in several ways, each by itself: to read the accesses takes as long as to simulate them.
    pub(super) fn simulate_each(
        &self,
        recordings: &Recordings<'_>,
        implied: &mut Implied,
        machine: &Machine,
        threads: &[ThreadEntry],
        moved: Vec<Moved>,
    ) -> Result<Vec<Results>, MachineError> {
        if moved.is_empty() {
            return Ok(Vec::new());
        }
        let each = self.threads.and_then(|all| NonZero::new(all.get() / moved.len()));
        let feed = |moved| self.feed(machine, threads, Some(moved), each);
        let mut feeds = moved.into_iter().map(feed).collect::<Result<Vec<_>, _>>()?;
        self.run(recordings, implied, threads, &mut feeds);
        Ok(feeds.into_iter().map(|feed| feed.end(Vec::new()).results).collect())
    }

    fn feed(
        &self,
        machine: &Machine,
        threads: &[ThreadEntry],
        moved: Option<Moved>,
        simulating: Option<NonZero<usize>>,
    ) -> Result<Feed, MachineError> {
        let parts = Parts::new(machine, self.settings(machine), simulating)?;
        Feed::new(parts, machine, &self.placement, threads, moved)
    }

    /// Feeds all of them. The instructions that references stand for.
    fn run(
        &self,
        recordings: &Recordings<'_>,
        implied: &mut Implied,
        threads: &[ThreadEntry],
        feeds: &mut [Feed],
    ) -> (Vec<Instruction>, Option<StoreError>) {
        if let Some(first) = feeds.first_mut() {
            first.progress = self.progress;
        }
        let instructions = Instructions::new(threads.iter().map(|thread| thread.process).collect());
        let instructions = RefCell::new(instructions);
        let form = &mut Numbered(&instructions);
        let mut all = Feeds(feeds);
        let damage = match self.order {
            Order::Recorded => {
                recordings.streams_as(self.spread, form, &mut implied.complete(&instructions, &mut all))
            }
            Order::Even => {
                let mut even = Even::new(&mut all);
                let damage =
                    recordings.streams_as(self.spread, form, &mut implied.complete(&instructions, &mut even));
                even.give_on(0);
                damage
            }
            Order::Synchronised => {
                let process = |thread: ThreadId| threads.get(thread.0 as usize).map(|thread| thread.process);
                let mut turns = Turns::new(&mut all, |thread| process(thread).unwrap_or_default());
                let damage = recordings.streams_as(
                    self.spread,
                    form,
                    &mut implied.complete(&instructions, &mut turns),
                );
                let matched = turns.finish();
                feeds.iter_mut().for_each(|feed| feed.matched = Some(matched));
                damage
            }
        };
        (instructions.into_inner().into_all(), damage)
    }
}

/// Gives accesses to several simulations.
struct Feeds<'a>(&'a mut [Feed]);

impl Sink<Input> for Feeds<'_> {
    #[inline]
    fn accesses(&mut self, thread: ThreadId, domain: Domain, accesses: &[Input], until: Nanos) {
        for feed in &mut *self.0 {
            feed.accesses(thread, domain, accesses, until);
        }
    }

    fn ended(&mut self, thread: ThreadId) {
        for feed in &mut *self.0 {
            feed.ended(thread);
        }
    }
}
