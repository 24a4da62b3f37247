//! Keeps our descriptors above the program's, so that it gets its native numbers: above its soft limit where the hard
//! limit allows, so that it can open as many as natively.

use std::os::fd::RawFd;

/// Descriptors below this are left to the program: a `close` loop over the usual range does not hit ours.
const FIRST_HIGH: u64 = 4096;

/// Descriptors do not go beyond this, even under a higher limit: the kernel's table is as long as the highest
/// descriptor.
const LARGE_LIMIT: u64 = 1 << 16;

/// The soft limit while a descriptor is moved, above the first of ours. No round number, so that it differs from a
/// limit that the program sets meanwhile.
const ROOM: u64 = 4099;

/// Another thread that does the same may lower the limit in between, so one attempt may not be enough.
const ATTEMPTS: usize = 16;

/// Moves `fd` up where the hard limit allows, else leaves it.
pub fn keep_high(fd: RawFd) -> RawFd {
    let Some(high) = (0..ATTEMPTS).find_map(|_| high_copy(fd)) else { return fd };
    close(fd);
    high
}

/// close(2) without the C library, whose function is a cancellation point: a thread that is about to be cancelled
/// would be unwound out of a signal handler.
pub fn close(fd: RawFd) {
    // SAFETY: integer argument only; the callers own the descriptor and do not use it again.
    unsafe { libc::syscall(libc::SYS_close, fd) };
}

fn high_copy(fd: RawFd) -> Option<RawFd> {
    let limit = exchange_limit(None)?;
    let above = limit.rlim_cur < limit.rlim_max && limit.rlim_cur <= LARGE_LIMIT;
    let first = if above { limit.rlim_cur.max(FIRST_HIGH) } else { FIRST_HIGH };
    if limit.rlim_cur > first {
        return copy_at(fd, first);
    }
    // The kernel checks the soft limit when a descriptor is made, so it is raised for that moment.
    let raised = libc::rlimit64 { rlim_cur: (first + ROOM).min(limit.rlim_max), ..limit };
    let before = exchange_limit(Some(raised))?;
    let high = copy_at(fd, first);
    put_back(before, raised);
    high
}

fn copy_at(fd: RawFd, first: u64) -> Option<RawFd> {
    // SAFETY: integer arguments only.
    let high = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, first as i32) };
    (high >= 0).then_some(high)
}

/// Sets the limit to what it was, unless the program has set another one since it was `raised`: then that stays.
fn put_back(mut limit: libc::rlimit64, mut raised: libc::rlimit64) {
    for _ in 0..ATTEMPTS {
        // The kernel refuses to raise a hard limit that the program has lowered: then it has set another one.
        let Some(found) = exchange_limit(Some(limit)) else { return };
        if (found.rlim_cur, found.rlim_max) == (raised.rlim_cur, raised.rlim_max) {
            return;
        }
        (raised, limit) = (limit, found);
    }
}

/// Sets a new limit, if there is one, and returns the one before, in one step.
fn exchange_limit(new: Option<libc::rlimit64>) -> Option<libc::rlimit64> {
    let mut old = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    let new = new.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: a valid limit or null, and a valid place for the answer.
    let done = unsafe { libc::syscall(libc::SYS_prlimit64, 0, libc::RLIMIT_NOFILE, new, &raw mut old) };
    (done == 0).then_some(old)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a process of its own: the others open files. Status 0 where `test` holds.
    fn alone(test: impl FnOnce() -> bool) {
        // SAFETY: the child calls async-signal-safe functions only.
        match unsafe { libc::fork() } {
            // SAFETY: ends the child.
            0 => unsafe { libc::_exit(i32::from(!test())) },
            child => {
                let mut status = 0;
                // SAFETY: our child, and a valid place.
                unsafe { libc::waitpid(child, &raw mut status, 0) };
                assert_eq!(status, 0);
            }
        }
    }

    fn set(cur: u64) -> libc::rlimit64 {
        let limit = exchange_limit(None).unwrap_or(libc::rlimit64 { rlim_cur: 0, rlim_max: 0 });
        let new = libc::rlimit64 { rlim_cur: cur, ..limit };
        exchange_limit(Some(new));
        new
    }

    fn limit_is(cur: u64) -> bool {
        exchange_limit(None).is_some_and(|limit| limit.rlim_cur == cur)
    }

    #[test]
    fn a_copy_lies_above_the_limit_which_stays() {
        for (soft, first) in [(1024, 4096), (5000, 5000)] {
            if exchange_limit(None).is_none_or(|limit| limit.rlim_max < 10_000) {
                return eprintln!("skipped: limits: the hard limit on descriptors is low");
            }
            alone(|| {
                set(soft);
                // SAFETY: no arguments but an integer.
                let fd = keep_high(unsafe { libc::dup(0) });
                fd as u64 >= first && limit_is(soft)
            });
        }
    }

    #[test]
    fn a_limit_that_was_set_meanwhile_stays() {
        alone(|| {
            let before = set(1000);
            let raised = set(7001);
            set(900);
            put_back(before, raised);
            limit_is(900)
        });
        alone(|| {
            let before = set(1000);
            let raised = set(7001);
            put_back(before, raised);
            limit_is(1000)
        });
    }
}
