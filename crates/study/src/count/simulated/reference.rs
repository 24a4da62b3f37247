//! What the simulation's counts belong to: instructions in threads, by their kind of access.

use std::collections::BTreeMap;

use carom_base::{Access, AccessKind, Ip, ProcessId, ThreadId};
use carom_base_sim::Counts;
use carom_store::PlaceCounts;

use crate::simulate::Numbers;

/// An instruction in a thread, with a kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub thread: ThreadId,
    pub ip: Ip,
    pub kind: AccessKind,
}

/// The references that accesses had, with what they accessed.
pub struct References {
    numbers: Numbers<Key>,
    /// By number.
    all: Vec<Accessed>,
}

struct Accessed {
    key: Key,
    times: u64,
    bytes: u64,
}

impl References {
    pub fn new() -> Self {
        Self { numbers: Numbers::new(), all: Vec::new() }
    }

    /// The number of the access's reference.
    #[inline]
    pub fn of(&mut self, thread: ThreadId, access: &Access) -> u32 {
        let key = Key { thread, ip: access.ip, kind: access.kind };
        let mark = access.ip.0 << 2 ^ access.kind as u64 ^ u64::from(thread.0) << 48;
        let (number, is_new) = self.numbers.of(key, mark);
        if is_new {
            self.all.push(Accessed { key, times: 0, bytes: 0 });
        }
        if let Some(accessed) = self.all.get_mut(number as usize) {
            accessed.times += 1;
            accessed.bytes += u64::from(access.width);
        }
        number
    }

    /// By number.
    pub fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.all.iter().map(|accessed| accessed.key)
    }

    /// By instruction: what it accessed in all threads of its process, and the simulation's counts of that.
    pub fn places(&self, counts: &[Counts], process: impl Fn(ThreadId) -> ProcessId) -> Vec<PlaceCounts> {
        let mut all: BTreeMap<(ProcessId, Ip), PlaceCounts> = BTreeMap::new();
        for (number, Accessed { key, times, bytes }) in self.all.iter().enumerate() {
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
            let counts = counts.get(number).copied().unwrap_or_default();
            place.l1_misses += counts.l1.total();
            place.l2_misses += counts.l2.total();
            place.llc_misses += counts.socket.total();
            place.coherence_misses += counts.l1.coherence;
            place.invalidations += counts.caused.total();
        }
        all.into_values().collect()
    }
}
