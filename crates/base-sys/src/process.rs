//! Waiting for a child without making it wait for us.

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
