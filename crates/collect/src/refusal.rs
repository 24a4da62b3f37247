//! Why a program is not run: what is missing, and what cannot be profiled.

use std::io;

/// Why a program cannot be profiled, with what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No loader, so no preloading.
    #[error("statically linked, so the agent cannot be loaded into it; link it in (see `carom link-flags`)")]
    Static,
    /// The same without a C library, into which the agent could be linked.
    #[error(
        "a statically linked Go program: the agent can neither be loaded nor linked into it; build it with cgo \
         (CGO_ENABLED=1 go build -ldflags=-linkmode=external)"
    )]
    StaticGo,
    /// Privileged programs ignore LD_PRELOAD.
    #[error("setuid or setgid: the loader ignores the agent in it; run it as its owner, without the bit")]
    Privileged,
    /// Another architecture.
    #[error("not an x86-64 program ({0}); carom profiles 64-bit x86 programs only")]
    Architecture(String),
    /// Another C library.
    #[error("uses the loader {0}, not glibc's; the agent needs glibc")]
    Loader(String),
    /// The Go runtime installs its own handler for every signal. The translator handles them before it does.
    #[error(
        "a Go program: its runtime replaces every signal handler, that of the burst engine too; try --engine translate"
    )]
    Go,
    /// The library of a sanitizer has to be loaded before the agent, or finds its own state changed.
    #[error(
        "built with a sanitizer, whose library ({0}) does not work behind the agent; profile a build without it"
    )]
    Sanitizer(String),
    /// Not an executable.
    #[error("not an ELF program nor a script that names one")]
    NotAProgram,
}

/// What is missing where a program is not found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Absence {
    /// The empty name, as of a shell variable that is not set.
    #[error("the program's name is empty")]
    Name,
    /// The program itself.
    #[error("no such program")]
    Program,
    /// It is not on PATH, but the current directory has a file of this name.
    #[error("no such program on PATH; for the one in this directory, write ./{0}")]
    OnPath(String),
    /// What a script names in its first line.
    #[error("its interpreter {0} does not exist")]
    Interpreter(String),
}

/// Why [`examine`](crate::examine) has failed.
#[derive(Debug)]
pub enum Obstacle {
    /// Something is missing.
    Absent(Absence),
    /// It is there but cannot be read or executed.
    Io(io::Error),
    /// It cannot be profiled.
    Refused(Refusal),
}
