//! The counters of an arena, and what the counters of each thread there say.

use super::Code;
use crate::{
    memory::{COUNTERS_PER_ARENA, LaneId},
    probes::counter::{Counter, Unit},
};

/// A branch with a counter of its own for how often it falls through.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The address behind it.
    pub behind: u64,
    /// The counter of its block, where that is known.
    pub block: Option<u32>,
}

impl Code {
    /// The counters by their numbers.
    pub fn counters(&self) -> &[Counter] {
        &self.counters
    }

    /// Adds a counter: returns its number, and its place relative to GS.
    pub fn add_counter(&mut self, counter: Counter) -> (u64, u64) {
        let (id, place) = (self.counters.len() as u64, self.next_counter());
        self.counters.push(counter);
        let accesses = counter.sums().accesses() as i32;
        match counter.rest_of {
            None => self.weights.push(-accesses),
            // What it counts is what the block is not executed.
            Some(of) => {
                self.weights.push(accesses);
                self.weigh(of, accesses);
            }
        }
        (id, place)
    }

    /// The place of the counter that is added next, relative to GS.
    pub fn next_counter(&self) -> u64 {
        self.windows().v.wrapping_add(8 * self.counters.len() as u64)
    }

    /// Executions that the counter `id` counts are of this many accesses more.
    fn weigh(&mut self, id: u32, accesses: i32) {
        let Some(weight) = self.weights.get_mut(id as usize) else { return };
        match self.counters.get(id as usize).and_then(|counter| counter.rest_of) {
            None => *weight -= accesses,
            Some(of) => {
                *weight += accesses;
                self.weigh(of, accesses);
            }
        }
    }

    /// The counter of the block that follows that of the counter `id` in its superblock.
    pub fn follower_of(&self, id: u64) -> Option<(u64, &Counter)> {
        let behind = (id + 1..).zip(self.counters.get(id as usize + 1..)?);
        let (next, counter) = behind.into_iter().find(|(_, counter)| counter.unit == Unit::Execution)?;
        (counter.rest_of.map(u64::from) == Some(id)).then_some((next, counter))
    }

    /// The counters of all blocks behind that of the counter `id` in its superblock, in their order.
    pub fn followers_of(&self, id: u64) -> impl Iterator<Item = &Counter> {
        let next = move |id: u64| self.follower_of(id);
        std::iter::successors(next(id), move |(id, _)| next(*id)).map(|(_, counter)| counter)
    }

    /// The loads and stores of their blocks.
    pub fn accesses_behind(&self, id: u64) -> i64 {
        self.followers_of(id).map(|counter| counter.sums().accesses()).sum()
    }

    /// A superblock is left at these addresses, by a branch with this counter.
    pub fn add_sides(&mut self, sides: impl Iterator<Item = (u64, u64)>) {
        self.sides.extend(sides);
    }

    /// The counter of the branch that leaves a superblock at `address`.
    pub fn side(&self, address: u64) -> Option<u64> {
        let after = self.sides.partition_point(|(start, _)| *start <= address);
        self.sides.get(after.checked_sub(1)?).map(|(_, id)| *id)
    }

    /// Adds a counter for a branch that falls through, which counts down there: returns its place relative to GS.
    pub fn add_edge(&mut self, edge: Edge) -> u64 {
        self.edges.push(edge);
        self.windows().v.wrapping_add(8 * (COUNTERS_PER_ARENA - self.edges.len()) as u64)
    }

    /// Branches that fall through with counters of their own.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// How often each of these branches of a lane fell through.
    pub fn falls(&self, lane: LaneId) -> impl Iterator<Item = i64> {
        let windows = self.windows();
        (1..=self.edges.len()).map(move |edge| -windows.value(lane, COUNTERS_PER_ARENA - edge))
    }

    /// Loads and stores by a lane's counters, without the units that were loaded into them.
    pub fn accesses(&self, lane: LaneId) -> i64 {
        self.windows().weighted(lane, &self.weights)
    }

    /// Adds to a counter of a thread that is not counting meanwhile.
    pub fn count(&self, lane: LaneId, id: u64, difference: i64) {
        let windows = self.windows();
        windows.set(lane, id as usize, windows.value(lane, id as usize).wrapping_add(difference));
    }

    /// The last counter of this kind of unit with code at or before `address`.
    pub fn last_counter(&self, address: u64, unit: Unit) -> Option<(u64, Counter)> {
        let after = self.counters.partition_point(|counter| counter.cache <= address);
        let before = self.counters.get(..after)?;
        let id = before.iter().rposition(|counter| counter.unit == unit)?;
        Some((id as u64, *before.get(id)?))
    }
}
