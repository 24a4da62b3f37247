//! Keeps our descriptors above the program's, so that it gets its native numbers: above its soft limit where the hard
//! limit allows, so that it can open as many as natively.

use std::{os::fd::RawFd, time::Duration};

use crate::{
    calls::signal::{self, Quiet},
    lock::{Lock, Rank},
};

/// Descriptors below this are left to the program: a `close` loop over the usual range does not hit ours.
const FIRST_HIGH: u64 = 4096;

/// Descriptors do not go beyond this, even under a higher limit: the kernel's table is as long as the highest
/// descriptor.
const LARGE_LIMIT: u64 = 1 << 16;

/// The soft limit while a descriptor is moved, above the first of ours. No round number, so that it differs from a
/// limit that the program sets meanwhile.
const ROOM: u64 = 4099;

/// The program may set another limit again and again.
const ATTEMPTS: usize = 16;

/// A raised limit is put back after some microseconds, unless its thread does not get a processor.
const LONGEST: Duration = Duration::from_millis(10);

/// Held while the limit is raised: two threads that raise it at once would take each other's limit for the program's.
static RAISED: Lock<Option<Raised>> = Lock::new(Rank::Limit, None);

/// A limit that is about to be raised, or is.
#[derive(Clone, Copy)]
struct Raised {
    before: libc::rlimit64,
    to: libc::rlimit64,
}

/// Moves `fd` up where the hard limit allows, else leaves it.
pub fn keep_high(fd: RawFd) -> RawFd {
    let Some(high) = high_copy(fd) else { return fd };
    close(fd);
    high
}

/// Waits until the limit is the program's own, in case another thread has raised it: programs that are started now inherit it.
pub fn settle_limit() {
    let _quiet = Quiet::begin();
    drop(RAISED.lock_within(signal::thread_id() as u32, LONGEST));
}

/// In a forked child: if another thread of the parent had raised the limit, it is the program's own again.
pub fn settle_limit_in_child() {
    if RAISED.is_held() {
        RAISED.open();
        if let Some(raised) = RAISED.try_lock().and_then(|mut raised| raised.take()) {
            put_back(raised);
        }
    }
}

/// close(2) without the C library, whose function is a cancellation point: a thread that is about to be cancelled
/// would be unwound out of a signal handler.
pub fn close(fd: RawFd) {
    // SAFETY: integer argument only; the callers own the descriptor and do not use it again.
    unsafe { libc::syscall(libc::SYS_close, fd) };
}

fn high_copy(fd: RawFd) -> Option<RawFd> {
    if exchange_limit(None)?.rlim_cur > LARGE_LIMIT {
        return copy_at(fd, FIRST_HIGH);
    }
    // A handler of the program must not run while the limit is raised.
    let _quiet = Quiet::begin();
    let mut raised = RAISED.lock_within(signal::thread_id() as u32, LONGEST).ok()?;
    let high = (0..ATTEMPTS).find_map(|_| copy_above(fd, &mut raised));
    *raised = None;
    high
}

/// Makes a copy above the limit. `None` where the program has set another limit meanwhile.
fn copy_above(fd: RawFd, raised: &mut Option<Raised>) -> Option<RawFd> {
    let limit = exchange_limit(None)?;
    let above = limit.rlim_cur < limit.rlim_max && limit.rlim_cur <= LARGE_LIMIT;
    let first = if above { limit.rlim_cur.max(FIRST_HIGH) } else { FIRST_HIGH };
    if limit.rlim_cur > first {
        return copy_at(fd, first);
    }
    // The kernel checks the soft limit when a descriptor is made, so it is raised for that moment.
    let to = libc::rlimit64 { rlim_cur: (first + ROOM).min(limit.rlim_max), ..limit };
    *raised = Some(Raised { before: limit, to });
    let before = exchange_limit(Some(to))?;
    let high = copy_at(fd, first);
    put_back(Raised { before, to });
    high
}

fn copy_at(fd: RawFd, first: u64) -> Option<RawFd> {
    // SAFETY: integer arguments only.
    let high = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, first as i32) };
    (high >= 0).then_some(high)
}

/// Sets the limit to what it was, unless the program has set another one since it was raised: then that stays.
fn put_back(Raised { before: mut limit, to: mut raised }: Raised) {
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
    use super::{super::alone::holds_alone, *};

    fn set(cur: u64) -> libc::rlimit64 {
        let limit = exchange_limit(None).unwrap_or(libc::rlimit64 { rlim_cur: 0, rlim_max: 0 });
        let new = libc::rlimit64 { rlim_cur: cur, ..limit };
        exchange_limit(Some(new));
        new
    }

    fn null() -> RawFd {
        // SAFETY: no arguments but an integer.
        unsafe { libc::dup(0) }
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
            assert!(holds_alone(|| {
                set(soft);
                let fd = keep_high(null());
                fd as u64 >= first && limit_is(soft)
            }));
        }
    }

    /// Each takes another one's raised limit for the program's, if nobody looks after that.
    #[test]
    fn threads_that_raise_it_at_once_leave_it_as_it_was() {
        if exchange_limit(None).is_none_or(|limit| limit.rlim_max < 20_000) {
            return eprintln!("skipped: limits: the hard limit on descriptors is low");
        }
        let own = exchange_limit(None).expect("a limit");
        let before = set(1024);
        let work = || (0..2_000).for_each(|_| close(keep_high(null())));
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
        let found = exchange_limit(Some(own)).expect("a limit");
        assert_eq!(found.rlim_cur, before.rlim_cur);
    }

    #[test]
    fn a_forked_child_has_the_limit_of_the_program() {
        assert!(holds_alone(|| {
            let before = set(1024);
            let to = libc::rlimit64 { rlim_cur: 5123, ..before };
            let mut raised = RAISED.try_lock().expect("nobody holds it");
            *raised = Some(Raised { before, to });
            exchange_limit(Some(to));
            // The thread that has raised it is not there any more.
            std::mem::forget(raised);
            settle_limit_in_child();
            limit_is(1024) && !RAISED.is_held()
        }));
    }

    #[test]
    fn a_limit_that_was_set_meanwhile_stays() {
        assert!(holds_alone(|| {
            let before = set(1000);
            let raised = set(7001);
            set(900);
            put_back(Raised { before, to: raised });
            limit_is(900)
        }));
        assert!(holds_alone(|| {
            let before = set(1000);
            let raised = set(7001);
            put_back(Raised { before, to: raised });
            limit_is(1000)
        }));
    }
}
