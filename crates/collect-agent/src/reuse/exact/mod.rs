//! Exact reuse: the translated code streams all accesses, one analysis of the process takes them in, and what it has
//! counted goes into a file for the host.
//!
//! Threads hand their accesses over in batches with stamps of the time, and are put in its order first. Whoever hands over
//! also takes what all others have so far: then all is known up to that moment, and nobody has to be waited for. What is
//! in order goes through a [`pipeline`] of two stages: private caches and shared ones.
//!
//! All that is under locks. They are taken in the engine's dispatcher or in hooks, with all signals blocked, never in a
//! signal handler; under them nothing asks the engine for anything. A forked child begins anew.

mod cells;
mod clock;
mod front;
mod pipeline;
mod taking;
mod wide;

use std::sync::atomic::Ordering::Relaxed;

use carom_base::ThreadId;
use carom_base_reuse::exact::{Config, Exact, Pairs, Sampling};
use carom_base_sys::signal::Quiet;
use carom_base_wire::{ReuseMethod, SlotHeader};

pub use self::taking::take;
use self::{clock::Clock, front::Front};
use crate::{init, session::Session};

/// Pairs of instructions that are told apart, for each thread and scope.
const MOST_PAIRS: usize = 1 << 14;

/// Pairs that are nearer are added up, as most are: the smallest cache is eight times as large.
const NEAREST_PAIR_BYTES: u64 = 4 << 10;

/// The granularity at which pairs are counted, where it is one of those asked for.
const PAIR_BYTES: u32 = carom_base::LINE_BYTES as u32;

/// The code of the trouble that accesses cannot be analysed as asked for.
const NOT_ANALYSED: &str = "not-analysed";

/// That of the trouble that which of two threads was first is known to within a batch only.
const ORDER_UNKNOWN: &str = "order-unknown";

/// Makes the analysis that `session` asks for. False where it asks for none, or for none that there is.
pub fn start(session: &Session) -> bool {
    let Some(asked) = &session.settings.reuse else { return false };
    let ReuseMethod::Exact { granularities, sample_rate, pairs, keep } = asked.method else { return false };
    let granularities: Vec<u32> =
        (0..u32::BITS).map(|bit| 1 << bit).filter(|bytes| granularities & bytes != 0).collect();
    let of_pairs =
        granularities.contains(&PAIR_BYTES).then_some(PAIR_BYTES).or(granularities.first().copied());
    let config = Config {
        pairs: of_pairs.filter(|_| pairs).map(|granularity| Pairs {
            granularity,
            capacity: MOST_PAIRS,
            nearest: NEAREST_PAIR_BYTES / u64::from(granularity),
        }),
        granularities,
        // The pipeline makes the analysis of shared caches from that of private ones.
        private: true,
        shared: false,
        sampling: if sample_rate < 1.0 { Sampling::Rate(sample_rate) } else { Sampling::All },
    };
    let _quiet = Quiet::begin();
    let exact = match Exact::new(&config) {
        Ok(exact) => exact,
        Err(error) => {
            init::trouble(session, NOT_ANALYSED, &error.to_string());
            return false;
        }
    };
    pipeline::start(exact);
    front::start(asked.domains, keep);
    if Clock::of_process().is_none() {
        init::trouble(
            session,
            ORDER_UNKNOWN,
            "the time-stamp counter differs between processors, or does not run evenly",
        );
    }
    true
}

/// The thread that writes into the slot of `header` accesses from now on.
pub fn begin_thread(header: &SlotHeader) {
    front::with(|front| front.begin(thread(header), clock::now()));
}

/// Writes down everything so far. For when this may be the last that is heard of the process.
pub fn write() {
    if front::in_order(Front::finish).is_some() {
        pipeline::finish();
    }
}

/// The thread that writes into the slot of `header` has ended.
pub fn end_thread(header: &SlotHeader) {
    if front::in_order(|front| front.end(thread(header), clock::now())).is_some() {
        pipeline::work();
    }
}

/// The thread that writes into the slot of `header`.
fn thread(header: &SlotHeader) -> ThreadId {
    ThreadId(header.serial.load(Relaxed))
}

/// In a forked child, whose caches are its own: what the parent's analysis holds was the parent's, and other threads may
/// have been changing it.
pub fn forget() {
    front::forget();
    pipeline::forget();
}

/// In a forked child: nothing was accessed yet.
pub fn begin_in_child(session: Option<&Session>) {
    forget();
    if let Some(session) = session {
        start(session);
    }
}
