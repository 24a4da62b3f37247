//! Clocks. All functions are signal-safe.

use carom_base::Nanos;

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer; these clocks always exist.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Now, by `CLOCK_MONOTONIC` (answered by the vDSO: tens of nanoseconds).
pub fn now() -> Nanos {
    Nanos(read(libc::CLOCK_MONOTONIC))
}

/// CPU time of the calling thread in nanoseconds (a system call).
pub fn thread_cpu() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of the calling process in nanoseconds (a system call).
pub fn process_cpu() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of any process in nanoseconds, also of one that has ended and is not waited for; `None` where there is none.
pub fn cpu_of(process: u32) -> Option<u64> {
    /// The kernel's clock of one process: `(~pid << 3) | 2 (scheduler time)` (Linux, include/linux/posix-timers_types.h).
    const PROCESS_SCHED: u32 = 0b010;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    let read = unsafe { libc::clock_gettime((!process << 3 | PROCESS_SCHED) as i32, &raw mut time) };
    (read == 0).then(|| (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64))
}

/// CPU time of all children that the calling process has waited for, and of those that they have, in nanoseconds.
pub fn children_cpu() -> u64 {
    // SAFETY: all zeroes is a valid place for the answer.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    let of = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    of(usage.ru_utime) + of(usage.ru_stime)
}

/// The processor that the calling thread runs on.
pub fn current_cpu() -> u32 {
    // SAFETY: takes no arguments; reads per-thread data that the C library keeps.
    let cpu = unsafe { libc::sched_getcpu() };
    u32::try_from(cpu).unwrap_or(0)
}
