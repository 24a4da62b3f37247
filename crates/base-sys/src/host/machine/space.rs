use std::{ffi::CString, os::unix::ffi::OsStrExt, path::Path};

use crate::SysError;

/// Room on a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// In all.
    pub total: u64,
    /// Left to users without privileges.
    pub free: u64,
}

impl Space {
    /// Of the file system that holds `path`.
    ///
    /// # Errors
    /// As statvfs(3): ENOENT, EACCES.
    pub fn of(path: &Path) -> Result<Self, SysError> {
        const CALL: &str = "statvfs";
        let path = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| SysError { call: CALL, errno: libc::EINVAL })?;
        let mut answer = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
        // SAFETY: `path` ends in NUL and `answer` is a valid place.
        let asked = unsafe { libc::statvfs(path.as_ptr(), answer.as_mut_ptr()) };
        if asked < 0 {
            return Err(SysError::last(CALL));
        }
        // SAFETY: zeroed, then filled in by the kernel; all fields are integers.
        let answer = unsafe { answer.assume_init() };
        let bytes = |blocks: u64| blocks.saturating_mul(answer.f_frsize);
        Ok(Self { total: bytes(answer.f_blocks), free: bytes(answer.f_bavail) })
    }
}
