//! Children of this process: when they end, and what CPU time they take.

use std::{
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    time::Duration,
};

/// Notices the end of a process.
#[derive(Debug)]
pub struct ExitWatch(Option<OwnedFd>);

impl ExitWatch {
    /// Watches the child `process`. Before Linux 5.3 it notices nothing, and [`Self::pause`] only sleeps.
    pub fn new(process: u32) -> Self {
        // SAFETY: integer arguments only.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
        // SAFETY: opened just now, owned by nobody else.
        Self((fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) }))
    }

    /// Sleeps for `longest`, or until the process ends or a signal arrives.
    pub fn pause(&self, longest: Duration) {
        let Some(fd) = &self.0 else { return std::thread::sleep(longest) };
        let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let timeout = i32::try_from(longest.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one valid structure.
        unsafe { libc::poll(&raw mut poll, 1, timeout) };
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_child_is_noticed() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let watch = ExitWatch::new(child.id());
        // Without the watch this would sleep for ever, as far as a test is concerned.
        watch.pause(Duration::from_secs(3600));
        assert!(child.try_wait().unwrap().is_some());
    }
}
