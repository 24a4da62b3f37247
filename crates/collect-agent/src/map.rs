//! Memory from the kernel: shared mappings of session files, private regions for stacks.

use std::{
    ffi::CStr,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    ptr::NonNull,
};

use carom_base_sys::{SysError, own_room};

/// Creates `path` (which must not exist) with `bytes` allocated bytes and maps it.
///
/// The blocks are allocated before the mapping exists: a hole on a full file system would be a SIGBUS in the
/// program. The mapping stays for the life of the process.
///
/// # Errors
/// ENOSPC on a full disk, EEXIST, ENOMEM; the file is removed again.
pub fn create_shared(path: &CStr, bytes: usize) -> Result<NonNull<u8>, SysError> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: a valid string and integers.
    let fd = unsafe { libc::open(path.as_ptr(), flags, 0o600) };
    if fd < 0 {
        return Err(SysError::last("open"));
    }
    // SAFETY: just opened, owned by nobody else.
    let file = unsafe { OwnedFd::from_raw_fd(fd) };
    let mapped = allocate(&file, bytes).and_then(|()| map_file(&file, bytes));
    if mapped.is_err() {
        // SAFETY: a valid string.
        unsafe { libc::unlink(path.as_ptr()) };
    }
    mapped
}

/// Maps all of an existing file of at least `bytes` bytes.
///
/// # Errors
/// ENOENT, EACCES; EINVAL where the file is shorter than `bytes`.
pub fn open_shared(path: &CStr, bytes: usize) -> Result<NonNull<u8>, SysError> {
    // SAFETY: a valid string and integers.
    let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_NOFOLLOW | libc::O_CLOEXEC) };
    if fd < 0 {
        return Err(SysError::last("open"));
    }
    // SAFETY: just opened, owned by nobody else.
    let file = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: all zeroes is a valid `stat`.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: an open file and a valid place for the answer.
    if unsafe { libc::fstat(file.as_raw_fd(), &raw mut status) } < 0 {
        return Err(SysError::last("fstat"));
    }
    if (status.st_size as u64) < bytes as u64 {
        return Err(SysError { call: "fstat", errno: libc::EINVAL });
    }
    map_file(&file, bytes)
}

fn allocate(file: &OwnedFd, bytes: usize) -> Result<(), SysError> {
    if !crate::raw::may_reach(bytes as u64) {
        return Err(SysError { call: "fallocate", errno: libc::EFBIG });
    }
    // SAFETY: an open file and integers. Unlike posix_fallocate this never falls back to writing.
    let done = unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, bytes as i64) };
    if done == 0 {
        return Ok(());
    }
    // File systems without fallocate (NFS, some overlays) get the slow, portable way.
    // SAFETY: as above.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as i64) } {
        0 => Ok(()),
        errno => Err(SysError { call: "posix_fallocate", errno }),
    }
}

fn map_file(file: &OwnedFd, bytes: usize) -> Result<NonNull<u8>, SysError> {
    map(bytes, libc::MAP_SHARED, file.as_raw_fd())
}

/// Private zeroed memory for a stack, with a page below it that faults: an overflow must not go unnoticed into
/// somebody's data.
///
/// # Errors
/// ENOMEM.
pub fn stack(bytes: usize) -> Result<NonNull<u8>, SysError> {
    const GUARD_BYTES: usize = 4096;
    let whole = private(bytes + GUARD_BYTES)?;
    // SAFETY: the first page of a mapping made just now.
    if unsafe { libc::mprotect(whole.as_ptr().cast(), GUARD_BYTES, libc::PROT_NONE) } < 0 {
        return Err(SysError::last("mprotect"));
    }
    // SAFETY: inside the mapping.
    Ok(unsafe { whole.add(GUARD_BYTES) })
}

/// Private zeroed memory.
///
/// # Errors
/// ENOMEM.
pub fn private(bytes: usize) -> Result<NonNull<u8>, SysError> {
    map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1)
}

/// A thread takes less than 1 MiB for itself (handler stack, rings, caches); many may begin at the same time.
const ROOM_BYTES: usize = 64 << 20;

/// Is there memory left for a thread of ours? Where the program has a limit on it, what is used up here would be
/// missing there, and an allocation of ours that fails would end it.
pub fn has_room() -> bool {
    let limited = |what| crate::raw::limit(what) != libc::RLIM_INFINITY;
    if !limited(libc::RLIMIT_AS) && !limited(libc::RLIMIT_DATA) {
        return true;
    }
    let Ok(room) = private(ROOM_BYTES) else { return false };
    // SAFETY: mapped just now and used by nobody.
    unsafe { libc::munmap(room.as_ptr().cast(), ROOM_BYTES) };
    true
}

fn map(bytes: usize, flags: i32, fd: i32) -> Result<NonNull<u8>, SysError> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let error = |errno| SysError { call: "mmap", errno };
    let place = own_room::map(bytes as u64, protection, flags, fd).map_err(error)?;
    NonNull::new(std::ptr::with_exposed_provenance_mut(place as usize)).ok_or(error(libc::ENOMEM))
}
