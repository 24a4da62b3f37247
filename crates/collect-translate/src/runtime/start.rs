//! The start and the end of the engine in a process.

use std::ops::Range;

use carom_base_sys::{lock, signal::Quiet};

use crate::{
    blocks::cache::Cache,
    engine::{
        self,
        calling::{self, current},
        observer::Observer,
        process,
    },
    memory::{self, MemoryError, opened},
    observe::hold,
    probes::mode::Mode,
    signal::actions,
};

/// Why the engine cannot start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The processor or the kernel lacks FSGSBASE.
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

/// Starts the engine. `native`: the caller's own code, which must not be translated.
///
/// # Errors
/// [`StartError`]; nothing is changed then.
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
    opened::publish(&cache.lanes.range());
    process::is_this_process();
    let _quiet = Quiet::begin();
    engine::install(cache, observer);
    lock::defer_by(calling::defers);
    hold::calibrate();
    process::begin();
    actions::adopt();
    Ok(())
}

/// Whether the calling thread has a shadow stack (Linux, Documentation/arch/x86/shstk.rst).
fn has_shadow_stack() -> bool {
    const ARCH_SHSTK_STATUS: u64 = 0x5005;
    const SHSTK: u64 = 1;
    let mut features = 0u64;
    let arguments = [ARCH_SHSTK_STATUS, (&raw mut features) as u64, 0, 0, 0, 0];
    // SAFETY: a valid place for the answer. Kernels without shadow stacks return EINVAL.
    let known = unsafe { memory::call(libc::SYS_arch_prctl, arguments) };
    known.is_ok() && features & SHSTK != 0
}

/// Must be called in every child of a fork, before any other function of this crate. If the fork was not made from
/// the cache, the child runs natively, because its translated code is its parent's.
pub fn after_fork() {
    actions::after_fork();
    if !process::is_started() || process::is_in_this_process() {
        return;
    }
    let thread = current();
    process::stop();
    if let Some(thread) = thread {
        // SAFETY: the calling thread's, the only one there is, and outside the dispatcher.
        let thread = unsafe { &mut *thread };
        thread.detach();
    }
}
