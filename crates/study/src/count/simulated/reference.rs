//! What the simulation's counts belong to: instructions in threads, by their kind of access.

use std::collections::{BTreeMap, HashMap};

use carom_base::{AccessKind, Addr, Ip, ProcessId, ThreadId};
use carom_base_sim::{Counts, Input, Reference};
use carom_base_stream::{Streamed, frame::Form};
use carom_store::PlaceCounts;

/// An instruction in a thread, with a kind and width of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub thread: ThreadId,
    pub ip: Ip,
    pub kind: AccessKind,
    pub width: u32,
}

/// The references that accesses have.
#[derive(Default)]
pub struct References {
    numbers: HashMap<Key, u32>,
    /// By number.
    all: Vec<Key>,
}

impl Form for References {
    type Access = Input;

    fn site(&mut self, thread: ThreadId, first: &Streamed) -> Input {
        let access = first.access;
        let key = Key { thread, ip: access.ip, kind: access.kind, width: access.width };
        let next = self.all.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.all.push(key);
        }
        Input::of(access, Reference(number))
    }

    #[inline]
    fn at(access: Input, addr: Addr) -> Input {
        access.at(addr)
    }
}

impl References {
    /// By number.
    pub fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.all.iter().copied()
    }

    /// By instruction: what it accessed in all threads of its process, and the simulation's counts of that.
    pub fn places(&self, counts: &[Counts], process: impl Fn(ThreadId) -> ProcessId) -> Vec<PlaceCounts> {
        let mut all: BTreeMap<(ProcessId, Ip), PlaceCounts> = BTreeMap::new();
        for (number, key) in self.all.iter().enumerate() {
            let counts = counts.get(number).copied().unwrap_or_default();
            let times = counts.accesses();
            let bytes = times * u64::from(key.width);
            let (process, ip) = (process(key.thread), key.ip);
            let place =
                all.entry((process, ip)).or_insert(PlaceCounts { process, ip, ..PlaceCounts::default() });
            if key.kind.reads() {
                place.loads += times;
                place.loaded_bytes += bytes;
            }
            if key.kind.writes() {
                place.stores += times;
                place.stored_bytes += bytes;
            }
            place.l1_misses += counts.l1.total();
            place.l2_misses += counts.l2.total();
            place.llc_misses += counts.socket.total();
            place.coherence_misses += counts.l1.coherence;
            place.invalidations += counts.caused.total();
        }
        all.into_values().collect()
    }
}
