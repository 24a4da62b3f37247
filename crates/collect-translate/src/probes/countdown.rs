//! The countdowns of one thread: its counters hold what is left until the next sample.
//!
//! A counter counts units down: executions of a block, iterations of a repeated instruction, active lanes. When it
//! becomes negative, its code leaves the cache: some of the last counted units hold samples. So at any time the
//! number of counted units is what was loaded minus the counter's value.

use super::strata::{NEVER, Stream};
use crate::decode::block::Sums;

/// The countdown of one counter in one thread.
#[derive(Clone, Copy, Debug)]
pub struct Countdown {
    /// The units that have been loaded into the counter.
    pub loaded: u64,
    /// The strata of loads and of stores.
    pub streams: [Stream; 2],
}

/// An access that is to be sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Drawn {
    /// The number of its unit among this counter's units in this thread.
    pub unit: u64,
    /// Which of the unit's loads, or of its stores if `store` is true.
    pub nth: u32,
    pub store: bool,
    /// How often its period is doubled.
    pub doublings: u8,
}

impl Countdown {
    /// The number of units from number `from` on until the next sample, excluding that unit.
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

/// The number of countdowns in one allocation of 8 KiB. The counters of one fragment, and of those translated with
/// it, have adjacent numbers, so a thread uses most of an allocation.
const CHUNK: usize = 256;

/// The stored form of a [`Countdown`].
#[derive(Clone, Copy, Debug, Default)]
struct Kept {
    /// One more than [`Countdown::loaded`]; 0 where nothing was set.
    loaded: u64,
    /// [`Stream::next`] of loads and of stores.
    next: [u64; 2],
    /// [`Stream::doublings`] of the same.
    doublings: [u8; 2],
}

/// The countdowns of one thread in one arena, by counter. An arena has room for many more counters than a thread
/// uses, so there is memory only around those that it does.
#[derive(Debug, Default)]
pub struct Countdowns {
    chunks: Vec<Option<Box<[Kept; CHUNK]>>>,
    /// The accesses of all units that were loaded into all counters, modulo 2^64.
    loaded_accesses: i64,
}

impl Countdowns {
    /// The accesses of all units that were loaded into counters.
    pub const fn loaded_accesses(&self) -> i64 {
        self.loaded_accesses
    }

    /// Notes that a counter was loaded with units of this many accesses in total.
    pub const fn note_loaded(&mut self, accesses: i64) {
        self.loaded_accesses = self.loaded_accesses.wrapping_add(accesses);
    }

    /// The countdown that was set last.
    pub fn get(&self, id: u64) -> Option<Countdown> {
        let id = id as usize;
        let kept = self.chunks.get(id / CHUNK)?.as_ref()?.get(id % CHUNK)?;
        let ([loads, stores], [l, s]) = (kept.next, kept.doublings);
        let streams = [Stream::at(loads, l), Stream::at(stores, s)];
        Some(Countdown { loaded: kept.loaded.checked_sub(1)?, streams })
    }

    /// Stores a countdown.
    pub fn set(&mut self, id: u64, countdown: Countdown) {
        let id = id as usize;
        if self.chunks.len() <= id / CHUNK {
            self.chunks.resize_with(id / CHUNK + 1, || None);
        }
        let Some(chunk) = self.chunks.get_mut(id / CHUNK) else { return };
        let chunk = chunk.get_or_insert_with(|| Box::new([Kept::default(); CHUNK]));
        if let Some(kept) = chunk.get_mut(id % CHUNK) {
            let next = countdown.streams.map(|stream| stream.next());
            let doublings = countdown.streams.map(|stream| stream.doublings());
            *kept = Kept { loaded: countdown.loaded.wrapping_add(1), next, doublings };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_and_nothing_else() {
        let mut countdowns = Countdowns::default();
        let ids = [0, 255, 256, 100_000];
        for id in ids {
            let streams = [Stream::at(id + 1, 3), Stream::at(id + 2, 4)];
            countdowns.set(id, Countdown { loaded: id, streams });
        }
        for id in ids {
            let Countdown { loaded, streams } = countdowns.get(id).expect("kept");
            assert_eq!([loaded, streams[0].next(), streams[1].next()], [id, id + 1, id + 2]);
            assert_eq!(streams.map(|stream| stream.doublings()), [3, 4]);
        }
        assert!([1, 254, 257, 512, 99_999, 1 << 40].iter().all(|id| countdowns.get(*id).is_none()));
        let chunks = countdowns.chunks.iter().flatten().count();
        assert_eq!(chunks, 3, "memory for those around them alone");
    }
}
