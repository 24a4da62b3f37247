//! Files by their paths. All signal-safe, without the C library ([`raw`](super::raw)).

use std::ffi::CStr;

use super::raw::{self, Errno, File, call};

/// Opens the regular file at `path`, relative to `dir`, for reading.
pub fn open(dir: i32, path: &CStr) -> Option<File> {
    // A file that has become a pipe since it was looked at must not make us wait.
    File::open_at(dir, path, libc::O_RDONLY | libc::O_NOCTTY | libc::O_NONBLOCK).ok()
}

/// Appends `parts`, in a single write, to the file at `path`, which is made where it does not exist. False where that
/// fails.
pub fn append<const N: usize>(path: &CStr, parts: [&[u8]; N]) -> bool {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_NOFOLLOW;
    let Ok(file) = File::open_at(libc::AT_FDCWD, path, flags) else { return false };
    if raw::limit(libc::RLIMIT_FSIZE).is_some() {
        let before = status_of(&file).map_or(u64::MAX, |status| status.st_size as u64);
        if !may_reach(before.saturating_add(length as u64)) {
            return false;
        }
    }
    let parts =
        parts.map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() });
    let arguments = [file.number() as u64, parts.as_ptr() as u64, N as u64, 0, 0, 0];
    // SAFETY: an open file, and memory of these sizes, which is only read.
    let written = unsafe { call(libc::SYS_writev, arguments) };
    written == Ok(length as u64)
}

/// Whether a file of ours may become this long. Beyond RLIMIT_FSIZE the kernel raises SIGXFSZ, and that ends the program.
pub fn may_reach(bytes: u64) -> bool {
    raw::limit(libc::RLIMIT_FSIZE).is_none_or(|limit| bytes <= limit)
}

/// The status of an open file.
pub fn status_of(file: &File) -> Option<libc::stat> {
    // SAFETY: all zeroes is a valid place for the answer.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    let arguments = [file.number() as u64, (&raw mut status) as u64, 0, 0, 0, 0];
    // SAFETY: an open file and a valid place; on x86-64 the kernel's structure is the C library's.
    let result = unsafe { call(libc::SYS_fstat, arguments) };
    result.is_ok().then_some(status)
}

/// The status of the file at `path`, relative to `dir`.
pub fn status(dir: i32, path: &CStr) -> Option<libc::stat> {
    // SAFETY: all zeroes is a valid place for the answer.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    let arguments = [dir as u64, path.as_ptr() as u64, (&raw mut status) as u64, 0, 0, 0];
    // SAFETY: a valid string and place; on x86-64 the kernel's structure is the C library's.
    let result = unsafe { call(libc::SYS_newfstatat, arguments) };
    result.is_ok().then_some(status)
}

/// Whether the file at `path` can be opened in this way.
///
/// # Errors
/// The error number where it cannot.
pub fn try_open(path: &CStr, flags: i32) -> Result<(), Errno> {
    File::open_at(libc::AT_FDCWD, path, flags | libc::O_NOCTTY | libc::O_NONBLOCK).map(drop)
}

/// Whether the file at `path` has the extended attribute `name`.
pub fn has_attribute(path: &CStr, name: &CStr) -> bool {
    // SAFETY: valid strings; no place for the value, so only its size comes back.
    unsafe { call(libc::SYS_getxattr, [path.as_ptr() as u64, name.as_ptr() as u64, 0, 0, 0, 0]) }
        .is_ok_and(|bytes| bytes > 0)
}

/// The target of the link at `path`, in `place`.
pub fn link_target<'a>(path: &CStr, place: &'a mut [u8]) -> Option<&'a [u8]> {
    let arguments = [path.as_ptr() as u64, place.as_mut_ptr() as u64, place.len() as u64, 0, 0, 0];
    // SAFETY: a valid string and memory of this size.
    let length = unsafe { call(libc::SYS_readlink, arguments) };
    place.get(..length.ok()? as usize)
}

/// Removes the file at `path`, if there is one.
pub fn remove(path: &CStr) {
    // SAFETY: a valid string.
    let _ = unsafe { call(libc::SYS_unlink, [path.as_ptr() as u64, 0, 0, 0, 0, 0]) };
}

/// Gives the first `bytes` bytes of a file their blocks.
///
/// # Errors
/// ENOSPC on a full disk; EOPNOTSUPP on file systems that cannot.
pub fn allocate(file: &File, bytes: u64) -> Result<(), Errno> {
    // SAFETY: an open file and integers.
    unsafe { call(libc::SYS_fallocate, [file.number() as u64, 0, 0, bytes, 0, 0]) }.map(drop)
}
