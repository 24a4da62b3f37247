//! What the agent keeps per thread, and how a thread comes and goes.

use std::{
    cell::UnsafeCell,
    ops::Range,
    sync::atomic::{AtomicBool, Ordering::*},
};

use carom_base::ThreadId;
use carom_base_detect::ThreadDetector;
use carom_base_insn::Decoder;
use carom_base_sys::{SysError, clock, signal, signal::Quiet};
use carom_base_wire::{Counter, SlotState};
use carom_collect_translate::OwnSignals;

use crate::{
    account,
    budget::Budget,
    handler::Burst,
    handler_stack::HandlerStack,
    lock::{Lock, Rank},
    objects::ThreadHeap,
    registry,
    reuse::Place,
    ring::Slot,
    sampler::Sampler,
    session::Session,
    stack::Stacks,
    translated,
};

/// One profiled thread. Never freed: when the thread ends, the next one takes it over.
pub struct Thread {
    state: UnsafeCell<Option<State>>,
    in_handler: AtomicBool,
    /// Set while code outside handlers uses `state`; a handler that finds it set does nothing.
    busy: AtomicBool,
    handler_stack: HandlerStack,
    signals: OwnSignals,
}

// SAFETY: `state` is used only by the thread it describes, through `enter` and `visit`.
unsafe impl Sync for Thread {}
// SAFETY: as above; the handler stack is plain memory.
unsafe impl Send for Thread {}

/// The part of a thread that only the thread itself touches.
pub struct State {
    /// The session that the thread records into.
    pub session: &'static Session,
    /// Where its records go.
    pub slot: Slot,
    /// Its timer and watchpoints.
    pub sampler: Sampler,
    /// Its number in the process.
    pub id: ThreadId,
    /// Where it is among those that are watched for reuse.
    pub place: Option<Place>,
    /// Detectors by `Population`.
    pub detectors: [ThreadDetector; 2],
    /// Instructions to accesses.
    pub decoder: Decoder,
    /// Call paths.
    pub stacks: Stacks,
    /// Where the thread allocates, where that is asked for.
    pub heap: Option<Box<ThreadHeap>>,
    /// The agent's share of the thread's time.
    pub budget: Budget,
    /// Its slot is its own: the end was not written down yet.
    pub open: bool,
    /// The step sample in progress.
    pub burst: Option<Burst>,
    /// xorshift64 state, for jitter and step counts.
    pub random: u64,
    /// The CPU time that the timer was last set to, in nanoseconds.
    pub programmed_ns: u64,
    /// Timer samples so far.
    pub samples: u64,
    /// When the handler of the last one was done, in nanoseconds.
    pub left: u64,
    /// The thread's stack when it began; empty where unknown.
    pub stack: Range<u64>,
    /// [`crate::modules::unloads`] when the decoder's caches were good.
    pub unloads: usize,
}

/// Threads to take over.
static IDLE: Lock<Vec<&'static Thread>> = Lock::new(Rank::Threads, Vec::new());

impl State {
    /// The next random number (xorshift64, Marsaglia 2003).
    pub fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

impl Thread {
    /// True while a handler of ours runs on this thread.
    pub fn in_handler(&self) -> bool {
        self.in_handler.load(Relaxed)
    }

    /// Where its handlers run.
    pub fn handler_stack(&self) -> HandlerStack {
        self.handler_stack
    }

    /// What the program believes of its signals.
    pub fn signals(&self) -> &OwnSignals {
        &self.signals
    }

    /// The kernel has the alternate stack again that the program believes it has.
    pub fn give_back_stack(&self) {
        self.handler_stack.take_back(&self.signals);
    }

    /// The caches of an idle thread, which is in nobody's hands but the caller's.
    fn take_tools(&self) -> Option<(Decoder, Stacks)> {
        // SAFETY: as stated.
        let state = unsafe { &mut *self.state.get() };
        let State { decoder, mut stacks, .. } = state.take()?;
        stacks.forget();
        Some((decoder, stacks))
    }

    /// For handlers: the thread's state, unless it is in use.
    pub fn enter<R>(&self, handle: impl FnOnce(&mut State) -> R) -> Option<R> {
        if self.busy.load(Relaxed) || self.in_handler.swap(true, Relaxed) {
            return None;
        }
        // SAFETY: called by the thread itself with all signals blocked, and neither a hook (`busy`) nor an
        // outer handler (`in_handler`) has a reference.
        let state = unsafe { &mut *self.state.get() };
        let result = state.as_mut().map(handle);
        self.in_handler.store(false, Relaxed);
        result
    }

    /// For hooks on the thread itself: its state; handlers stay out meanwhile.
    pub fn visit<R>(&self, work: impl FnOnce(&mut State) -> R) -> Option<R> {
        if self.in_handler() || self.busy.swap(true, Relaxed) {
            return None;
        }
        // SAFETY: called by the thread itself outside handlers; `busy` keeps handlers out, and an outer hook
        // would have been found by the swap.
        let state = unsafe { &mut *self.state.get() };
        let result = state.as_mut().map(work);
        self.busy.store(false, Relaxed);
        result
    }
}

/// A thread's state to be: used before, or only its handler stack so far.
#[derive(Clone, Copy)]
pub enum Vacancy {
    /// An ended thread's.
    Used(&'static Thread),
    /// A fresh handler stack.
    New(HandlerStack),
}

impl Vacancy {
    /// Takes over what an ended thread left, or makes a new handler stack.
    ///
    /// # Errors
    /// ENOMEM.
    pub fn find() -> Result<Self, SysError> {
        let idle = {
            let _quiet = Quiet::begin();
            IDLE.lock().pop()
        };
        match idle {
            Some(thread) => Ok(Self::Used(thread)),
            None => HandlerStack::allocate().map(Self::New),
        }
    }

    /// Its handler stack.
    pub fn handler_stack(self) -> HandlerStack {
        match self {
            Self::Used(thread) => thread.handler_stack,
            Self::New(stack) => stack,
        }
    }
}

/// Begins sampling the calling thread. Where that fails the thread runs unprofiled, and is counted.
///
/// Needs about 64 KiB of stack for a moment: called on the handler stack, because a program's thread may have
/// only 16 KiB.
///
/// `stack` is the thread's own: first byte and one past the last, zeroes where unknown.
pub fn begin(session: &'static Session, serial: u32, main: bool, stack: (u64, u64), vacancy: Vacancy) {
    if let Err(error) = begin_or_fail(session, serial, main, stack, vacancy) {
        session.unprofiled_thread(error.errno);
    }
}

fn begin_or_fail(
    session: &'static Session,
    serial: u32,
    main: bool,
    (low, high): (u64, u64),
    vacancy: Vacancy,
) -> Result<(), SysError> {
    let slot = session.take_slot()?;
    let header = slot.header();
    header.reset();
    header.serial.store(serial, Relaxed);
    header.tid.store(signal::thread_id() as u32, Relaxed);
    header.main.store(u32::from(main), Relaxed);
    header.started.store(clock::now().0, Relaxed);
    header.stack_low.store(low, Relaxed);
    header.stack_high.store(high, Relaxed);
    note_progress(&slot);
    // ATOMICS: the host reads the state first; what it finds behind `Live` is this thread's.
    header.state.store(SlotState::Live as u32, Release);
    let started = start_sampling(session, slot, ThreadId(serial), low..high, vacancy);
    if started.is_err() {
        header.state.store(SlotState::Ended as u32, Release);
    }
    started
}

fn start_sampling(
    session: &'static Session,
    slot: Slot,
    id: ThreadId,
    stack: Range<u64>,
    vacancy: Vacancy,
) -> Result<(), SysError> {
    let period = session.settings.period_ns;
    let seed = clock::now().0 ^ u64::from(id.0).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let (decoder, stacks) = match vacancy {
        Vacancy::Used(thread) => thread.take_tools(),
        Vacancy::New(_) => None,
    }
    .unwrap_or_else(|| (Decoder::new(), Stacks::new()));
    let state = State {
        session,
        slot,
        sampler: Sampler::idle(session.mode),
        id,
        place: None,
        detectors: [
            ThreadDetector::new(id, session.detector(false), seed),
            ThreadDetector::new(id, session.detector(true), seed.rotate_left(32)),
        ],
        decoder,
        stacks,
        heap: session.settings.objects.map(|_| Box::new(ThreadHeap::new())),
        budget: if translated::is_on() {
            account::open(session)
        } else {
            Budget::new(session.settings.budget_ppm, period)
        },
        open: true,
        burst: None,
        random: seed,
        programmed_ns: period,
        samples: 0,
        left: 0,
        stack,
        unloads: crate::modules::unloads(),
    };
    let thread: &'static Thread = match vacancy {
        Vacancy::Used(thread) => {
            // SAFETY: an idle thread's state is nobody's; it came out of the list for us alone.
            unsafe { *thread.state.get() = Some(state) };
            thread
        }
        Vacancy::New(handler_stack) => Box::leak(Box::new(Thread {
            state: UnsafeCell::new(Some(state)),
            in_handler: AtomicBool::new(false),
            busy: AtomicBool::new(false),
            handler_stack,
            signals: handler_stack.signals(),
        })),
    };
    thread.handler_stack.lend(&thread.signals);
    if !registry::insert(registry::thread_pointer(), thread) {
        retire(thread);
        return Err(SysError { call: "registry", errno: libc::EAGAIN });
    }
    if !translated::is_on() {
        watch_reuse();
    }
    // Last, so that the first sample finds everything in place.
    let steady = translated::is_on();
    let period = if steady { translated::TIMER_NS } else { period };
    if period == 0 {
        return Ok(());
    }
    let started = thread.visit(|state| state.sampler.start(period, steady)).unwrap_or(Ok(()));
    // Counts do without, but then nobody witnesses them.
    if steady {
        slot.count(Counter::Unwitnessed, u64::from(started.is_err()));
        return Ok(());
    }
    started
}

/// Makes the calling thread one that runs in the code cache. False where it cannot.
pub fn translate() -> bool {
    let slot = registry::current().and_then(|thread| thread.visit(|state| state.slot));
    let translates = slot.is_some_and(|slot| translated::begin_thread(&slot));
    if translates {
        watch_reuse();
    }
    translates
}

/// The calling thread watches, from now on, what was sampled in any thread, where that is asked for.
pub fn watch_reuse() {
    let Some(thread) = registry::current() else { return };
    thread.visit(|state| {
        if let Some(reuse) = &state.session.reuse {
            reuse.join(state);
        }
    });
}

/// Ends sampling of the calling thread, and writes down the last of it. Signal-safe.
pub fn close() {
    let Some(thread) = registry::current() else { return };
    thread.visit(|state| {
        // Closed before, by `_exit` in an exit handler for example: the slot may be another thread's by now.
        if !std::mem::replace(&mut state.open, false) {
            return;
        }
        if let Some(reuse) = &state.session.reuse {
            reuse.leave(state, 0);
        }
        if state.sampler.is_running() {
            let alive = state.sampler.is_alive();
            state.slot.count(Counter::SamplerLost, u64::from(!alive));
            state.slot.count(Counter::Unwitnessed, u64::from(!alive && translated::is_on()));
        }
        state.sampler.stop();
        note_progress(&state.slot);
        state.slot.header().ended.store(clock::now().0, Relaxed);
        // ATOMICS: everything above belongs to the thread that ended.
        state.slot.header().state.store(SlotState::Ended as u32, Release);
    });
}

/// The calling thread ends: [`close`], and makes room for the next.
pub fn end() {
    leave_cache();
    close();
    let key = registry::thread_pointer();
    let Some(thread) = registry::find(key) else { return };
    registry::remove(key);
    retire(thread);
}

/// The calling thread runs natively from now on, and what it executed is written down.
fn leave_cache() {
    if let Some(slot) = registry::current().and_then(|thread| thread.visit(|state| state.slot)) {
        translated::end_thread(&slot);
    }
}

/// Takes the handler stack away from the calling thread and keeps it, with the caches, for the next one.
fn retire(thread: &'static Thread) {
    thread.handler_stack.take_back(&thread.signals);
    let _quiet = Quiet::begin();
    IDLE.lock().push(thread);
}

/// In a forked child: the lists of the parent's threads may have been locked by a thread that is not here.
pub fn after_fork() {
    IDLE.open();
    // Another thread may have been changing the list at that instant: what is in it cannot be trusted.
    if let Some(mut idle) = IDLE.try_lock() {
        std::mem::forget(std::mem::take(&mut *idle));
    }
}

/// Writes down what the host cannot see once the thread is gone: its name and its CPU time. Signal-safe.
pub fn note_progress(slot: &Slot) {
    let mut name = [0u8; 16];
    // SAFETY: PR_GET_NAME writes 16 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    for (word, bytes) in slot.header().name.iter().zip(name.chunks_exact(8)) {
        let bytes: [u8; 8] = bytes.try_into().unwrap_or_default();
        word.store(u64::from_le_bytes(bytes), Relaxed);
    }
    slot.header().cpu_ns.store(clock::thread_cpu(), Relaxed);
}
