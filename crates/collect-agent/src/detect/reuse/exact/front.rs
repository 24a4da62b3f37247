//! Puts accesses in the order of time, and passes them on.

use std::{
    mem,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use carom_base::{Nanos, ThreadId};
use carom_base_reuse::exact::Router;
use carom_base_stream::{
    Batch, Interleaver, Limits,
    frame::{BatchHead, Encoder},
};
use carom_base_sys::clock;
use carom_base_wire::Domains;

use super::{super::kept::Kept, pipeline, quota, reduced::Sieves};
use crate::{
    lock::{Lock, Rank},
    session,
};

/// The journal's code for accesses out of order.
const OUT_OF_ORDER: &str = "out-of-order";

/// The rate of accesses out of order that is not reported: one in this number.
const TOLERATED_LATE: u64 = 1000;

/// The interleaver of all threads' accesses, and what receives them.
pub struct Front {
    interleaver: Interleaver,
    /// Receives accesses in order.
    router: Router,
    kept: Option<Kept>,
    /// Accesses go through the interleaver to the analysis.
    analyse: bool,
    pub domains: Domains,
    /// Of a reduced trace.
    pub sieves: Sieves,
    /// When counts were written down last.
    pub written: Nanos,
    /// Accesses that were handed over.
    taken: u64,
    /// The loss of order was reported.
    told: bool,
}

static FRONT: Lock<Option<Front>> = Lock::new(Rank::Order, None);

/// Begins with nothing.
pub fn start(domains: Domains, keep: bool, analyse: bool) {
    let now = clock::now();
    KEEPS.store(keep, Relaxed);
    ANALYSES.store(analyse, Relaxed);
    *FRONT.lock() = Some(Front {
        interleaver: Interleaver::new(now, Limits::default()),
        router: Router::default(),
        kept: keep.then(Kept::default),
        analyse,
        domains,
        sieves: Sieves::default(),
        written: now,
        taken: 0,
        told: false,
    });
}

/// Whether accesses are kept, and whether they are analysed.
///
/// ATOMICS: written once, before there are accesses.
static KEEPS: AtomicBool = AtomicBool::new(false);
static ANALYSES: AtomicBool = AtomicBool::new(false);

/// What becomes of accesses that are handed over.
#[derive(Clone, Copy, Debug)]
pub struct Purpose {
    /// They are kept: they must be encoded.
    pub keep: bool,
    /// They are analysed: they must be there in full.
    pub analyse: bool,
}

/// What accesses are handed over for.
pub fn purpose() -> Purpose {
    Purpose { keep: KEEPS.load(Relaxed), analyse: ANALYSES.load(Relaxed) }
}

/// Works with the interleaver. `None` where nothing is analysed.
pub fn with<R>(work: impl FnOnce(&mut Front) -> R) -> Option<R> {
    FRONT.lock().as_mut().map(work)
}

/// The same, and hands the result over to the pipeline.
pub fn in_order<R>(work: impl FnOnce(&mut Front) -> R) -> Option<R> {
    with(|front| {
        pipeline::spare_sequences(|sequence| front.router.give_back(sequence));
        let result = work(front);
        pipeline::hand_over(front.router.inputs());
        result
    })
}

/// In a forked child: drops the parent's state, which may be in the middle of a change.
pub fn forget() {
    FRONT.open();
    if let Some(mut front) = FRONT.try_lock() {
        mem::forget(front.take());
    }
}

impl Front {
    /// A thread accesses something from now on.
    pub fn begin(&mut self, thread: ThreadId, at: Nanos) {
        if let Some(kept) = &mut self.kept {
            kept.begin(thread, at);
        }
        if self.analyse {
            self.interleaver.begin(thread, at);
        }
    }

    /// A thread hands over `count` accesses, in the forms that their [purpose] needs.
    pub fn take(&mut self, count: usize, batch: Batch<'_>, encoded: Option<&mut Encoder>) {
        self.taken += count as u64;
        if let (Some(kept), Some(encoded)) = (&mut self.kept, encoded)
            && quota::take(count)
        {
            let Batch { thread, domain, at, pauses, stamps, marks, .. } = batch;
            kept.batch(&BatchHead { thread, domain, at, pauses, stamps, marks }, encoded);
        }
        if self.analyse {
            self.interleaver.take(batch, &mut self.router);
        }
    }

    /// A thread makes no more accesses.
    pub fn end(&mut self, thread: ThreadId, at: Nanos) {
        if let Some(kept) = &mut self.kept {
            kept.end(thread, at);
        }
        if self.analyse {
            self.interleaver.end(thread, &mut self.router);
        }
    }

    /// Passes on everything that was handed over, and writes the accesses that are kept.
    pub fn finish(&mut self) {
        self.interleaver.flush(&mut self.router);
        self.write();
        self.tell_trouble();
    }

    /// Writes the accesses that are kept.
    pub fn write(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.write();
        }
    }

    /// Reports, once, that the order was lost.
    fn tell_trouble(&mut self) {
        let late = self.interleaver.late();
        if late > self.taken / TOLERATED_LATE
            && !self.told
            && let Some(session) = session::current().filter(|session| session.is_of_this_process())
        {
            self.told = true;
            session.trouble(OUT_OF_ORDER, &format!("{late} of {} accesses", self.taken));
        }
    }
}
