//! How threads begin and end.

use std::{ops::Range, sync::atomic::Ordering::*};

use carom_base::ThreadId;
use carom_base_insn::Decoder;
use carom_base_sys::{SysError, clock, process, signal, signal::Quiet};
use carom_base_wire::{Counter, SlotState};

use crate::{
    account,
    budget::Budget,
    detect::{self, per_thread::PerThread},
    handler_stack::HandlerStack,
    lock::{Lock, Rank},
    objects::thread_heap::ThreadHeap,
    progress::Progress,
    registry,
    ring::Slot,
    sampler::Sampler,
    session::Session,
    stack::Stacks,
    thread::{State, Thread},
    translated,
};

/// Ended threads, whose memory is used again.
static IDLE: Lock<Vec<&'static Thread>> = Lock::new(Rank::Threads, Vec::new());

/// Memory for a new thread: an ended thread's, or a new handler stack.
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
            Self::Used(thread) => thread.handler_stack(),
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
    header.thread_pointer.store(registry::thread_pointer(), Relaxed);
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
        of: PerThread::default(),
        decoder,
        stacks,
        heap: session.settings.objects.map(|_| Box::new(ThreadHeap::new())),
        budget: if translated::is_on() {
            account::open(session)
        } else {
            Budget::new(session.settings.budget_ppm, period)
        },
        pace: account::pace(session),
        paused: 0,
        open: true,
        burst: None,
        random: seed,
        programmed_ns: period,
        samples: 0,
        progress: Progress::default(),
        left: 0,
        stack,
        unloads: crate::modules::unloads(),
    };
    let thread: &'static Thread = match vacancy {
        Vacancy::Used(thread) => {
            // It came out of the list for us alone.
            thread.renew(state);
            thread
        }
        Vacancy::New(handler_stack) => Box::leak(Box::new(Thread::new(state, handler_stack))),
    };
    thread.handler_stack().lend(thread.signals());
    if !registry::insert(registry::thread_pointer(), thread) {
        retire(thread);
        return Err(SysError { call: "registry", errno: libc::EAGAIN });
    }
    if !translated::is_on() {
        detect();
    }
    // Last, so that the first sample finds everything in place.
    let steady = translated::is_on();
    let period = if steady { translated::TIMER_NS } else { period };
    if period == 0 {
        return Ok(());
    }
    let started = thread.visit(|state| state.sampler.start(period, steady)).unwrap_or(Ok(()));
    // Counts work without a timer, but then nothing witnesses the coverage.
    if steady {
        slot.count(Counter::Unwitnessed, u64::from(started.is_err()));
        return Ok(());
    }
    started
}

/// Makes the calling thread one that runs in the code cache. False where it cannot.
pub fn translate() -> bool {
    let thread = registry::current();
    if let Some(thread) = thread {
        thread.handler_stack().lend_again(thread.signals());
    }
    let slot = thread.and_then(|thread| thread.visit(|state| state.slot));
    let translates = slot.is_some_and(|slot| translated::life::begin_thread(&slot));
    if translates {
        detect();
    }
    translates
}

/// The detectors begin with the calling thread, which the engine observes now.
pub fn detect() {
    let Some(thread) = registry::current() else { return };
    thread.visit(|state| detect::each().for_each(|detector| detector.thread_begins(state)));
}

/// Ends sampling of the calling thread, and writes its last records. Signal-safe.
pub fn close() {
    let Some(thread) = registry::current() else { return };
    thread.visit(|state| {
        // Closed before, by `_exit` in an exit handler for example: the slot may be another thread's by now.
        if !std::mem::replace(&mut state.open, false) {
            return;
        }
        detect::each().for_each(|detector| detector.thread_ends(state, 0));
        account::close(state);
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

/// The calling thread runs natively from now on. Writes its counts.
fn leave_cache() {
    if let Some(slot) = registry::current().and_then(|thread| thread.visit(|state| state.slot)) {
        translated::life::end_thread(&slot);
    }
}

/// Takes the handler stack away from the calling thread and keeps it, with the caches, for the next one.
fn retire(thread: &'static Thread) {
    thread.handler_stack().take_back(thread.signals());
    let _quiet = Quiet::begin();
    IDLE.lock().push(thread);
}

/// In a forked child: the lists of the parent's threads may have been locked by a thread that is not here.
pub fn after_fork() {
    IDLE.open();
    // Another thread may have been changing the list at that instant: its content cannot be trusted.
    if let Some(mut idle) = IDLE.try_lock() {
        std::mem::forget(std::mem::take(&mut *idle));
    }
}

/// The calling thread is about to unmap or replace what is `at` these addresses. If its thread-local storage is there, it ends
/// next, and an interrupt before that would find neither stack nor errno.
pub fn loses_own_memory(at: &Range<u64>) {
    if at.contains(&registry::thread_pointer())
        && let Some(thread) = registry::current()
    {
        thread.end_bare();
    }
}

/// Writes the thread's name and CPU time, which the host cannot see once the thread has ended. Signal-safe.
pub fn note_progress(slot: &Slot) {
    let name = process::thread_name();
    for (word, bytes) in slot.header().name.iter().zip(name.chunks_exact(8)) {
        let bytes: [u8; 8] = bytes.try_into().unwrap_or_default();
        word.store(u64::from_le_bytes(bytes), Relaxed);
    }
    slot.header().cpu_ns.store(clock::thread_cpu(), Relaxed);
}
