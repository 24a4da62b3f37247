//! Exact reuse: the translated code streams all accesses, one analysis of the process takes them in, and what it has
//! counted goes into a file for the host.
//!
//! Threads hand their accesses over in batches, which are put in the order of time first.
//!
//! The analysis is under a lock. It is taken in the engine's dispatcher or in hooks, with all signals blocked, never in a
//! signal handler; under it nothing asks the engine for anything. A fork takes it first, so that the child finds it
//! whole.

use std::{
    hint, mem,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use carom_base::{Access, Cpu, Nanos, ReuseCell, ThreadId};
use carom_base_reuse::exact::{self, Config, Domain, Exact, Interleaver, Limits, Pairs, Sampling};
use carom_base_sys::clock;
use carom_base_wire::{Counter, Domains, MAX_RECORD_WORDS, Record, ReuseMethod, SlotHeader, encode};
use carom_collect_translate::Batch;

use crate::{
    lock::{Guard, SpinLock},
    objects, registry, session,
    session::Session,
};

/// How often counts are written down for the case that the process is killed.
const WRITE_EVERY_NS: u64 = 1_000_000_000;

/// Bytes that are written at a time.
const WRITE_BYTES: usize = 64 << 10;

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

/// What the analysis of a batch or two takes: for so long the turn is waited for without giving the processor away.
const SPIN_NS: u64 = 1_000_000;

/// How many wait for the analysis, and who had it last. For fairness only; it is the lock that protects.
static WAITING: AtomicU32 = AtomicU32::new(0);
static LAST: AtomicU32 = AtomicU32::new(u32::MAX);

/// The analysis of the process.
struct Analysis {
    interleaver: Interleaver,
    counted: Counted,
    domains: Domains,
    /// A batch, as the analysis takes it.
    batch: Vec<Access>,
    written: Nanos,
}

/// What is analysed, in order.
struct Counted(Exact);

impl exact::Sink for Counted {
    fn accesses(&mut self, thread: ThreadId, domain: Domain, accesses: &[Access]) {
        self.0.accesses(thread, domain, accesses);
    }

    fn ended(&mut self, thread: ThreadId) {
        put_down(&self.0.end(thread));
    }
}

static ANALYSIS: SpinLock<Option<Analysis>> = SpinLock::new(None);

/// Makes the analysis that `session` asks for. False where it asks for none, or for none that there is.
pub fn start(session: &Session) -> bool {
    let Some(asked) = &session.settings.reuse else { return false };
    let ReuseMethod::Exact { granularities, sample_rate, pairs } = asked.method else { return false };
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
        private: true,
        shared: true,
        sampling: if sample_rate < 1.0 { Sampling::Rate(sample_rate) } else { Sampling::All },
    };
    let Ok(exact) = Exact::new(&config) else { return false };
    let now = clock::now();
    *ANALYSIS.lock() = Some(Analysis {
        interleaver: Interleaver::new(now, Limits::default()),
        counted: Counted(exact),
        domains: asked.domains,
        batch: Vec::new(),
        written: now,
    });
    true
}

/// The thread that writes into the slot of `header` accesses from now on.
pub fn begin_thread(header: &SlotHeader) {
    if let Some(analysis) = ANALYSIS.lock().as_mut() {
        analysis.interleaver.begin(thread(header), clock::now());
    }
}

/// Takes in what the thread that writes into the slot of `header` has accessed.
pub fn take(header: &SlotHeader, batch: &Batch<'_>) {
    let thread = thread(header);
    // Before the lock: while it waits for that, the thread accesses nothing.
    let at = clock::now();
    if let Some(analysis) = wait_for_turn(thread).as_mut() {
        let domain = analysis.domains.domain(thread, Cpu(clock::current_cpu()));
        header.domain.store(u64::from(domain) + 1, Relaxed);
        analysis.batch.clear();
        batch.for_each(|access| analysis.batch.push(*access));
        report_blocks(&analysis.batch, at);
        let Analysis { interleaver, counted, batch: accesses, .. } = analysis;
        let (domain, waits) = (Domain(u32::from(domain)), batch.words().len() < FULL_WORDS);
        interleaver.take(exact::Batch { thread, domain, at, waits, accesses }, counted);
        if at.0.saturating_sub(analysis.written.0) >= WRITE_EVERY_NS {
            analysis.written = at;
            analysis.write_all();
        }
    }
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

/// Waits for the analysis. Who had it last lets the others go first, for a moment: it is held most of the time, and on a
/// busy machine who has just given it back would take it again and again, while the others do not run.
fn wait_for_turn(thread: ThreadId) -> Guard<'static, Option<Analysis>> {
    let begin = clock::now().0;
    WAITING.fetch_add(1, Relaxed);
    let guard = loop {
        let first = LAST.load(Relaxed) != thread.0 || WAITING.load(Relaxed) <= 1;
        if let Some(guard) = first.then(|| ANALYSIS.try_lock()).flatten() {
            break guard;
        }
        if clock::now().0.saturating_sub(begin) >= SPIN_NS {
            break ANALYSIS.lock();
        }
        hint::spin_loop();
    };
    WAITING.fetch_sub(1, Relaxed);
    LAST.store(thread.0, Relaxed);
    guard
}

/// Writes down everything so far. For when this may be the last that is heard of the process.
pub fn write() {
    if let Some(analysis) = ANALYSIS.lock().as_mut() {
        analysis.interleaver.flush(&mut analysis.counted);
        analysis.write_all();
    }
}

/// The thread that writes into the slot of `header` has ended.
pub fn end_thread(header: &SlotHeader) {
    if let Some(analysis) = ANALYSIS.lock().as_mut() {
        analysis.interleaver.end(thread(header), &mut analysis.counted);
    }
}

/// The thread that writes into the slot of `header`.
fn thread(header: &SlotHeader) -> ThreadId {
    ThreadId(header.serial.load(Relaxed))
}

/// Takes the lock for the length of a fork.
pub fn before_fork() {
    mem::forget(ANALYSIS.lock());
}

/// Gives it back, on both sides.
pub fn after_fork() {
    ANALYSIS.force_open();
}

/// In a forked child: who waited in the parent is not here.
pub fn forget_waiting() {
    WAITING.store(0, Relaxed);
}

/// In a forked child, whose caches are its own: nothing was accessed yet. What the parent's analysis holds was the
/// parent's; where the fork was not the cache's it may be in the middle of a change.
pub fn begin_in_child(session: Option<&Session>) {
    forget_waiting();
    mem::forget(ANALYSIS.lock().take());
    if let Some(session) = session {
        start(session);
    }
}

impl Analysis {
    fn write_all(&mut self) {
        let exact = &mut self.counted.0;
        let threads: Vec<ThreadId> = exact.threads().collect();
        for thread in threads {
            put_down(&exact.drain(thread));
        }
    }
}

/// Hands counts to the host, or counts them as lost.
fn put_down(cells: &[ReuseCell]) {
    // The child of a fork has its parent's session until it has one of its own.
    let Some(session) = session::current().filter(|session| session.is_of_this_process()) else { return };
    let mut bytes = Vec::with_capacity(WRITE_BYTES);
    let mut pending = 0;
    let mut lost = 0;
    let mut words = [0; MAX_RECORD_WORDS];
    for cell in cells {
        let length = encode(&Record::Cell(*cell), &mut words);
        bytes.extend(words.iter().take(length).flat_map(|word| word.to_le_bytes()));
        pending += 1;
        if bytes.len() + MAX_RECORD_WORDS * size_of::<u64>() > WRITE_BYTES {
            lost += if session.append_cells(&bytes) { 0 } else { pending };
            bytes.clear();
            pending = 0;
        }
    }
    if !bytes.is_empty() && !session.append_cells(&bytes) {
        lost += pending;
    }
    if lost > 0
        && let Some(thread) = registry::current()
    {
        thread.visit(|state| state.slot.count(Counter::CellsLost, lost));
    }
}
