//! Children of this process: when they end, and what CPU time they take.

use std::{
    io,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd},
        unix::process::ExitStatusExt,
    },
    process::{Child, ExitStatus},
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

    /// Sleeps for `longest`, in whole milliseconds, or until the process ends or a signal arrives. Returns whether it was noticed
    /// that the process has ended.
    pub fn pause(&self, longest: Duration) -> bool {
        let Some(fd) = &self.0 else {
            std::thread::sleep(longest);
            return false;
        };
        let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let timeout = i32::try_from(longest.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one valid structure.
        let ready = unsafe { libc::poll(&raw mut poll, 1, timeout) };
        ready > 0
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
    let usage = usage_of(libc::RUSAGE_CHILDREN);
    nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime)
}

/// The largest resident memory of this process so far, in bytes.
pub fn own_peak_resident() -> u64 {
    usage_of(libc::RUSAGE_SELF).ru_maxrss as u64 * 1024
}

/// What a process has used, with the children that it waited for (getrusage(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// The largest resident memory of the process or one of its children, in bytes. At least what the process that started it
    /// had at that time: the kernel counts a child from before it executes the program.
    pub peak_resident_bytes: u64,
    /// Page faults without input or output.
    pub minor_faults: u64,
    /// Page faults that waited for a device.
    pub major_faults: u64,
    /// How often it waited.
    pub voluntary_switches: u64,
    /// How often others took its processor.
    pub involuntary_switches: u64,
    /// Blocks of 512 bytes that were read from devices.
    pub blocks_read: u64,
    /// Blocks of 512 bytes that were written to devices.
    pub blocks_written: u64,
}

/// Waits until the child ends.
///
/// # Errors
/// Somebody else has waited for it.
pub fn wait(child: Child) -> io::Result<(ExitStatus, Usage)> {
    let mut status = 0;
    // SAFETY: all zeroes is a valid place for the answer.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: two valid places for the answers.
        let waited = unsafe { libc::wait4(child.id() as i32, &raw mut status, 0, &raw mut usage) };
        let error = io::Error::last_os_error();
        match waited {
            -1 if error.kind() == io::ErrorKind::Interrupted => {}
            -1 => return Err(error),
            _ => break,
        }
    }
    let usage = Usage {
        user_ns: nanoseconds(usage.ru_utime),
        system_ns: nanoseconds(usage.ru_stime),
        peak_resident_bytes: usage.ru_maxrss as u64 * 1024,
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        blocks_read: usage.ru_inblock as u64,
        blocks_written: usage.ru_oublock as u64,
    };
    Ok((ExitStatus::from_raw(status), usage))
}

fn usage_of(whose: i32) -> libc::rusage {
    // SAFETY: all zeroes is a valid place for the answer.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    unsafe { libc::getrusage(whose, &raw mut usage) };
    usage
}

const fn nanoseconds(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_child_used_is_known_when_it_has_ended() {
        // 64 MiB, each page of which is written once.
        let program = "head -c 67108864 /dev/zero | tail -c 67108864 >/dev/null; exit 7";
        let child = std::process::Command::new("sh").args(["-c", program]).spawn().unwrap();
        let (status, usage) = wait(child).unwrap();
        assert_eq!(status.code(), Some(7));
        assert!(usage.peak_resident_bytes > 64 << 20, "{usage:?}");
        assert!(usage.minor_faults > 0 && usage.voluntary_switches > 0, "{usage:?}");
    }

    #[test]
    fn an_ended_child_is_noticed() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let watch = ExitWatch::new(child.id());
        // Without the watch this would sleep for ever, as far as a test is concerned.
        while !watch.pause(Duration::from_secs(3600)) {}
        assert!(child.try_wait().unwrap().is_some());
    }
}
