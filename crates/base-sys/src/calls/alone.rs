//! Tests in a process of their own, for what a whole process has one of.

/// Whether `test` holds in a forked child, which calls async-signal-safe functions only.
pub fn holds_alone(test: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child ends without a return from here.
    match unsafe { libc::fork() } {
        // SAFETY: ends the child.
        0 => unsafe { libc::_exit(i32::from(!test())) },
        child => {
            let mut status = 0;
            // SAFETY: our child, and a valid place.
            let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
            ended == child && status == 0
        }
    }
}
