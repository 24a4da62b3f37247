//! Memory from the kernel: shared mappings of session files, private regions for stacks.

use std::{ffi::CStr, ops::Range, ptr::NonNull};

use super::{
    file, own_room,
    raw::{self, File},
};
use crate::SysError;

/// Creates `path` (which must not exist) with `bytes` allocated bytes and maps it.
///
/// The blocks are allocated before the mapping exists: a hole on a full file system would be a SIGBUS in the
/// program. The mapping stays for the life of the process.
///
/// # Errors
/// ENOSPC on a full disk, EEXIST, ENOMEM; the file is removed again.
pub fn create_shared(path: &CStr, bytes: usize) -> Result<NonNull<u8>, SysError> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
    let file = open(path, flags)?;
    let mapped = allocate(&file, bytes).and_then(|()| map_file(&file, bytes));
    match mapped {
        // It is written to in a few places. ext4 would bring in and clear all pages of a MiB at the first (seen with Linux 6.18), and have
        // as much to give back in the end.
        Ok(place) => {
            let start = place.as_ptr().addr() as u64;
            // SAFETY: advice about a mapping made just now.
            let _ = unsafe { raw::madvise(start, bytes as u64, libc::MADV_RANDOM) };
        }
        Err(_) => file::remove(path),
    }
    mapped
}

/// Maps all of an existing file of at least `bytes` bytes.
///
/// # Errors
/// ENOENT, EACCES; EINVAL where the file is shorter than `bytes`.
pub fn open_shared(path: &CStr, bytes: usize) -> Result<NonNull<u8>, SysError> {
    let file = open(path, libc::O_RDWR | libc::O_NOFOLLOW)?;
    let status = file::status_of(&file).ok_or(SysError { call: "fstat", errno: libc::EBADF })?;
    if (status.st_size as u64) < bytes as u64 {
        return Err(SysError { call: "fstat", errno: libc::EINVAL });
    }
    map_file(&file, bytes)
}

fn open(path: &CStr, flags: i32) -> Result<File, SysError> {
    File::open_at(libc::AT_FDCWD, path, flags).map_err(|errno| SysError { call: "open", errno })
}

fn allocate(file: &File, bytes: usize) -> Result<(), SysError> {
    if !file::may_reach(bytes as u64) {
        return Err(SysError { call: "fallocate", errno: libc::EFBIG });
    }
    // Unlike posix_fallocate this never falls back to writing.
    if file::allocate(file, bytes as u64).is_ok() {
        return Ok(());
    }
    // File systems without fallocate (NFS, some overlays) get the slow, portable way.
    // SAFETY: an open file and integers.
    match unsafe { libc::posix_fallocate(file.number(), 0, bytes as i64) } {
        0 => Ok(()),
        errno => Err(SysError { call: "posix_fallocate", errno }),
    }
}

fn map_file(file: &File, bytes: usize) -> Result<NonNull<u8>, SysError> {
    map(bytes, libc::MAP_SHARED, file.number())
}

/// Private zeroed memory for a stack, with a guard page below it, so that an overflow faults instead of overwriting
/// other data.
///
/// # Errors
/// ENOMEM.
pub fn stack(bytes: usize) -> Result<NonNull<u8>, SysError> {
    const GUARD_BYTES: usize = 4096;
    let whole = private(bytes + GUARD_BYTES)?;
    // SAFETY: the first page of a mapping made just now.
    unsafe { raw::mprotect(whole.as_ptr().addr() as u64, GUARD_BYTES as u64, libc::PROT_NONE) }
        .map_err(|errno| SysError { call: "mprotect", errno })?;
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

/// A thread takes less than 1 MiB for itself (handler stack, rings, caches); many may begin at the same time. An arena of translated code
/// takes 25 to 45 MiB with all that is kept of its blocks.
const ROOM_BYTES: usize = 64 << 20;

/// Whether there is memory for another profiled thread, or for another arena. Where the program has a limit on its memory, ours counts
/// against it, and a failed allocation of ours would end the program.
pub fn has_room() -> bool {
    let limited = |what| raw::limit(what).is_some();
    if !limited(libc::RLIMIT_AS) && !limited(libc::RLIMIT_DATA) {
        return true;
    }
    let Ok(room) = private(ROOM_BYTES) else { return false };
    // SAFETY: mapped just now and used by nobody.
    unsafe { unmap(room, ROOM_BYTES) };
    true
}

/// Gives memory back.
///
/// # Safety
/// It was mapped by a function of this module, and is used no more.
pub unsafe fn unmap(at: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's promise.
    let _ = unsafe { raw::munmap(at.as_ptr().addr() as u64, bytes as u64) };
}

/// Drops pages that the next access brings back from their file.
///
/// # Safety
/// Whole pages of a private mapping of a file, which were never written to.
pub unsafe fn drop_pages(range: Range<u64>) {
    // SAFETY: the caller's promise.
    let _ = unsafe { raw::madvise(range.start, range.end - range.start, libc::MADV_DONTNEED) };
}

fn map(bytes: usize, flags: i32, fd: i32) -> Result<NonNull<u8>, SysError> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let error = |errno| SysError { call: "mmap", errno };
    let place = own_room::map(bytes as u64, protection, flags, fd).map_err(error)?;
    NonNull::new(std::ptr::with_exposed_provenance_mut(place as usize)).ok_or(error(libc::ENOMEM))
}
