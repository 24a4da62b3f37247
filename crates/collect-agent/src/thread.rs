//! The agent's state of each thread.

use std::{
    cell::UnsafeCell,
    ops::Range,
    sync::atomic::{AtomicBool, Ordering::*},
};

use carom_base::ThreadId;
use carom_base_insn::Decoder;
use carom_collect_translate::OwnSignals;

use crate::{
    budget::Budget, detect::per_thread::PerThread, handler_stack::HandlerStack,
    objects::thread_heap::ThreadHeap, pace::Pace, progress::Progress, ring::Slot, sampler::Sampler,
    session::Session, stack::Stacks,
};

/// One profiled thread. Never freed: when the thread ends, the next one takes it over.
pub struct Thread {
    state: UnsafeCell<Option<State>>,
    in_handler: AtomicBool,
    /// Set while code outside handlers uses `state`; a handler that finds it set does nothing.
    busy: AtomicBool,
    /// Set while the work of a visit must not allocate.
    without_heap: AtomicBool,
    /// Its thread-local storage may be gone.
    bare: AtomicBool,
    handler_stack: HandlerStack,
    signals: OwnSignals,
}

// SAFETY: `state` is used only by the thread it describes, through `enter` and `visit`.
unsafe impl Sync for Thread {}
// SAFETY: as above; the handler stack is plain memory.
unsafe impl Send for Thread {}

/// A step sample in progress.
#[derive(Clone, Copy, Debug)]
pub struct Burst {
    /// Steps still to go.
    pub left: u32,
    /// What the sample at the end weighs.
    pub weight: f32,
}

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
    /// The detectors' state of the thread.
    pub of: PerThread,
    /// Instructions to accesses.
    pub decoder: Decoder,
    /// Call paths.
    pub stacks: Stacks,
    /// Where the thread allocates, where that is asked for.
    pub heap: Option<Box<ThreadHeap>>,
    /// The agent's share of the thread's time.
    pub budget: Budget,
    /// What observation takes of it.
    pub pace: Pace,
    /// How often it has paused for the host ([`Slot::make_room`]).
    pub paused: u32,
    /// Its slot is still its own: its end was not written yet.
    pub open: bool,
    /// The step sample in progress.
    pub burst: Option<Burst>,
    /// xorshift64 state, for jitter and step counts.
    pub random: u64,
    /// The CPU time that the timer was last set to, in nanoseconds.
    pub programmed_ns: u64,
    /// Number of timer samples.
    pub samples: u64,
    /// At which of them its progress is written (`translate`).
    pub progress: Progress,
    /// When the handler of the last one was done, in nanoseconds.
    pub left: u64,
    /// The thread's stack when it began; empty where unknown.
    pub stack: Range<u64>,
    /// [`crate::modules::unloads`] when the decoder's caches were good.
    pub unloads: usize,
}

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
    /// A thread that has never ended, with this state and stack.
    pub fn new(state: State, handler_stack: HandlerStack) -> Self {
        Self {
            state: UnsafeCell::new(Some(state)),
            in_handler: AtomicBool::new(false),
            busy: AtomicBool::new(false),
            without_heap: AtomicBool::new(false),
            bare: AtomicBool::new(false),
            handler_stack,
            signals: handler_stack.signals(),
        }
    }

    /// Gives an idle thread, which only the caller uses, another state.
    pub fn renew(&self, state: State) {
        // SAFETY: as stated.
        unsafe { *self.state.get() = Some(state) };
        self.bare.store(false, Relaxed);
    }

    /// The thread is about to unmap its thread-local storage, and to end by a system call: it takes no more interrupts.
    pub fn end_bare(&self) {
        self.bare.store(true, Relaxed);
        self.visit(|state| state.sampler.stop());
    }

    /// Whether there may be no thread-local storage, and with that no errno.
    pub fn is_bare(&self) -> bool {
        self.bare.load(Relaxed)
    }

    /// True while a handler of ours runs on this thread.
    pub fn in_handler(&self) -> bool {
        self.in_handler.load(Relaxed)
    }

    /// True in a handler, and in the work of [`Self::visit_without_heap`].
    #[cfg_attr(test, allow(dead_code, reason = "tests have the allocator of the standard library"))]
    pub fn must_not_allocate(&self) -> bool {
        self.in_handler() || self.without_heap.load(Relaxed)
    }

    /// Where its handlers run.
    pub fn handler_stack(&self) -> HandlerStack {
        self.handler_stack
    }

    /// The state of its signals as the program sees it.
    pub fn signals(&self) -> &OwnSignals {
        &self.signals
    }

    /// Gives the kernel the alternate stack back that the program has set.
    pub fn give_back_stack(&self) {
        self.handler_stack.take_back(&self.signals);
    }

    /// The caches of an idle thread, which only the caller uses.
    pub fn take_tools(&self) -> Option<(Decoder, Stacks)> {
        // SAFETY: as stated.
        let state = unsafe { &mut *self.state.get() };
        let State { decoder, mut stacks, .. } = state.take()?;
        stacks.forget();
        Some((decoder, stacks))
    }

    /// For handlers: the thread's state, unless it is in use. Allocating in `handle` aborts in debug builds.
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

    /// As [`Self::visit`], for work in front of an access of translated code: allocating aborts in debug builds.
    pub fn visit_without_heap<R>(&self, work: impl FnOnce(&mut State) -> R) -> Option<R> {
        self.visit(|state| {
            self.without_heap.store(true, Relaxed);
            let result = work(state);
            self.without_heap.store(false, Relaxed);
            result
        })
    }
}
