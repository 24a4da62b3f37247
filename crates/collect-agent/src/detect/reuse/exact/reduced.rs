//! Reduced traces: which accesses of a thread are kept, and which loads are timed.

use std::{
    collections::HashMap,
    fs,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use carom_base::{Access, Keep, Reduction, ThreadId};
use carom_base_stream::Sieve;
use carom_base_wire::TARGETS_FILE;
use carom_collect_translate::{IpSet, Timed, calibrate, set_filter};

use crate::{
    modules,
    session::{self, Session},
};

/// What timing itself takes, in ticks.
///
/// ATOMICS: relaxed: a number, set before the first thread is translated.
static COST: AtomicU32 = AtomicU32::new(0);

/// The sieve of each thread that no caller has taken.
#[derive(Debug, Default)]
pub struct Sieves(HashMap<ThreadId, Sieve>);

impl Sieves {
    /// The sieve of a thread, which its caller gives back.
    pub fn take(&mut self, thread: ThreadId, reduction: Reduction) -> Sieve {
        self.0.remove(&thread).unwrap_or_else(|| Sieve::new(reduction, thread.0.into()))
    }

    /// Takes a thread's sieve back.
    pub fn give_back(&mut self, thread: ThreadId, sieve: Sieve) {
        self.0.insert(thread, sieve);
    }
}

/// Whether a timed load is kept.
pub fn keeps_load(sieve: &mut Sieve, load: &Timed) -> bool {
    sieve.load(load.access.kind, load.ticks.saturating_sub(COST.load(Relaxed)))
}

/// Whether an access that was not timed is kept: a store, or one of those that cannot be timed.
pub fn keeps(sieve: &mut Sieve, access: &Access) -> bool {
    access.kind.writes() && sieve.store()
}

/// Has the engine time only what a targeted trace looks at, in the modules that there are now.
pub fn aim(reduction: Reduction) {
    if COST.load(Relaxed) == 0
        && let Some(calibration) = calibrate()
    {
        COST.store(calibration.nothing.median, Relaxed);
    }
    if matches!(reduction.keep, Keep::Targeted { .. }) {
        set_filter(Some(targets()));
    }
}

/// The addresses of the instructions that the session lists.
fn targets() -> IpSet {
    /// Read once, before the program runs.
    static LISTED: OnceLock<String> = OnceLock::new();
    let read = |session: &Session| fs::read_to_string(session.dir().join(TARGETS_FILE)).ok();
    let text = LISTED.get_or_init(|| session::current().and_then(read).unwrap_or_default());
    let mut found: HashMap<&str, Vec<u64>> = HashMap::new();
    for (address, path) in text.lines().filter_map(|line| line.split_once(' ')) {
        if let Ok(address) = u64::from_str_radix(address, 16) {
            found.entry(path).or_default().push(address);
        }
    }
    let mut all = Vec::new();
    modules::each(|path, bias| {
        all.extend(found.get(path).into_iter().flatten().map(|address| address.wrapping_add(bias)));
    });
    all.into_iter().collect()
}
