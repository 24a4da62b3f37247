//! Linking the agent into a statically linked program, which no loader can give it (thesis 5.3.3).

use std::{
    io,
    path::{Path, PathBuf},
};

/// The functions that the agent hooks, by `ld --wrap`. The archive has a `__wrap_` function for each.
pub const HOOKS: &[&str] = &[
    "_Exit",
    "__sysv_signal",
    "_exit",
    "aligned_alloc",
    "bsd_signal",
    "calloc",
    "execl",
    "execle",
    "execlp",
    "execv",
    "execve",
    "execveat",
    "execvp",
    "execvpe",
    "fexecve",
    "free",
    "malloc",
    "memalign",
    "posix_memalign",
    "posix_spawn",
    "posix_spawnp",
    "prctl",
    "pthread_create",
    "pthread_sigmask",
    "pvalloc",
    "realloc",
    "reallocarray",
    "sigaction",
    "sigaltstack",
    "sigblock",
    "sighold",
    "sigignore",
    "siginterrupt",
    "signal",
    "sigprocmask",
    "sigrelse",
    "sigset",
    "sigsetmask",
    "ssignal",
    "syscall",
    "sysv_signal",
    "thrd_create",
    "valloc",
];

/// Symbols that nothing refers to, so that a linker would leave them in the archive: beginning, end, and the mark by
/// which [`examine`](crate::examine) recognises the program.
const KEPT: &[&str] = &["carom_agent_on_load", "carom_agent_on_unload", "carom_agent_mark"];

/// Functions and call paths are found by the table that this makes; `cc -static` leaves it out.
const TABLE: &str = "-Wl,--eh-frame-hdr";

const ARCHIVE: &str = "libcarom_agent.a";

/// The flags that link `archive` into a program, for `cc` behind the program's own objects.
///
/// The linker warns of `getaddrinfo` and `getpwuid_r`: Rust's standard library has them, the agent does not call
/// them.
pub fn link_flags(archive: &Path) -> Vec<String> {
    // The C library itself may be the first to call a hooked function, when the archive has been passed
    // already: so every hook is asked for beforehand.
    let hooks = HOOKS.iter().map(|name| format!("-Wl,--wrap={name},--undefined=__wrap_{name}"));
    let kept = KEPT.iter().map(|name| format!("-Wl,--undefined={name}"));
    // Libraries that the agent needs: they were separate from the C library before glibc 2.34.
    let libraries = ["-lpthread", "-ldl", "-lm"].map(str::to_owned);
    let table_and_archive = [TABLE.to_owned(), archive.display().to_string()];
    hooks.chain(kept).chain(table_and_archive).chain(libraries).collect()
}

/// The archive: where `make install` puts it, or where `make static` leaves it in a build tree.
///
/// # Errors
/// It is in neither place.
pub fn find_archive() -> io::Result<PathBuf> {
    let exe = std::env::current_exe()?;
    let bin = exe.parent().unwrap_or(Path::new("/"));
    let places = [bin.join("../lib/carom").join(ARCHIVE), bin.join("../static/release").join(ARCHIVE)];
    places.iter().find_map(|place| place.canonicalize().ok()).ok_or_else(|| {
        let message =
            format!("{ARCHIVE} is not in ../lib/carom from {}; `make install` puts it there", exe.display());
        io::Error::new(io::ErrorKind::NotFound, message)
    })
}
