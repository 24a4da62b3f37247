//! What puts accesses in order, and what becomes of them then.

use std::mem;

use carom_base::{Nanos, ThreadId};
use carom_base_reuse::exact::Router;
use carom_base_stream::{Batch, Interleaver, Limits, frame::BatchHead};
use carom_base_sys::clock;
use carom_base_wire::Domains;

use super::{super::kept::Kept, pipeline};
use crate::{
    lock::{Lock, Rank},
    session,
};

/// The code of the trouble that accesses are not in order.
const OUT_OF_ORDER: &str = "out-of-order";

/// One access in so many may be out of order without a word.
const TOLERATED_LATE: u64 = 1000;

/// What puts accesses in order.
pub struct Front {
    interleaver: Interleaver,
    /// What becomes of accesses that are in order.
    router: Router,
    kept: Option<Kept>,
    pub domains: Domains,
    /// When counts were written down last.
    pub written: Nanos,
    /// Accesses that were handed over.
    taken: u64,
    /// The trouble with the order was told.
    told: bool,
}

static FRONT: Lock<Option<Front>> = Lock::new(Rank::Order, None);

/// Begins with nothing.
pub fn start(domains: Domains, keep: bool) {
    let now = clock::now();
    *FRONT.lock() = Some(Front {
        interleaver: Interleaver::new(now, Limits::default()),
        router: Router::default(),
        kept: keep.then(Kept::default),
        domains,
        written: now,
        taken: 0,
        told: false,
    });
}

/// Does something with what puts accesses in order. `None` where nothing is analysed.
pub fn with<R>(work: impl FnOnce(&mut Front) -> R) -> Option<R> {
    FRONT.lock().as_mut().map(work)
}

/// The same, and hands over what has come of it.
pub fn in_order<R>(work: impl FnOnce(&mut Front) -> R) -> Option<R> {
    with(|front| {
        pipeline::spare_sequences(|sequence| front.router.give_back(sequence));
        let result = work(front);
        pipeline::hand_over(front.router.tasks());
        result
    })
}

/// In a forked child: what is there was the parent's, and may be in the middle of a change.
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
        self.interleaver.begin(thread, at);
    }

    /// A thread hands accesses over.
    pub fn take(&mut self, batch: Batch<'_>) {
        self.taken += batch.accesses.len() as u64;
        if let Some(kept) = &mut self.kept {
            let Batch { thread, domain, at, pauses, stamps, .. } = batch;
            kept.batch(&BatchHead { thread, domain, at, pauses, stamps }, batch.accesses);
        }
        self.interleaver.take(batch, &mut self.router);
    }

    /// A thread makes no more accesses.
    pub fn end(&mut self, thread: ThreadId, at: Nanos) {
        if let Some(kept) = &mut self.kept {
            kept.end(thread, at);
        }
        self.interleaver.end(thread, &mut self.router);
    }

    /// Gives on all that was handed over, and writes down what is kept.
    pub fn finish(&mut self) {
        self.interleaver.flush(&mut self.router);
        self.write();
        self.tell_trouble();
    }

    /// Writes down what is kept.
    pub fn write(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.write();
        }
    }

    /// Says so, once, where the order was lost.
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
