//! What a code cache takes, tried in a child: memory that is executable in one place and writable in another, and
//! address space. It follows how the `translate` engine reserves its own.

use std::ffi::CStr;

use crate::{SysError, host::machine::Root};

/// Bytes of one arena of translated code, in a file of its own.
const ARENA_BYTES: usize = 16 << 20;
/// One near the program, one near its libraries.
const ARENAS: usize = 2;
/// Bytes that a thread has for itself, and for its counters beside each arena.
const THREAD_BYTES: usize = 1 << 20;

/// Address space of a small program's cache with one thread, in bytes; a few MiB of it become memory.
pub(super) const ADDRESS_SPACE_BYTES: u64 = (2 * ARENAS * ARENA_BYTES + (1 + ARENAS) * THREAD_BYTES) as u64;

/// Limits that explain a refusal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The soft limit RLIMIT_AS in bytes; `None` for no limit.
    pub address_space: Option<u64>,
    /// `vm.overcommit_memory`: 0 heuristic, 1 always, 2 strict.
    pub overcommit: Option<u32>,
    /// `vm.memfd_noexec` of this process's PID namespace, 0 to 2 (Linux 6.3).
    pub memfd_noexec: Option<u32>,
}

impl Limits {
    pub(super) fn here() -> Self {
        Self::read(&Root::system(), soft_address_space())
    }

    pub(super) fn read(root: &Root, address_space: Option<u64>) -> Self {
        Self {
            address_space,
            overcommit: root.number("proc/sys/vm/overcommit_memory"),
            memfd_noexec: root.number("proc/sys/vm/memfd_noexec"),
        }
    }
}

fn soft_address_space() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: a valid place for the answer.
    let answer = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    (answer == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Reserves arenas, twice each, and opens the first thread's memory.
///
/// # Errors
/// ENOMEM: limits, or strict accounting.
pub(super) fn address_space() -> Result<bool, SysError> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    for _ in 0..2 * ARENAS {
        map(ARENA_BYTES, libc::PROT_NONE, flags, -1)?;
    }
    for _ in 0..1 + ARENAS {
        map(THREAD_BYTES, libc::PROT_READ | libc::PROT_WRITE, flags, -1)?;
    }
    Ok(true)
}

/// Makes the file of an arena. Beyond RLIMIT_FSIZE the kernel raises SIGXFSZ.
///
/// # Errors
/// As memfd_create(2) and ftruncate(2).
pub(super) fn memory_file() -> Result<i32, SysError> {
    const NAME: &CStr = c"carom-doctor";
    let make = |flags| {
        // SAFETY: a valid string and an integer.
        match unsafe { libc::memfd_create(NAME.as_ptr(), flags) } {
            ..0 => Err(SysError::last("memfd_create")),
            file => Ok(file),
        }
    };
    // The seal is about execve, not about mmap, and passes where vm.memfd_noexec is 2. Before 6.3: EINVAL.
    let file = make(libc::MFD_CLOEXEC | libc::MFD_NOEXEC_SEAL).or_else(|error| match error.errno {
        libc::EINVAL => make(libc::MFD_CLOEXEC),
        _ => Err(error),
    })?;
    // SAFETY: an open file of ours and an integer.
    if unsafe { libc::ftruncate(file, ARENA_BYTES as libc::off_t) } != 0 {
        return Err(SysError::last("ftruncate"));
    }
    Ok(file)
}

/// Maps such a file twice: executable, and writable elsewhere.
///
/// # Errors
/// EACCES, EPERM: denied.
pub(super) fn executable() -> Result<bool, SysError> {
    let file = memory_file()?;
    map(ARENA_BYTES, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, file)?;
    map(ARENA_BYTES, libc::PROT_READ | libc::PROT_EXEC, libc::MAP_SHARED, file)?;
    Ok(true)
}

fn map(bytes: usize, protection: i32, flags: i32, file: i32) -> Result<*mut libc::c_void, SysError> {
    // SAFETY: not MAP_FIXED, so nothing is replaced.
    let place = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file, 0) };
    if place == libc::MAP_FAILED { Err(SysError::last("mmap")) } else { Ok(place) }
}
