use thiserror::Error;

use super::Machine;

/// Why a machine cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The number of sockets.
    #[error("a machine has 1 to {most} sockets, not {0}", most = Machine::MOST_SOCKETS)]
    Sockets(usize),
    /// The number of cores.
    #[error("a socket has at least 1 core, and all sockets at most {most}: {0} is refused", most = Machine::MOST_CORES)]
    Cores(usize),
    /// The size of a line.
    #[error("a line has 8 to 4096 bytes, a power of two, not {0}")]
    Line(u32),
    /// The number of ways.
    #[error("{level}: a set has 1 to {most} ways, not {ways}", most = Machine::MOST_WAYS)]
    Ways {
        /// The cache.
        level: &'static str,
        /// The number.
        ways: u32,
    },
    /// The ways do not form a tree.
    #[error("{level}: plru needs a power of two of ways, at most 64, not {ways}")]
    Tree {
        /// The cache.
        level: &'static str,
        /// The number.
        ways: u32,
    },
    /// The size is no number of sets.
    #[error(
        "{level}: {bytes} bytes are no whole number of sets of {set_bytes} bytes (ways times bytes of a line)"
    )]
    Size {
        /// The cache.
        level: &'static str,
        /// Its size.
        bytes: u64,
        /// The size of a set.
        set_bytes: u64,
    },
    /// The file is not TOML, or has other keys.
    #[error("{0}")]
    File(String),
    /// A size in a file is no number of bytes.
    #[error("\"{0}\" is no size: write a number of bytes, or a number with KiB, MiB or GiB")]
    Unit(String),
    /// The system does not say what its caches are.
    #[error("the system does not describe its first-level data cache")]
    NoCaches,
    /// Masks cannot tell the parts of a line apart.
    #[error(
        "masks of {mask_bytes} bytes: a power of two is needed that cuts a line of {line_bytes} bytes into at most 64"
    )]
    Mask {
        /// Bytes for each bit.
        mask_bytes: u32,
        /// Bytes of a line.
        line_bytes: u32,
    },
    /// The sets cannot be divided so.
    #[error("part {index} of {of}: this machine can be simulated in a power of two of parts, at most {most}")]
    Part {
        /// The part, from 0.
        index: u64,
        /// Into how many.
        of: u64,
        /// The most.
        most: u64,
    },
    /// A fully associative cache has one set.
    #[error("telling conflict from capacity misses needs all lines in one part")]
    ConflictsInParts,
    /// A thread is placed on a core that the machine lacks.
    #[error("core {core} is not one of the machine's {cores}")]
    NoSuchCore {
        /// The core.
        core: usize,
        /// How many there are.
        cores: usize,
    },
}
