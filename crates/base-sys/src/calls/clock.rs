//! Clocks. All functions are signal-safe.

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use carom_base::Nanos;

/// Set where the vDSO must not be called.
static WITHOUT_VDSO: AtomicBool = AtomicBool::new(false);

/// The vDSO and the data that it reads lie within this of its header (Linux 6.18 maps 2 pages of code behind 6 of data).
const VDSO_REACH: u64 = 16 << 12;

/// From now on clocks are read by system calls (half a microsecond). For a process whose program may unmap the vDSO, or has.
pub fn leave_the_vdso() {
    WITHOUT_VDSO.store(true, Relaxed);
}

/// Whether clocks are read by system calls.
pub fn without_vdso() -> bool {
    WITHOUT_VDSO.load(Relaxed)
}

/// Whether the vDSO may lie in this range of addresses.
pub fn may_hold_the_vdso(range: &Range<u64>) -> bool {
    // SAFETY: reads what the kernel has given the process at its start.
    let header = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
    header != 0
        && range.start < header.saturating_add(VDSO_REACH)
        && header.saturating_sub(VDSO_REACH) < range.end
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    gettime(clock, &mut time);
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Reads one of the clocks that always exist.
fn gettime(clock: libc::clockid_t, time: &mut libc::timespec) {
    if without_vdso() {
        // SAFETY: `time` is a valid place for the answer.
        unsafe { libc::syscall(libc::SYS_clock_gettime, clock, std::ptr::from_mut(time)) };
    } else {
        // SAFETY: as above.
        unsafe { libc::clock_gettime(clock, time) };
    }
}

/// Now, by `CLOCK_MONOTONIC` (answered by the vDSO, where it may be called: tens of nanoseconds).
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

/// The processor that the calling thread runs on.
pub fn current_cpu() -> u32 {
    if without_vdso() {
        let mut cpu = 0_u32;
        let (node, cache) = (std::ptr::null_mut::<u32>(), std::ptr::null_mut::<u8>());
        // SAFETY: `cpu` is a valid place for the answer; the others may be null.
        unsafe { libc::syscall(libc::SYS_getcpu, &raw mut cpu, node, cache) };
        return cpu;
    }
    // SAFETY: takes no arguments; asks the vDSO, or reads what the kernel keeps up to date for each thread.
    let cpu = unsafe { libc::sched_getcpu() };
    u32::try_from(cpu).unwrap_or(0)
}
