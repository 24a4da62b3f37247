//! The engine of the process: the cache, and the threads that run in it.

use std::{ops::Range, sync::atomic::{AtomicBool, Ordering::*}};

use carom_base::{Access, AccessKind};
use carom_base_insn::Registers;

use crate::{
    cache::Cache,
    lock::SpinLock,
    memory::MemoryError,
    mode::Mode,
    state::Slots,
    thread::Thread,
    totals::Totals,
};

/// What the engine tells whoever uses it. Called in the thread concerned, with all signals blocked, on the engine's
/// stack, under the engine's lock: it must not call the C library beyond async-signal-safe functions, nor the engine.
pub trait Observer: Sync {
    /// An access is about to happen and was sampled as one of its `kind` (a read-modify-write may be either).
    fn sampled(&self, registers: &Registers<'_>, access: &Access, kind: AccessKind);

    /// The process is about to end, these threads having executed so much. A thread is named by what was given to
    /// [`attach`].
    fn ending(&self, threads: &mut dyn Iterator<Item = (u64, Totals)>);
}

/// The engine.
pub struct Engine {
    pub cache: Cache,
    pub observer: &'static dyn Observer,
    threads: Vec<ThreadPointer>,
}

/// A thread that is attached.
struct ThreadPointer(*mut Thread);
// SAFETY: used under the engine's lock, while the thread is attached.
unsafe impl Send for ThreadPointer {}

static ENGINE: SpinLock<Option<Engine>> = SpinLock::new(None);
static STARTED: AtomicBool = AtomicBool::new(false);

// SAFETY: everything in it is used under the engine's lock.
unsafe impl Send for Engine {}

/// Why the engine cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The processor or the kernel lacks it.
    #[error("the thread's state cannot be found without the FSGSBASE instructions (Linux 5.9 and a processor of 2012)")]
    NoGsBase,
    /// The program runs with a shadow stack, which translated returns would violate.
    #[error("the program runs with a shadow stack (CET); start it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off")]
    ShadowStack,
    /// There is no memory for it.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// Makes the engine ready. `native`: code that must not be translated, that of the caller.
///
/// # Errors
/// [`StartError`]; nothing was changed then.
pub fn start(mode: Mode, native: Range<u64>, observer: &'static dyn Observer) -> Result<(), StartError> {
    /// AT_HWCAP2, bit 1 (Linux, Documentation/x86/x86_64/fsgs.rst).
    const HWCAP2_FSGSBASE: u64 = 1 << 1;
    // SAFETY: reads the auxiliary vector.
    if unsafe { libc::getauxval(libc::AT_HWCAP2) } & HWCAP2_FSGSBASE == 0 {
        return Err(StartError::NoGsBase);
    }
    let cache = Cache::new(mode, native)?;
    *ENGINE.lock() = Some(Engine { cache, observer, threads: Vec::new() });
    STARTED.store(true, Release);
    Ok(())
}

/// Whether [`start`] has succeeded.
pub fn is_started() -> bool {
    STARTED.load(Acquire)
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
    with(|engine| {
        if let Some(thread) = Thread::attach(&mut engine.cache.lanes, name) {
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
    let mut totals = None;
    with(|engine| {
        let Some(index) = engine.threads.iter().position(|known| known.0 == pointer) else { return };
        engine.threads.swap_remove(index);
        // SAFETY: it was a box, and nobody has it any more.
        let mut thread = unsafe { Box::from_raw(pointer) };
        totals = Some(thread.totals(&engine.cache.codes));
        thread.detach();
        // What cannot be given back stays taken.
        let _ = engine.cache.lanes.release(thread.lane);
    });
    totals
}

/// Tells the observer what every thread has executed so far. Signals must be blocked.
pub fn tell_totals() {
    with(Engine::ending);
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

fn set_gs_base(base: u64) {
    // SAFETY: nothing but the engine uses GS.
    unsafe { std::arch::asm!("wrgsbase {}", in(reg) base, options(nostack, nomem, preserves_flags)) };
}

/// The calling thread, where it is attached.
fn current() -> Option<*mut Thread> {
    let base = if is_started() { gs_base() } else { 0 };
    if base == 0 {
        return None;
    }
    let slots = std::ptr::with_exposed_provenance::<Slots>(base as usize);
    // SAFETY: GS is ours where it is not 0, and then points to the thread's slots.
    let thread = unsafe { (*slots).thread };
    Some(std::ptr::with_exposed_provenance_mut(thread as usize))
}

impl Engine {
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
