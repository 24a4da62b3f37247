//! What can go wrong with memory, why, and what helps.

/// Why the engine did not get the memory that it needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The limit on address space.
    #[error("{what}: no room within RLIMIT_AS ({limit} bytes): raise it (ulimit -v unlimited)")]
    AddressSpaceLimit {
        /// What the memory was for.
        what: &'static str,
        /// The limit, in bytes.
        limit: u64,
    },
    /// The limit on private writable memory.
    #[error("{what}: no room within RLIMIT_DATA ({limit} bytes): raise it (ulimit -d unlimited)")]
    DataLimit {
        /// What the memory was for.
        what: &'static str,
        /// The limit, in bytes.
        limit: u64,
    },
    /// The program locks all of its memory, and no more may be locked.
    #[error(
        "{what}: the program locks its memory (mlockall), and RLIMIT_MEMLOCK is reached: raise it (ulimit -l)"
    )]
    LockedLimit {
        /// What the memory was for.
        what: &'static str,
    },
    /// Strict accounting of memory.
    #[error(
        "{what}: vm.overcommit_memory is 2 and the commit limit is reached: raise vm.overcommit_ratio, or add swap"
    )]
    CommitLimit {
        /// What the memory was for.
        what: &'static str,
    },
    /// The limit on the number of mappings.
    #[error("{what}: the process has {mappings} mappings, vm.max_map_count allows {limit}: raise it")]
    TooManyMappings {
        /// What the memory was for.
        what: &'static str,
        /// How many there are.
        mappings: u64,
        /// How many there may be.
        limit: u64,
    },
    /// The program leaves no hole where the engine needs one.
    #[error("{what}: no free {bytes} bytes of address space between {low:#x} and {high:#x}")]
    NoHole {
        /// What the memory was for.
        what: &'static str,
        /// The bytes needed.
        bytes: u64,
        /// Its lowest possible address.
        low: u64,
        /// Where it must end.
        high: u64,
    },
    /// Memory of a file in memory must not be executed.
    #[error(
        "executable memory is denied (errno {errno}): a security policy (SELinux, a seccomp filter, a noexec shm \
         mount) forbids to map a memfd PROT_EXEC"
    )]
    ExecutionDenied {
        /// The error of mmap.
        errno: i32,
    },
    /// Files in memory cannot be made.
    #[error(
        "memfd_create is denied (errno {errno}): a seccomp filter forbids it, or vm.memfd_noexec is 2 on a kernel \
         that cannot seal"
    )]
    NoMemoryFile {
        /// The error of memfd_create.
        errno: i32,
    },
    /// The limit on the size of files, which counts for files in memory too; beyond it the kernel raises SIGXFSZ.
    #[error(
        "RLIMIT_FSIZE ({limit} bytes) is less than an arena of translated code: raise it (ulimit -f unlimited)"
    )]
    FileSizeLimit {
        /// The limit, in bytes.
        limit: u64,
    },
    /// All lanes are taken.
    #[error("more than {most} threads at a time")]
    NoLane {
        /// How many lanes there are.
        most: usize,
    },
    /// One part of the arena is full.
    #[error("the arena has no room for {hot} + {cold} bytes of code")]
    ArenaFull {
        /// Bytes asked for in the hot part.
        hot: usize,
        /// Bytes asked for in the cold part.
        cold: usize,
    },
    /// A write outside of what was allocated in an arena.
    #[error("{bytes} bytes at {at:#x} are not allocated in this arena")]
    NotAllocated {
        /// The execution address.
        at: u64,
        /// How many bytes.
        bytes: usize,
    },
    /// A patch that other cores could see half done.
    #[error("a patch of {bytes} bytes at {at:#x} crosses a boundary of 8 bytes, so it is not atomic")]
    Torn {
        /// The execution address.
        at: u64,
        /// How many bytes.
        bytes: usize,
    },
    /// The list of mappings cannot be read.
    #[error("/proc/self/maps cannot be read (errno {errno}): mount /proc")]
    NoMaps {
        /// The error of open or read.
        errno: i32,
    },
    /// Any other failure.
    #[error("{what}: {call} failed (errno {errno})")]
    System {
        /// What the memory was for.
        what: &'static str,
        /// The system call.
        call: &'static str,
        /// Its error number.
        errno: i32,
    },
}
