//! The countdowns of one thread: its counters hold what is left until the next sample.
//!
//! A counter counts units down: executions of a block, iterations of a repeated instruction, active lanes. When one unit
//! too many has been taken from it, it is negative, and its code leaves: some of the units counted last hold samples.
//! So the units counted are what was loaded less the counter's value, at any time.

mod thread;

pub use thread::Place;

use crate::{
    block::Sums,
    memory::COUNTERS_PER_ARENA,
    sample::{NEVER, Stream},
};

/// The countdown of one counter in one thread.
#[derive(Clone, Copy, Debug)]
pub struct Countdown {
    /// Units put into the counter so far.
    pub loaded: u64,
    /// Loads and stores to come.
    pub streams: [Stream; 2],
}

/// An access that is to be sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Drawn {
    /// The number of its unit among the counter's in this thread.
    pub unit: u64,
    /// Which of the unit's loads, or of its stores (then true).
    pub nth: u32,
    pub store: bool,
}

impl Countdown {
    /// Units from number `from` on until the next sample, that one excluded.
    pub fn until(&self, sums: &Sums, from: u64) -> u64 {
        /// Longer than any program runs, and far from overflow.
        const LONG: u64 = 1 << 60;
        let [loads, stores] = self.streams;
        match loads.unit(sums.loads).min(stores.unit(sums.stores)) {
            NEVER => LONG,
            next => next.saturating_sub(from).min(LONG),
        }
    }
}

/// The countdowns of one thread in one arena, by counter. Columns of numbers, because those of unused counters then
/// stay untouched pages of zeroes.
#[derive(Debug, Default)]
pub struct Countdowns {
    /// One more than [`Countdown::loaded`]; 0 where nothing was set.
    loaded: Vec<u64>,
    loads: Vec<u64>,
    stores: Vec<u64>,
    /// Of all counters: the accesses of what was loaded, modulo 2^64.
    loaded_accesses: i64,
}

impl Countdowns {
    /// The accesses of all units that were put into counters.
    pub const fn loaded_accesses(&self) -> i64 {
        self.loaded_accesses
    }

    /// A counter was loaded with units of so many accesses.
    pub const fn note_loaded(&mut self, accesses: i64) {
        self.loaded_accesses = self.loaded_accesses.wrapping_add(accesses);
    }

    /// What was set last.
    pub fn get(&self, id: u64) -> Option<Countdown> {
        let id = id as usize;
        let loaded = self.loaded.get(id)?.checked_sub(1)?;
        Some(Countdown {
            loaded,
            streams: [Stream::at(*self.loads.get(id)?), Stream::at(*self.stores.get(id)?)],
        })
    }

    /// Keeps a countdown.
    pub fn set(&mut self, id: u64, countdown: Countdown) {
        if self.loaded.is_empty() {
            for column in [&mut self.loaded, &mut self.loads, &mut self.stores] {
                *column = vec![0; COUNTERS_PER_ARENA];
            }
        }
        let [loads, stores] = countdown.streams;
        let columns = [
            (&mut self.loaded, countdown.loaded.wrapping_add(1)),
            (&mut self.loads, loads.next()),
            (&mut self.stores, stores.next()),
        ];
        for (column, value) in columns {
            if let Some(place) = column.get_mut(id as usize) {
                *place = value;
            }
        }
    }
}
