//! The engine of the process: the cache, and the threads that run in it.

use std::{
    ops::Range,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*},
    },
};

use carom_base::{Access, AccessKind};
use carom_base_insn::Registers;

use crate::{
    cache::Cache,
    lock::SpinLock,
    memory::{self, LANE_BYTES, MemoryError},
    mode::Mode,
    signal,
    state::Slots,
    stream::{self, Batch},
    switch,
    thread::{Noticed, Thread},
    totals::Totals,
};

/// What the engine tells whoever uses it. Called in the thread concerned, with all signals blocked, on the engine's
/// stack: it must not call the C library beyond async-signal-safe functions. All but [`sampled`](Self::sampled),
/// [`touched`](Self::touched) and [`streamed`](Self::streamed) are called under the engine's lock and must not call the
/// engine.
pub trait Observer: Sync {
    /// An access is about to happen and was sampled as one of its `kind` (a read-modify-write may be either).
    fn sampled(&self, registers: &Registers<'_>, access: &Access, kind: AccessKind);

    /// An access is about to happen that goes to a line whose byte in the thread's table is set for what it does
    /// ([`Watches`](crate::Watches)), which may be another line. It is told before it is [`sampled`](Self::sampled). Of a repeated
    /// string instruction: the first access to each such line; where a comparison may end it, when it is over.
    fn touched(&self, _registers: &Registers<'_>, _access: &Access) {}

    /// The thread of this name has made these accesses, behind those that it was said to have made before. Mostly told by
    /// the thread itself; by another one in [`flush_streams`](crate::flush_streams) and when the process ends, which never
    /// are two at once for the same thread. It must not wait for what a thread holds that calls the engine.
    fn streamed(&self, _thread: u64, _batch: &Batch<'_>) {}

    /// The process is about to end, or to try to execute another program, these threads having executed so much. A thread is named by what was given to
    /// [`attach`].
    fn ending(&self, threads: &mut dyn Iterator<Item = (u64, Totals)>);

    /// The calling thread is about to end by a system call of the program, having executed so much. It is not attached
    /// any more.
    fn thread_ending(&self, _thread: u64, _totals: &Totals) {}

    /// The process is about to fork, in the calling thread. What is needed in the child must not be left in the
    /// middle by other threads: locks, that of the allocator too, are taken here and given back in
    /// [`forked`](Self::forked).
    fn forking(&self) {}

    /// It has forked, or failed to. In the `child` the calling thread is the only one, and has executed nothing; its
    /// name is still the parent's ([`set_name`]).
    fn forked(&self, _child: bool) {}
}

/// The engine.
pub struct Engine {
    pub cache: Cache,
    pub observer: &'static dyn Observer,
    /// The thread that ended last.
    pub ended: Option<Box<Thread>>,
    threads: Vec<ThreadPointer>,
}

/// A thread that is attached.
struct ThreadPointer(*mut Thread);
// SAFETY: used under the engine's lock, while the thread is attached.
unsafe impl Send for ThreadPointer {}

static ENGINE: SpinLock<Option<Engine>> = SpinLock::new(None);
static STARTED: AtomicBool = AtomicBool::new(false);
/// The process that the engine runs in.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// Lanes that were used so far.
static OPENED: AtomicU64 = AtomicU64::new(0);
/// Where the lanes begin and end.
static LANES: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

// SAFETY: everything in it is used under the engine's lock.
unsafe impl Send for Engine {}

/// Why the engine cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The processor or the kernel lacks it.
    #[error(
        "the thread's state cannot be found without the FSGSBASE instructions (Linux 5.9 and a processor of 2012)"
    )]
    NoGsBase,
    /// The program runs with a shadow stack, which translated returns would violate.
    #[error(
        "the program runs with a shadow stack (CET); start it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off"
    )]
    ShadowStack,
    /// There is no memory for it.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// Makes the engine ready. `native`: code that must not be translated, that of the caller.
///
/// # Errors
/// [`StartError`]; nothing was changed then.
pub fn start(mode: Mode, native: Vec<Range<u64>>, observer: &'static dyn Observer) -> Result<(), StartError> {
    /// AT_HWCAP2, bit 1 (Linux, Documentation/x86/x86_64/fsgs.rst).
    const HWCAP2_FSGSBASE: u64 = 1 << 1;
    // SAFETY: reads the auxiliary vector.
    if unsafe { libc::getauxval(libc::AT_HWCAP2) } & HWCAP2_FSGSBASE == 0 {
        return Err(StartError::NoGsBase);
    }
    if has_shadow_stack() {
        return Err(StartError::ShadowStack);
    }
    let cache = Cache::new(mode, native)?;
    let lanes = cache.lanes.range();
    switch::set_directory(cache.directory.range().start);
    // ATOMICS: published by the release of `STARTED`.
    LANES[0].store(lanes.start, Relaxed);
    LANES[1].store(lanes.end, Relaxed);
    PROCESS.store(std::process::id(), Relaxed);
    *ENGINE.lock() = Some(Engine { cache, observer, ended: None, threads: Vec::new() });
    OBSERVER.get_or_init(|| observer);
    STARTED.store(true, Release);
    signal::adopt();
    Ok(())
}

/// Observes the program in another way from now on. Translated code is forgotten: each thread goes on in new code, or
/// natively, when it comes to the end of the block it is in, or back from the system call. Threads that run natively
/// because of [`Mode::Off`] come back as those do that left for other reasons ([`crate::reenter`]). Signals must be
/// blocked.
pub fn set_mode(mode: Mode) {
    with(|engine| engine.cache.set_mode(mode));
}

/// Has translated code that calls `from`, a function of the embedder that only leads on to `to`, run `to` instead.
pub fn lead_on(from: u64, to: u64) {
    with(|engine| {
        engine.cache.aliases.insert(from, to);
    });
}

/// Whether [`start`] has succeeded.
pub fn is_started() -> bool {
    STARTED.load(Acquire)
}

/// Whether the calling thread has a shadow stack (Linux, Documentation/arch/x86/shstk.rst).
fn has_shadow_stack() -> bool {
    const ARCH_SHSTK_STATUS: u64 = 0x5005;
    const SHSTK: u64 = 1;
    let mut features = 0u64;
    let arguments = [ARCH_SHSTK_STATUS, (&raw mut features) as u64, 0, 0, 0, 0];
    // SAFETY: a valid place for the answer. Kernels that know no shadow stacks say EINVAL.
    let known = unsafe { memory::call(libc::SYS_arch_prctl, arguments) };
    known.is_ok() && features & SHSTK != 0
}

/// The observer, for those that do not have the lock.
static OBSERVER: OnceLock<&'static dyn Observer> = OnceLock::new();

/// Tells the observer what a thread has noticed.
pub fn tell_noticed(thread: &mut Thread) {
    let mut noticed = std::mem::take(&mut thread.noticed);
    for Noticed { access, drawn_as, ahead } in noticed.drain(..) {
        thread.ahead = ahead;
        match (OBSERVER.get(), drawn_as) {
            (Some(observer), Some(kind)) => observer.sampled(&thread.registers(access.ip.0), &access, kind),
            (Some(observer), None) => observer.touched(&thread.registers(access.ip.0), &access),
            (None, _) => {}
        }
    }
    thread.ahead = 0;
    thread.noticed = noticed;
}

/// Tells the observer what a thread has streamed.
pub fn tell_streamed(name: u64, batch: &Batch<'_>) {
    if let Some(observer) = OBSERVER.get() {
        observer.streamed(name, batch);
    }
}

/// Works with the engine under its lock. Signals must be blocked.
pub fn with(work: impl FnOnce(&mut Engine)) {
    if let Some(engine) = ENGINE.lock().as_mut() {
        work(engine);
    }
}

/// Makes the calling thread one that can enter the cache, to be named `name` to the observer. Signals must be blocked.
/// False where it cannot be.
pub fn attach(name: u64) -> bool {
    let mut attached = false;
    if !is_started() {
        return attached;
    }
    with(|engine| {
        if let Some(thread) = Thread::attach(&mut engine.cache.lanes, name) {
            // ATOMICS: a number that only grows, each lane below which was opened before.
            OPENED.fetch_max(thread.lane.index() as u64 + 1, Release);
            engine.threads.push(ThreadPointer(Box::into_raw(thread)));
            attached = true;
        }
    });
    attached
}

/// The calling thread will not enter the cache again: native code that was called from it returns to native code.
/// Returns what the thread executed, `None` where it is not attached. Signals must be blocked.
pub fn detach() -> Option<Totals> {
    let pointer = current()?;
    // SAFETY: the calling thread's, and outside the dispatcher.
    let thread = unsafe { &mut *pointer };
    stream::hand_over(thread);
    thread.turn.wait();
    let mut totals = None;
    with(|engine| {
        let Some(mut thread) = engine.take(pointer) else { return };
        totals = Some(thread.totals(&engine.cache.codes));
        thread.detach();
        // What cannot be given back stays taken.
        let _ = engine.cache.lanes.release(thread.lane);
    });
    totals
}

/// Whether the calling function was called from the cache, and returns there.
pub fn runs_in_cache() -> bool {
    // SAFETY: the calling thread's own, and outside the dispatcher.
    current().is_some_and(|thread| unsafe { (*thread).clock.outside() }.is_none())
}

/// Where the native function whose return address lies at `at` will go back to, where it was called from the cache: at
/// `at` itself there is an address of ours. Signals must be blocked.
pub fn goes_back_to(at: u64) -> Option<u64> {
    // SAFETY: the calling thread's own, and outside the dispatcher.
    unsafe { (*current()?).goes_back_to(at) }
}

/// Whether the calling thread is attached.
pub fn is_attached() -> bool {
    current().is_some()
}

/// What the calling thread has executed so far. Signals must be blocked.
pub fn totals() -> Option<Totals> {
    let pointer = current()?;
    let mut totals = None;
    with(|engine| {
        // SAFETY: the calling thread's, and outside the dispatcher.
        totals = Some(unsafe { (*pointer).totals(&engine.cache.codes) });
    });
    totals
}

/// Where the lane of this number begins, if it was ever used.
pub fn lane_base(index: u16) -> Option<u64> {
    let index = u64::from(index);
    (index < OPENED.load(Acquire)).then(|| LANES[0].load(Relaxed) + index * LANE_BYTES)
}

/// Tells the observer what every thread has executed so far. Signals must be blocked.
pub fn tell_totals() {
    with(Engine::ending);
}

/// The observer is to know the calling thread by another name. Signals must be blocked.
pub fn set_name(name: u64) {
    if let Some(pointer) = current() {
        // SAFETY: the calling thread's own, while it is not in the dispatcher.
        let place = unsafe { &raw mut (*pointer).name };
        // Under the lock, because others may be told of it.
        // SAFETY: as above.
        with(|_| unsafe { place.write(name) });
    }
}

/// To be called in every child of a fork, before anything else here. Where it was not the cache that forked, the child
/// runs natively, because its translated code is its parent's.
pub fn after_fork() {
    if !is_started() || PROCESS.load(Relaxed) == std::process::id() {
        return;
    }
    let thread = current();
    stop();
    if let Some(thread) = thread {
        // SAFETY: the calling thread's, the only one there is, and outside the dispatcher.
        let thread = unsafe { &mut *thread };
        thread.detach();
    }
}

/// To be called when code was mapped or unmapped natively, as dlopen and dlclose do when the embedder calls them, before
/// anything else is mapped there. Signals must be blocked.
pub fn mappings_changed() {
    // Where the look fails, what was known stays.
    with(|engine| drop(engine.cache.look()));
}

/// The engine does nothing any more in this process.
pub fn stop() {
    STARTED.store(false, Release);
}

/// The lock's byte, for [`crate::system`].
pub const fn lock_byte() -> *mut u8 {
    ENGINE.held()
}

/// Does something with GS cleared, as a thread would have it that is not attached: for making threads, which inherit it.
pub fn aside<R>(work: impl FnOnce() -> R) -> R {
    if !is_started() {
        return work();
    }
    let base = gs_base();
    set_gs_base(0);
    let result = work();
    set_gs_base(base);
    result
}

fn gs_base() -> u64 {
    let base: u64;
    // SAFETY: reads a register; that the instruction is there was checked at the start.
    unsafe { std::arch::asm!("rdgsbase {}", out(reg) base, options(nostack, nomem, preserves_flags)) };
    base
}

/// Sets the GS base of the calling thread.
pub fn set_gs_base(base: u64) {
    // SAFETY: nothing but the engine uses GS.
    unsafe { std::arch::asm!("wrgsbase {}", in(reg) base, options(nostack, nomem, preserves_flags)) };
}

/// The calling thread, where it is attached.
pub fn current() -> Option<*mut Thread> {
    let base = if is_started() { gs_base() } else { 0 };
    let [start, end] = &LANES;
    // The program may have set GS itself.
    if !(start.load(Relaxed)..end.load(Relaxed)).contains(&base) {
        return None;
    }
    let slots = std::ptr::with_exposed_provenance::<Slots>(base as usize);
    // SAFETY: GS is ours where it lies among the lanes, and then points to a thread's slots.
    let thread = unsafe { (*slots).thread };
    let thread = std::ptr::with_exposed_provenance_mut::<Thread>(thread as usize);
    if thread.is_null() {
        return None;
    }
    // A thread that native code made has inherited it.
    // SAFETY: it stays attached as long as its slots are in use.
    let tid = unsafe { &(*thread).clock }.tid();
    // SAFETY: no arguments.
    (tid == unsafe { libc::gettid() } as u32).then_some(thread)
}

impl Engine {
    /// The threads that are attached.
    pub fn threads(&self) -> impl Iterator<Item = *const Thread> {
        self.threads.iter().map(|thread| thread.0.cast_const())
    }

    /// The one of that name.
    pub fn named(&self, name: u64) -> Option<*const Thread> {
        // SAFETY: attached, under the lock under which names change.
        self.threads().find(|&thread| unsafe { (*thread).name } == name)
    }

    /// Takes a thread off the list. Nobody else may have it.
    pub fn take(&mut self, pointer: *mut Thread) -> Option<Box<Thread>> {
        let index = self.threads.iter().position(|known| known.0 == pointer)?;
        self.threads.swap_remove(index);
        // SAFETY: it was a box, and only its own thread, which gives it up, had it.
        Some(unsafe { Box::from_raw(pointer) })
    }

    /// The thread is about to end, having given its lane back. Its state is kept until the next thread ends, because the
    /// caller still has it. False where it is not attached.
    pub fn end(&mut self, pointer: *mut Thread) -> bool {
        self.ended = self.take(pointer);
        self.ended.is_some()
    }

    /// In the child of a fork: the calling thread is the only one.
    pub fn forget_others(&mut self, this: *mut Thread) {
        PROCESS.store(std::process::id(), Relaxed);
        for other in std::mem::take(&mut self.threads) {
            if other.0 == this {
                self.threads.push(other);
                continue;
            }
            // SAFETY: it was a box, and its thread does not exist here.
            let thread = unsafe { Box::from_raw(other.0) };
            // What cannot be given back stays taken.
            let _ = self.cache.lanes.release(thread.lane);
        }
    }

    /// Tells the observer what every thread has executed.
    pub fn ending(&mut self) {
        let codes = &self.cache.codes;
        let mut threads = self.threads.iter().map(|thread| {
            // SAFETY: attached, and its dispatcher waits for the lock that we hold or is this one; counters are words.
            let thread = unsafe { &*thread.0 };
            (thread.name, thread.totals(codes))
        });
        self.observer.ending(&mut threads);
    }
}
