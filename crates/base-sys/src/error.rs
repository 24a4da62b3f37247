/// A system call that failed: which, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {}", std::io::Error::from_raw_os_error(*errno))]
pub struct SysError {
    /// The call's name.
    pub call: &'static str,
    /// The kernel's error number.
    pub errno: i32,
}

impl SysError {
    /// The error that `errno` holds for the calling thread. Signal-safe.
    pub fn last(call: &'static str) -> Self {
        Self { call, errno: crate::calls::signal::errno() }
    }
}
