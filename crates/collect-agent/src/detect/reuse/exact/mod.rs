//! Exact reuse: translated code streams all accesses, one analysis per process takes them in, and its counts go into a
//! file for the host. Where accesses are only to be kept, there is no analysis.
//!
//! Threads hand their accesses over in batches with time stamps. A thread that hands over also takes the unfinished
//! batches of all others: then everything is known up to that moment, and no thread has to be waited for. The batches
//! are merged in the order of time, and go through a [`pipeline`] of stages: the top of all stacks, private caches, and
//! shared ones.
//!
//! All of this is under locks. They are taken in the engine's dispatcher or in hooks, with all signals blocked, and
//! never in a signal handler. Code that holds them does not call the engine. A forked child starts over.

mod cells;
mod clock;
mod front;
mod pipeline;
mod quota;
mod reduced;
mod taken;
mod taking;
mod wide;

use std::sync::atomic::Ordering::Relaxed;

use carom_base::{Reduction, ThreadId};
use carom_base_reuse::exact::{Config, Exact as Analysis, Pairs, Sampling, Tops};
use carom_base_sys::signal::Quiet;
use carom_base_wire::{Domains, ReuseMethod, SlotHeader};
use carom_collect_translate::Batch;

use self::{clock::Clock, front::Front};
use super::super::{Detector, Needs};
use crate::session::Session;

/// The most pairs of instructions that are counted separately, for each thread and scope.
const MOST_PAIRS: usize = 1 << 14;

/// Closer pairs, which are the most, are added up: the smallest cache is eight times as large.
const NEAREST_PAIR_BYTES: u64 = 4 << 10;

/// The granularity at which pairs are counted, where it is one of those asked for.
const PAIR_BYTES: u32 = carom_base::LINE_BYTES as u32;

/// The journal's code for a request that cannot be analysed.
const NOT_ANALYSED: &str = "not-analysed";

/// The journal's code for an order of threads that is known only to within a batch.
const ORDER_UNKNOWN: &str = "order-unknown";

/// The exact analysis of a process, of which there is one.
pub struct Exact {
    /// Only some accesses are kept.
    reduction: Option<Reduction>,
}

impl Exact {
    /// Makes the detector where all accesses are to be analysed.
    pub fn make(session: &Session) -> Option<Box<dyn Detector>> {
        let reuse = session.settings.reuse.as_ref()?;
        let (granularities, sample_rate, pairs, keep) = match reuse.method {
            ReuseMethod::Exact { granularities, sample_rate, pairs, keep } => {
                (granularities, sample_rate, pairs, keep)
            }
            ReuseMethod::Kept => return Some(Self::keeping(session, reuse.domains, None)),
            ReuseMethod::Reduced(reduction) => {
                return Some(Self::keeping(session, reuse.domains, Some(reduction)));
            }
            ReuseMethod::Sampled { .. } => return None,
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
        match Tops::new(&config).and_then(|tops| Ok((tops, Analysis::new(&config)?))) {
            Ok((tops, analysis)) => pipeline::start(tops, analysis),
            Err(error) => {
                session.trouble(NOT_ANALYSED, &error.to_string());
                return None;
            }
        }
        front::start(reuse.domains, keep, true);
        Some(Self::begun(session, None))
    }

    /// Keeps accesses, all or those that remain of a `reduction`, and does not analyse them.
    fn keeping(session: &Session, domains: Domains, reduction: Option<Reduction>) -> Box<dyn Detector> {
        let _quiet = Quiet::begin();
        front::start(domains, true, false);
        Self::begun(session, reduction)
    }

    fn begun(session: &Session, reduction: Option<Reduction>) -> Box<dyn Detector> {
        if Clock::of_process().is_none() {
            session.trouble(
                ORDER_UNKNOWN,
                "the time-stamp counter differs between processors, or does not run evenly",
            );
        }
        Box::new(Self { reduction })
    }
}

impl Detector for Exact {
    fn needs(&self) -> Needs {
        Needs { stream: true, times: self.reduction.is_some(), ..Needs::default() }
    }

    fn modules_changed(&self) {
        if let Some(reduction) = self.reduction {
            reduced::aim(reduction);
        }
    }

    fn has_met_data(&self, _rings_are_empty: bool) -> bool {
        true
    }

    fn thread_is_translated(&self, slot: &SlotHeader) {
        begin_thread(slot);
    }

    fn streamed(&self, slot: &SlotHeader, batch: &Batch<'_>) {
        taking::take(slot, batch, self.reduction);
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
