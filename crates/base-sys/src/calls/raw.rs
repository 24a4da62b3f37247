//! System calls without the C library. They do not change `errno`, are no cancellation points (a thread about to be cancelled
//! would end in the middle of a hook), and cannot be interposed. All signal-safe.

use std::{arch::asm, ffi::CStr};

/// The kernel's error number.
pub type Errno = i32;

/// The kernel returns errors as small negative numbers (`MAX_ERRNO`, include/linux/err.h).
const MAX_ERRNO: i64 = 4095;

/// Any system call.
///
/// # Safety
/// As the system call itself.
pub unsafe fn call(number: i64, arguments: [u64; 6]) -> Result<u64, Errno> {
    let [a, b, c, d, e, f] = arguments;
    let result: i64;
    // SAFETY: the kernel's calling convention: it changes rax, rcx and r11 only, and memory as the caller promised.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    if (-MAX_ERRNO..0).contains(&result) { Err(-result as Errno) } else { Ok(result as u64) }
}

/// Maps memory; `fd` is -1 for anonymous memory.
///
/// # Safety
/// With `MAP_FIXED`: what is mapped there belongs to the caller, who uses it no more.
pub unsafe fn mmap(at: u64, bytes: u64, protection: i32, flags: i32, fd: i32) -> Result<u64, Errno> {
    let arguments = [at, bytes, protection as u64, flags as u64, fd as u64, 0];
    // SAFETY: the caller's promise; without MAP_FIXED a new mapping takes nothing away.
    unsafe { call(libc::SYS_mmap, arguments) }
}

/// Unmaps memory.
///
/// # Safety
/// The memory belongs to the caller, who uses it no more.
pub unsafe fn munmap(at: u64, bytes: u64) -> Result<(), Errno> {
    // SAFETY: the caller's promise.
    unsafe { call(libc::SYS_munmap, [at, bytes, 0, 0, 0, 0]) }.map(drop)
}

/// Changes the protection of memory.
///
/// # Safety
/// The memory belongs to the caller, who uses it in accordance with its new protection.
pub unsafe fn mprotect(at: u64, bytes: u64, protection: i32) -> Result<(), Errno> {
    // SAFETY: the caller's promise.
    unsafe { call(libc::SYS_mprotect, [at, bytes, protection as u64, 0, 0, 0]) }.map(drop)
}

/// Advises the kernel on the use of memory.
///
/// # Safety
/// The memory belongs to the caller, who accepts the advice's effect on its contents.
pub unsafe fn madvise(at: u64, bytes: u64, advice: i32) -> Result<(), Errno> {
    // SAFETY: the caller's promise.
    unsafe { call(libc::SYS_madvise, [at, bytes, advice as u64, 0, 0, 0]) }.map(drop)
}

/// Grows or shrinks a mapping where it is.
///
/// # Safety
/// The memory belongs to the caller, who does not use a part that is given back.
pub unsafe fn mremap_in_place(at: u64, old: u64, new: u64) -> Result<(), Errno> {
    // SAFETY: the caller's promise; without MREMAP_MAYMOVE it stays where it is.
    unsafe { call(libc::SYS_mremap, [at, old, new, 0, 0, 0]) }.map(drop)
}

/// Undoes the effect of `mlockall(MCL_FUTURE)` on a new mapping.
pub fn munlock(at: u64, bytes: u64) -> Result<(), Errno> {
    // SAFETY: contents and protection stay as they are.
    unsafe { call(libc::SYS_munlock, [at, bytes, 0, 0, 0, 0]) }.map(drop)
}

/// The end of the program's heap (`brk`).
pub fn heap_end() -> u64 {
    // SAFETY: 0 is never a valid end, so this only asks.
    unsafe { call(libc::SYS_brk, [0; 6]) }.unwrap_or(0)
}

/// The soft limit on a resource; `None` if unlimited.
pub fn limit(resource: u32) -> Option<u64> {
    let mut limit = libc::rlimit64 { rlim_cur: libc::RLIM64_INFINITY, rlim_max: libc::RLIM64_INFINITY };
    let place = (&raw mut limit) as u64;
    // SAFETY: a valid place for the answer, and no new limit.
    let answer = unsafe { call(libc::SYS_prlimit64, [0, u64::from(resource), 0, place, 0, 0]) };
    (answer.is_ok() && limit.rlim_cur != libc::RLIM64_INFINITY).then_some(limit.rlim_cur)
}

/// An open file, closed when dropped.
#[derive(Debug)]
pub struct File(i32);

impl File {
    /// Opens `path` for reading.
    pub fn open(path: &CStr) -> Result<Self, Errno> {
        Self::open_at(libc::AT_FDCWD, path, libc::O_RDONLY)
    }

    /// Opens `path`, relative to `dir`, with these flags and O_CLOEXEC. New files are accessible to this user only.
    pub fn open_at(dir: i32, path: &CStr, flags: i32) -> Result<Self, Errno> {
        const MODE: u64 = 0o600;
        let flags = (flags | libc::O_CLOEXEC) as u64;
        // SAFETY: a valid string and integers.
        unsafe { call(libc::SYS_openat, [dir as u64, path.as_ptr() as u64, flags, MODE, 0, 0]) }
            .map(|fd| Self(fd as i32))
    }

    /// A file of `bytes` zeroes that exists in memory only.
    pub fn in_memory(name: &CStr, flags: u32, bytes: u64) -> Result<Self, Errno> {
        // SAFETY: a valid string and integers.
        let fd =
            unsafe { call(libc::SYS_memfd_create, [name.as_ptr() as u64, u64::from(flags), 0, 0, 0, 0]) }?;
        let file = Self(fd as i32);
        // SAFETY: an open file and an integer.
        unsafe { call(libc::SYS_ftruncate, [fd, bytes, 0, 0, 0, 0]) }?;
        Ok(file)
    }

    /// The file that the caller has open with this descriptor.
    pub fn from_number(fd: i32) -> Self {
        Self(fd)
    }

    /// Its descriptor, which is not closed.
    pub fn into_number(self) -> i32 {
        let fd = self.0;
        std::mem::forget(self);
        fd
    }

    /// Its descriptor.
    pub fn number(&self) -> i32 {
        self.0
    }

    /// Reads the next bytes; 0 at the end.
    pub fn read(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        let arguments = [self.0 as u64, buffer.as_mut_ptr() as u64, buffer.len() as u64, 0, 0, 0];
        // SAFETY: an open file and memory of this size.
        unsafe { call(libc::SYS_read, arguments) }.map(|read| (read as usize).min(buffer.len()))
    }

    /// Reads from `offset` on; 0 at the end, or where that fails.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> usize {
        let arguments = [self.0 as u64, buffer.as_mut_ptr() as u64, buffer.len() as u64, offset, 0, 0];
        // SAFETY: an open file and memory of this size.
        unsafe { call(libc::SYS_pread64, arguments) }.map_or(0, |read| (read as usize).min(buffer.len()))
    }

    /// Writes all of `bytes` at `offset`.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), Errno> {
        let (mut rest, mut offset) = (bytes, offset);
        while !rest.is_empty() {
            let arguments = [self.0 as u64, rest.as_ptr() as u64, rest.len() as u64, offset, 0, 0];
            // SAFETY: an open file and memory of this size.
            let written = unsafe { call(libc::SYS_pwrite64, arguments) }?;
            if written == 0 {
                return Err(libc::ENOSPC);
            }
            rest = rest.get(written as usize..).unwrap_or_default();
            offset += written;
        }
        Ok(())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: open, and ours. There is nothing to do about an error.
        let _closed = unsafe { call(libc::SYS_close, [self.0 as u64, 0, 0, 0, 0, 0]) };
    }
}
