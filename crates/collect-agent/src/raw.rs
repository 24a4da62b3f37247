//! System calls without the C library, whose functions are cancellation points (a thread about to be cancelled
//! would end in the middle of a hook) and may be interposed. All signal-safe; they change errno.

use std::ffi::{CStr, c_int};

/// An open file, closed when dropped.
pub struct File(c_int);

impl File {
    /// Opens the regular file at `path`, relative to `dir`, for reading.
    pub fn open(dir: c_int, path: &CStr) -> Option<Self> {
        // Where it has become a pipe since it was looked at, opening must not wait.
        let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOCTTY | libc::O_NONBLOCK;
        // SAFETY: a valid string and integers.
        let fd = unsafe { libc::syscall(libc::SYS_openat, dir, path.as_ptr(), flags) };
        (fd >= 0).then_some(Self(fd as c_int))
    }

    /// Reads into `buffer` from `offset` on; 0 where that fails.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> usize {
        // SAFETY: an open file and memory of this size.
        let read =
            unsafe { libc::syscall(libc::SYS_pread64, self.0, buffer.as_mut_ptr(), buffer.len(), offset) };
        usize::try_from(read).unwrap_or(0).min(buffer.len())
    }
}

/// A question about one mapping (`PROCMAP_QUERY` of Linux 6.11), and its answer: `struct procmap_query` of the kernel.
#[repr(C)]
#[derive(Default)]
pub struct MapQuery {
    size: u64,
    asks_for: u64,
    at: u64,
    /// First byte.
    pub start: u64,
    /// One past the last.
    pub end: u64,
    /// Rights, and whether it is shared.
    pub flags: u64,
    page_bytes: u64,
    /// Where the first byte lies in the file.
    pub offset: u64,
    /// The file.
    pub inode: u64,
    /// Its device.
    pub major: u32,
    /// Its device.
    pub minor: u32,
    name_size: u32,
    build_id_size: u32,
    name_at: u64,
    build_id_at: u64,
}

impl MapQuery {
    /// What is mapped at this address?
    pub fn at(addr: u64) -> Self {
        Self { size: size_of::<Self>() as u64, at: addr, ..Self::default() }
    }

    /// Asks `/proc/self/maps`.
    ///
    /// # Errors
    /// ENOENT where nothing is mapped, ENOTTY where the kernel does not know the question.
    pub fn ask(&mut self, maps: &File) -> Result<(), c_int> {
        /// `_IOWR('f', 17, struct procmap_query)`.
        const PROCMAP_QUERY: u64 = 0xc068_6611;
        // SAFETY: an open file, and a structure of the size that it states itself.
        let result = unsafe { libc::syscall(libc::SYS_ioctl, maps.0, PROCMAP_QUERY, &raw mut *self) };
        if result == 0 { Ok(()) } else { Err(carom_base_sys::signal::errno()) }
    }
}

// As the number of the question states it.
const _: () = assert!(size_of::<MapQuery>() == 104);

/// Appends `parts`, in a single write, to the file at `path`, which is made where it does not exist. False where they
/// are not all there then.
pub fn append<const N: usize>(path: &CStr, parts: [&[u8]; N]) -> bool {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: a valid string and integers.
    let fd = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0o600) };
    if fd < 0 {
        return false;
    }
    let file = File(fd as c_int);
    if limit(libc::RLIMIT_FSIZE) != libc::RLIM_INFINITY {
        let before = status_of(&file).map_or(u64::MAX, |status| status.st_size as u64);
        if !may_reach(before.saturating_add(length as u64)) {
            return false;
        }
    }
    let parts =
        parts.map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() });
    // SAFETY: an open file, and memory of these sizes, which is only read.
    let written = unsafe { libc::syscall(libc::SYS_writev, file.0, parts.as_ptr(), N) };
    usize::try_from(written) == Ok(length)
}

/// The soft limit on a resource.
pub fn limit(resource: libc::__rlimit_resource_t) -> libc::rlim_t {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: a valid place for the answer.
    unsafe { libc::getrlimit(resource, &raw mut limit) };
    limit.rlim_cur
}

/// May a file of ours become this long? Beyond RLIMIT_FSIZE the kernel raises SIGXFSZ, and that ends the program.
pub fn may_reach(bytes: u64) -> bool {
    bytes <= limit(libc::RLIMIT_FSIZE)
}

/// What an open file is.
fn status_of(file: &File) -> Option<libc::stat> {
    // SAFETY: all zeroes is a valid place for the answer.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: an open file and a valid place; on x86-64 the kernel's structure is the C library's.
    let result = unsafe { libc::syscall(libc::SYS_fstat, file.0, &raw mut status) };
    (result == 0).then_some(status)
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: open, and ours.
        unsafe { libc::syscall(libc::SYS_close, self.0) };
    }
}

/// What the file at `path`, relative to `dir`, is.
pub fn status(dir: c_int, path: &CStr) -> Option<libc::stat> {
    // SAFETY: all zeroes is a valid place for the answer.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a valid string and place; on x86-64 the kernel's structure is the C library's.
    let result = unsafe { libc::syscall(libc::SYS_newfstatat, dir, path.as_ptr(), &raw mut status, 0) };
    (result == 0).then_some(status)
}

/// Can the file at `path` be opened in this way? The error number where it cannot.
pub fn try_open(path: &CStr, flags: c_int) -> Result<(), c_int> {
    let flags = flags | libc::O_CLOEXEC | libc::O_NOCTTY | libc::O_NONBLOCK;
    // SAFETY: a valid string and integers.
    let fd = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags) };
    if fd < 0 {
        return Err(carom_base_sys::signal::errno());
    }
    drop(File(fd as c_int));
    Ok(())
}

/// This process.
pub fn process_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { libc::getpid() as u32 }
}

/// The real user and group of this process.
pub fn user_and_group() -> (libc::uid_t, libc::gid_t) {
    // SAFETY: no arguments.
    let user = unsafe { libc::getuid() };
    // SAFETY: no arguments.
    (user, unsafe { libc::getgid() })
}

/// The user as whom this process opens files.
pub fn effective_user() -> libc::uid_t {
    // SAFETY: no arguments.
    unsafe { libc::geteuid() }
}

/// Does the file at `path` have the extended attribute `name`?
pub fn has_attribute(path: &CStr, name: &CStr) -> bool {
    // SAFETY: valid strings; no place for the value, so only its size comes back.
    unsafe { libc::syscall(libc::SYS_getxattr, path.as_ptr(), name.as_ptr(), 0usize, 0usize) > 0 }
}

/// Where the link at `path` points to, in `place`.
pub fn link_target<'a>(path: &CStr, place: &'a mut [u8]) -> Option<&'a [u8]> {
    // SAFETY: a valid string and memory of this size.
    let length = unsafe { libc::syscall(libc::SYS_readlink, path.as_ptr(), place.as_mut_ptr(), place.len()) };
    place.get(..usize::try_from(length).ok()?)
}
