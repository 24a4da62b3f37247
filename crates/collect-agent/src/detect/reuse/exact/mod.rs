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
use carom_base_reuse::exact::{Config, Exact as Analysis, Pairs, Sampling};
use carom_base_sys::signal::Quiet;
use carom_base_wire::{ReuseMethod, SlotHeader};
use carom_collect_translate::Batch;

use self::{clock::Clock, front::Front};
use super::super::{Detector, Needs};
use crate::session::Session;

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

/// The exact analysis of a process, of which there is one.
pub struct Exact(());

impl Exact {
    /// Where all accesses are to be analysed.
    pub fn make(session: &Session) -> Option<Box<dyn Detector>> {
        let reuse = session.settings.reuse.as_ref()?;
        let ReuseMethod::Exact { granularities, sample_rate, pairs, keep } = reuse.method else {
            return None;
        };
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
        match Analysis::new(&config) {
            Ok(analysis) => pipeline::start(analysis),
            Err(error) => {
                session.trouble(NOT_ANALYSED, &error.to_string());
                return None;
            }
        }
        front::start(reuse.domains, keep);
        if Clock::of_process().is_none() {
            session.trouble(
                ORDER_UNKNOWN,
                "the time-stamp counter differs between processors, or does not run evenly",
            );
        }
        Some(Box::new(Self(())))
    }
}

impl Detector for Exact {
    fn needs(&self) -> Needs {
        Needs { stream: true, ..Needs::default() }
    }

    fn has_met_data(&self, _rings_are_empty: bool) -> bool {
        true
    }

    fn thread_is_translated(&self, slot: &SlotHeader) {
        begin_thread(slot);
    }

    fn streamed(&self, slot: &SlotHeader, batch: &Batch<'_>) {
        taking::take(slot, batch);
    }

    fn thread_was_translated(&self, slot: &SlotHeader) {
        if front::in_order(|front| front.end(thread(slot), clock::now())).is_some() {
            pipeline::work();
        }
    }

    fn write(&self) {
        if front::in_order(Front::finish).is_some() {
            pipeline::finish();
        }
    }

    fn forked(&self) {
        front::forget();
        pipeline::forget();
    }
}

/// The thread that writes into the slot of `header` accesses from now on.
fn begin_thread(header: &SlotHeader) {
    front::with(|front| front.begin(thread(header), clock::now()));
}

/// The thread that writes into the slot of `header`.
fn thread(header: &SlotHeader) -> ThreadId {
    ThreadId(header.serial.load(Relaxed))
}
