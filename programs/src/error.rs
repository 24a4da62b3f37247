//! What can go wrong before, while and after a workload runs.

/// Why a workload could not run, or could not report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Point-to-point joins threads two by two.
    #[error("threads work in pairs: --threads must be even, not {0}")]
    OddThreads(usize),
    /// One fraction for all pairs, or one for each.
    #[error("{given} sharing fractions for {pairs} pairs: give one for all or one for each")]
    FractionsPerPair {
        /// How many were given.
        given: usize,
        /// How many pairs there are.
        pairs: usize,
    },
    /// Only some lengths are assembled into the binary.
    #[error("no loop of {length} instructions; there are {available}")]
    NoSuchLength {
        /// What was asked for, in instructions.
        length: u64,
        /// The lengths that there are, ready to print.
        available: String,
    },
    /// The loop's own two instructions cannot be the contended one.
    #[error("no contended access at position {position} in the loop of {length}: they run from 0 to {last}")]
    NoSuchPosition {
        /// What was asked for.
        position: u64,
        /// The loop's length in instructions.
        length: u64,
        /// The last position.
        last: u64,
    },
    /// Only some loops are assembled into the binary.
    #[error("no loop of {accesses} accesses")]
    NoSuchLoop {
        /// What was asked for.
        accesses: usize,
    },
    /// More than any machine could make, or a counter hold.
    #[error("these parameters ask for more accesses than can be counted")]
    TooManyAccesses,
    /// Each thread needs one at least.
    #[error("{buckets} buckets for {threads} threads: give each one at least")]
    TooFewBuckets {
        /// How many there would be.
        buckets: u64,
        /// How many threads share them.
        threads: usize,
    },
    /// Memory for a thread's data was refused.
    #[error("cannot map {bytes} bytes: {source}")]
    Map {
        /// How many were asked for.
        bytes: usize,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// The kernel did not tell which processors this process may use.
    #[error("cannot read the CPU affinity: {0}")]
    ReadAffinity(rustix::io::Errno),
    /// The kernel refused to pin a thread.
    #[error("cannot pin a thread to CPU {cpu}: {source}")]
    SetAffinity {
        /// The processor.
        cpu: usize,
        /// The kernel's answer.
        source: rustix::io::Errno,
    },
    /// A thread could not be created.
    #[error("cannot start worker-{worker}: {source}")]
    Spawn {
        /// The number of the thread.
        worker: usize,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A worker ended by a panic; its message is on stderr.
    #[error("a worker panicked")]
    WorkerPanicked,
    /// Standard output or a log could not be written.
    #[error("cannot write the result: {0}")]
    Print(#[from] std::io::Error),
}
