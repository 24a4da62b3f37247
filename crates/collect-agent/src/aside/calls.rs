//! The system calls that the agent and the engine make inside a program, with typical arguments.

/// A system call as a seccomp filter sees it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub name: &'static str,
    pub number: i64,
    pub arguments: [u64; 6],
}

/// `arguments`: the first ones; the others are 0.
const fn call(name: &'static str, number: i64, arguments: &[i32]) -> Call {
    let mut words = [0; 6];
    let mut index = 0;
    while index < arguments.len() {
        words[index] = arguments[index] as i64 as u64;
        index += 1;
    }
    Call { name, number, arguments: words }
}

/// Stands for any address, which no filter can look behind.
const PLACE: i32 = 0x10000;

/// A high descriptor.
const FD: i32 = 4096;

/// A page.
const BYTES: i32 = 4096;

const READ: i32 = libc::PROT_READ;
const WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;
const EXECUTE: i32 = libc::PROT_READ | libc::PROT_EXEC;
const OPEN: i32 = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOCTTY | libc::O_NONBLOCK;
const APPEND: i32 = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_NOFOLLOW | libc::O_CLOEXEC;
const CREATE: i32 = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_CLOEXEC;
const ANONYMOUS: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
const FIXED: i32 = libc::MAP_SHARED | libc::MAP_FIXED;

/// The calls that both engines need.
pub const ALWAYS: &[Call] = &[
    call("rt_sigprocmask", libc::SYS_rt_sigprocmask, &[libc::SIG_SETMASK, PLACE, PLACE, 8]),
    call("rt_sigaction", libc::SYS_rt_sigaction, &[libc::SIGUSR1, PLACE, PLACE, 8]),
    call("rt_sigreturn", libc::SYS_rt_sigreturn, &[]),
    call("rt_tgsigqueueinfo", libc::SYS_rt_tgsigqueueinfo, &[PLACE, PLACE, libc::SIGTRAP, PLACE]),
    call("sigaltstack", libc::SYS_sigaltstack, &[PLACE, PLACE]),
    call("clock_gettime", libc::SYS_clock_gettime, &[-6, PLACE]),
    call("futex", libc::SYS_futex, &[PLACE, libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG, 1, PLACE]),
    call("futex", libc::SYS_futex, &[PLACE, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1]),
    call("gettid", libc::SYS_gettid, &[]),
    call("getpid", libc::SYS_getpid, &[]),
    call("prctl", libc::SYS_prctl, &[libc::PR_GET_NAME, PLACE]),
    call("prlimit64", libc::SYS_prlimit64, &[0, libc::RLIMIT_NOFILE as i32, PLACE, PLACE]),
    call("openat", libc::SYS_openat, &[libc::AT_FDCWD, PLACE, OPEN]),
    call("openat", libc::SYS_openat, &[libc::AT_FDCWD, PLACE, APPEND, 0o600]),
    call("openat", libc::SYS_openat, &[libc::AT_FDCWD, PLACE, CREATE, 0o600]),
    call("read", libc::SYS_read, &[FD, PLACE, BYTES]),
    call("pread64", libc::SYS_pread64, &[FD, PLACE, BYTES]),
    call("write", libc::SYS_write, &[FD, PLACE, BYTES]),
    call("close", libc::SYS_close, &[FD]),
    call("fstat", libc::SYS_fstat, &[FD, PLACE]),
    call("newfstatat", libc::SYS_newfstatat, &[libc::AT_FDCWD, PLACE, PLACE]),
    call("fallocate", libc::SYS_fallocate, &[FD, 0, 0, BYTES]),
    call("mmap", libc::SYS_mmap, &[0, BYTES, WRITE, libc::MAP_SHARED, FD]),
    call("mmap", libc::SYS_mmap, &[0, BYTES, WRITE, ANONYMOUS, -1]),
    call("munmap", libc::SYS_munmap, &[PLACE, BYTES]),
    call("madvise", libc::SYS_madvise, &[PLACE, BYTES, libc::MADV_DONTNEED]),
];

/// The calls that clocks need where the vDSO does not answer.
pub const CLOCKS: &[Call] = &[
    call("clock_gettime", libc::SYS_clock_gettime, &[libc::CLOCK_MONOTONIC, PLACE]),
    call("getcpu", libc::SYS_getcpu, &[PLACE, 0, 0]),
];

/// The calls that threads' timers need where they are perf events.
pub const PERF: &[Call] = &[
    call("perf_event_open", libc::SYS_perf_event_open, &[PLACE, 0, -1, -1, 8]),
    call("ioctl", libc::SYS_ioctl, &[FD, 0x2401]),
    call("fcntl", libc::SYS_fcntl, &[FD, libc::F_DUPFD_CLOEXEC, FD]),
];

/// The calls that they need where they are POSIX timers.
pub const POSIX: &[Call] = &[
    call("timer_create", libc::SYS_timer_create, &[libc::CLOCK_THREAD_CPUTIME_ID, PLACE, PLACE]),
    call("timer_settime", libc::SYS_timer_settime, &[0, 0, PLACE]),
    call("timer_delete", libc::SYS_timer_delete, &[]),
];

/// Further calls that sampling by time needs.
pub const BURST: &[Call] =
    &[call("process_vm_readv", libc::SYS_process_vm_readv, &[PLACE, PLACE, 1, PLACE, 1])];

/// Further calls that translation needs.
pub const TRANSLATE: &[Call] = &[
    call("futex", libc::SYS_futex, &[PLACE, libc::FUTEX_LOCK_PI | libc::FUTEX_PRIVATE_FLAG, 0, PLACE]),
    call("futex", libc::SYS_futex, &[PLACE, libc::FUTEX_UNLOCK_PI | libc::FUTEX_PRIVATE_FLAG]),
    call("nanosleep", libc::SYS_nanosleep, &[PLACE]),
    call("memfd_create", libc::SYS_memfd_create, &[PLACE, libc::MFD_CLOEXEC as i32]),
    call("ftruncate", libc::SYS_ftruncate, &[FD, BYTES]),
    call("mmap", libc::SYS_mmap, &[PLACE, BYTES, READ, FIXED, FD]),
    call("mmap", libc::SYS_mmap, &[PLACE, BYTES, EXECUTE, FIXED, FD]),
    call("mprotect", libc::SYS_mprotect, &[PLACE, BYTES, WRITE]),
];
