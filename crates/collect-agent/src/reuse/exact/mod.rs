//! Exact reuse: the translated code streams all accesses, one analysis of the process takes them in, and what it has
//! counted goes into a file for the host.
//!
//! Threads hand their accesses over in batches, which are put in the order of time first, and then go through a
//! [`pipeline`] of two stages: private caches and shared ones.
//!
//! All that is under locks. They are taken in the engine's dispatcher or in hooks, with all signals blocked, never in a
//! signal handler; under them nothing asks the engine for anything. A fork takes them first, so that the child finds
//! everything whole.

mod cells;
mod pipeline;
mod wide;

use std::{mem, ptr, sync::atomic::Ordering::Relaxed};

use carom_base::{Access, Cpu, Nanos, ThreadId};
use carom_base_reuse::exact::{self, Config, Domain, Exact, Interleaver, Limits, Pairs, Router, Sampling};
use carom_base_sys::clock;
use carom_base_wire::{Domains, ReuseMethod, SlotHeader};
use carom_collect_translate::Batch;

use super::kept::Kept;
use crate::{init, lock::SpinLock, objects, registry, session::Session, thread::Thread};

/// How often counts are written down for the case that the process is killed.
const WRITE_EVERY_NS: u64 = 1_000_000_000;

/// Pairs of instructions that are told apart, for each thread and scope.
const MOST_PAIRS: usize = 1 << 14;

/// Pairs that are nearer are added up, as most are: the smallest cache is eight times as large.
const NEAREST_PAIR_BYTES: u64 = 4 << 10;

/// The granularity at which pairs are counted, where it is one of those asked for.
const PAIR_BYTES: u32 = carom_base::LINE_BYTES as u32;

/// Of so many accesses one has its heap block looked up while that is live: what matters is accessed more often. A
/// prime, so that loops do not keep step.
const LOOKED_UP_EVERY: usize = 251;

/// A batch of fewer words than this, half of what there is room for, was not handed over for want of room: its thread may
/// be about to wait in the kernel.
const FULL_WORDS: usize = (64 << 10) / size_of::<u64>() / 2;

/// The code of the trouble that accesses cannot be analysed as asked for.
const NOT_ANALYSED: &str = "not-analysed";

/// So many accesses are handed over at once at most: a single repeated instruction may make a billion.
const MOST_AT_ONCE: usize = 64 << 10;

/// What puts accesses in order.
struct Front {
    interleaver: Interleaver,
    ordered: Ordered,
    domains: Domains,
    written: Nanos,
}

/// What becomes of accesses that are in order.
struct Ordered {
    router: Router,
    kept: Option<Kept>,
}

impl exact::Sink for Ordered {
    fn accesses(&mut self, thread: ThreadId, domain: Domain, accesses: &[Access]) {
        if let Some(kept) = &mut self.kept {
            kept.keep(thread, domain, accesses);
        }
        self.router.accesses(thread, domain, accesses);
    }

    fn batch(&mut self, thread: ThreadId, domain: Domain, accesses: &mut Vec<Access>) {
        if let Some(kept) = &mut self.kept {
            kept.keep(thread, domain, accesses);
        }
        self.router.batch(thread, domain, accesses);
    }

    fn ended(&mut self, thread: ThreadId) {
        self.router.ended(thread);
    }
}

static FRONT: SpinLock<Option<Front>> = SpinLock::new(None);

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
    let exact = match Exact::new(&config) {
        Ok(exact) => exact,
        Err(error) => {
            init::trouble(session, NOT_ANALYSED, &error.to_string());
            return false;
        }
    };
    pipeline::start(exact);
    let now = clock::now();
    *FRONT.lock() = Some(Front {
        interleaver: Interleaver::new(now, Limits::default()),
        ordered: Ordered { router: Router::default(), kept: keep.then(Kept::default) },
        domains: asked.domains,
        written: now,
    });
    true
}

/// Does something with what puts accesses in order, and hands over what has come of it. `None` where nothing is analysed.
fn in_front<R>(work: impl FnOnce(&mut Front) -> R) -> Option<R> {
    let mut front = FRONT.lock();
    let front = front.as_mut()?;
    pipeline::spare_sequences(|sequence| front.ordered.router.give_back(sequence));
    let result = work(front);
    pipeline::hand_over(front.ordered.router.tasks());
    Some(result)
}

/// The thread that writes into the slot of `header` accesses from now on.
pub fn begin_thread(header: &SlotHeader) {
    in_front(|front| front.interleaver.begin(thread(header), clock::now()));
}

/// Takes in what the thread that writes into the slot of `header` has accessed.
pub fn take(header: &SlotHeader, batch: &Batch<'_>) {
    // Before anything else: while that goes on, the thread accesses nothing.
    let at = clock::now();
    let mut accesses = pipeline::spare_batch();
    // One per word at most, but for iterations.
    accesses.reserve(batch.words().len());
    batch.for_each(|access| {
        if accesses.len() >= MOST_AT_ONCE {
            hand_over(header, at, false, &mut accesses);
            accesses.clear();
        }
        accesses.push(*access);
    });
    hand_over(header, at, batch.words().len() < FULL_WORDS, &mut accesses);
    if accesses.capacity() <= MOST_AT_ONCE {
        pipeline::give_back(accesses);
    }
}

/// Has accesses put in order, and does some of the analysis. They were made until `at`, and the vector may be exchanged.
/// `waits`: see [`exact::Batch`].
fn hand_over(header: &SlotHeader, at: Nanos, waits: bool, accesses: &mut Vec<Access>) {
    let thread = thread(header);
    report_blocks(accesses, at);
    let due = in_front(|front| {
        // Another thread that hands them over may run elsewhere.
        let known = header.domain.load(Relaxed).checked_sub(1).filter(|_| !is_of_caller(header));
        let domain = known.unwrap_or_else(|| front.domains.domain(thread, Cpu(clock::current_cpu())).into());
        header.domain.store(domain + 1, Relaxed);
        let domain = Domain(domain as u32);
        front.interleaver.take(exact::Batch { thread, domain, at, waits, accesses }, &mut front.ordered);
        let due = at.0.saturating_sub(front.written.0) >= WRITE_EVERY_NS;
        if due {
            front.written = at;
            front.ordered.write();
        }
        due
    });
    pipeline::work();
    if due == Some(true) {
        pipeline::write();
    }
}

/// Whether the calling thread writes into the slot of `header`.
fn is_of_caller(header: &SlotHeader) -> bool {
    let is_it = |thread: &Thread| thread.visit(|state| ptr::eq(state.slot.header(), header));
    registry::current().and_then(is_it).unwrap_or(false)
}

/// Tells the host which heap blocks these are in, so that the addresses of pairs have a name.
fn report_blocks(accesses: &[Access], at: Nanos) {
    if let Some(thread) = registry::current() {
        thread.visit(|state| {
            for access in accesses.iter().step_by(LOOKED_UP_EVERY) {
                objects::report_access(state, access, at);
            }
        });
    }
}

/// Writes down everything so far. For when this may be the last that is heard of the process.
pub fn write() {
    let analysed = in_front(|front| {
        front.interleaver.flush(&mut front.ordered);
        front.ordered.write();
    });
    if analysed.is_some() {
        pipeline::finish();
    }
}

/// The thread that writes into the slot of `header` has ended.
pub fn end_thread(header: &SlotHeader) {
    if in_front(|front| front.interleaver.end(thread(header), &mut front.ordered)).is_some() {
        pipeline::work();
    }
}

/// The thread that writes into the slot of `header`.
fn thread(header: &SlotHeader) -> ThreadId {
    ThreadId(header.serial.load(Relaxed))
}

/// Takes all locks for the length of a fork.
pub fn before_fork() {
    pipeline::before_fork();
    mem::forget(FRONT.lock());
    pipeline::before_fork_last();
}

/// Gives them back, on both sides.
pub fn after_fork() {
    pipeline::after_fork();
    FRONT.force_open();
}

/// In a forked child, whose caches are its own: nothing was accessed yet. What the parent's analysis holds was the
/// parent's; where the fork was not the cache's it may be in the middle of a change.
pub fn begin_in_child(session: Option<&Session>) {
    mem::forget(FRONT.lock().take());
    pipeline::forget();
    if let Some(session) = session {
        start(session);
    }
}

impl Ordered {
    /// Writes down what is kept.
    fn write(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.write();
        }
    }
}
