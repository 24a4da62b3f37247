//! The answer of `carom share`.

use schemars::JsonSchema;
use serde::Serialize;

pub use super::{communication::*, remedy::model::*};
use crate::model::{Frame, Interval, Object, Real};

/// Which threads bounce which cache lines.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Share {
    /// False sharing as a fraction of all sharing, false / (true + false); null with too little data.
    pub false_fraction: Option<Interval>,
    /// Share of the samples that the contended lines take together: of thread time where `matrix.unit` is `samples`,
    /// else of the sampled accesses.
    pub contended_share: Interval,
    /// Present where too little was seen for fractions and matrices.
    pub not_enough: Option<NotEnoughData>,
    /// What is contended: variables, allocation sites, memory by the function that uses it. The largest share comes
    /// first, or, where the sharing is spread, the largest `following`. Their shares add up to `contended_share`, but for lines that are not listed.
    pub findings: Vec<SharingFinding>,
    /// How much is communicated in numbers; null where samples stand for thread time, and where nothing was seen.
    pub communication: Option<Communication>,
    /// Who communicates with whom.
    pub matrix: CommunicationMatrix,
    /// The shape of the thread matrix, where it has one.
    pub pattern: Option<MatrixPattern>,
    /// Sharing by order of accesses.
    pub kinds: SharingKinds,
    /// Sharing by where the two threads ran.
    pub distance: SharingDistance,
    /// Contended lines, the one that takes most samples first.
    pub lines: Vec<Line>,
    /// Lines with events of sharing that are not in `lines`: too few events, or beyond the limit.
    pub other_lines: usize,
}

/// Too few events for fractions and matrices.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct NotEnoughData {
    /// Events of sharing seen.
    pub events: usize,
    /// Events needed.
    pub needed: usize,
    /// Run at least this long, in seconds: for enough events or, where none was seen, for a line of 1% to show
    /// up. Null where there are no samples to extrapolate from.
    pub run_s: Option<Real>,
    /// Modelled: the part of the run's time that lines take to move between cores, at most and if no two move at once. Null
    /// where the time of one move was not measured.
    pub moving: Option<Real>,
    /// Whether that is so little that there is nothing to gain.
    pub negligible: bool,
}

/// Who communicates with whom. Directed: a row's thread wrote, a column's thread accessed the line later.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CommunicationMatrix {
    /// What a cell counts.
    pub unit: MatrixUnit,
    /// What rows stand for: `earlier writer`.
    pub rows: String,
    /// What columns stand for: `later accessor`.
    pub columns: String,
    /// The cells by thread; labels are thread ids.
    #[serde(flatten)]
    pub threads: Cells,
    /// The same by logical processor; labels are the kernel's numbers.
    pub cores: Cells,
    /// What older tools report, for comparison: the last writer of each sampled line, whenever it wrote.
    pub last_writer: Cells,
}

/// What a cell counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MatrixUnit {
    /// Samples, weighted by what they stand for.
    Samples,
    /// Accesses, estimated from samples.
    Accesses,
    /// Transfers of a line.
    Transfers,
}

impl MatrixUnit {
    /// The plural noun.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Samples => "samples",
            Self::Accesses => "accesses",
            Self::Transfers => "transfers",
        }
    }

    /// The noun with what the numbers are.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Samples => "samples, weighted",
            Self::Accesses => "accesses, estimated",
            Self::Transfers => "transfers, estimated",
        }
    }

    /// What shares are of.
    pub const fn whole(self) -> &'static str {
        match self {
            Self::Samples => "thread time",
            Self::Accesses | Self::Transfers => "memory accesses",
        }
    }
}

/// Square matrices, one row and column per label.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Cells {
    /// What rows and columns stand for, in natural order.
    pub labels: Vec<u32>,
    /// True and false sharing together.
    pub all: Vec<Vec<Real>>,
    /// True sharing: the accesses have bytes in common.
    #[serde(rename = "true")]
    pub true_sharing: Vec<Vec<Real>>,
    /// False sharing: the accesses only share the line.
    #[serde(rename = "false")]
    pub false_sharing: Vec<Vec<Real>>,
    /// Volume of the threads or processors that are not listed, because only the busiest are.
    pub unlisted: Real,
}

/// A shape that the thread matrix has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum MatrixPattern {
    /// Nearly all volume has one thread at one end.
    MasterWorker {
        /// Id of that thread.
        master: u32,
    },
    /// Nearly all volume is between threads with neighbouring numbers.
    NearestNeighbour,
    /// The threads fall into groups that keep to themselves.
    Groups {
        /// Ids of the threads of each group.
        groups: Vec<Vec<u32>>,
    },
    /// Every thread with every other, about equally.
    AllToAll,
}

/// Sharing by order of accesses, in the matrix's unit.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SharingKinds {
    /// Read after write.
    pub raw: Real,
    /// Write after write.
    pub waw: Real,
}

/// Sharing by where the two threads ran, in the matrix's unit. Threads that share a core move no line.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SharingDistance {
    /// On different cores.
    pub cross_core: Real,
    /// On two hardware threads of one core.
    pub smt_siblings: Real,
    /// On one logical processor, one after the other.
    pub same_cpu: Real,
}

/// An object, or all of one kind, with contended lines.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SharingFinding {
    /// The object; of several, the one whose line shows most sharing.
    pub object: Object,
    /// The share of all its contended lines together, as `contended_share`, with its 95% confidence interval.
    pub share_interval: Interval,
    /// The part of all accesses that follow another thread's write on these lines, by estimate; null where samples stand for
    /// thread time.
    pub following: Option<Real>,
    /// Whether the sharing is spread over many lines with few events each. Then there are more lines than were seen to be
    /// shared, `share_interval` is too low, and `following` says how much it is.
    pub spread: bool,
    /// True sharing on these lines, in the matrix's unit.
    #[serde(rename = "true")]
    pub true_sharing: Real,
    /// False sharing on these lines, in the matrix's unit.
    #[serde(rename = "false")]
    pub false_sharing: Real,
    /// Events of sharing seen on these lines, unweighted.
    pub events: u64,
    /// The places of its lines in `lines`, the one with the largest share first.
    pub lines: Vec<usize>,
    /// Its contended lines that `lines` does not list.
    pub other_lines: usize,
    /// What would end the contention on the first of its lines.
    pub remedy: Remedy,
}

/// One contended cache line.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Line {
    /// Id of the process whose address this is; where processes share the line, of one of them.
    pub process: u32,
    /// First byte of the line, in hexadecimal.
    pub address: String,
    /// Which memory this is a line of, where processes may share it; null for memory of one process.
    pub shared: Option<SharedMemory>,
    /// Share of all last-instruction samples, or of the sampled accesses, that went to this line: see
    /// `contended_share`.
    pub share_of_samples: Real,
    /// The same with its 95% confidence interval.
    pub share_interval: Interval,
    /// True sharing on this line, in the matrix's unit.
    #[serde(rename = "true")]
    pub true_sharing: Real,
    /// False sharing on this line, in the matrix's unit.
    #[serde(rename = "false")]
    pub false_sharing: Real,
    /// False sharing on this line as a fraction of its sharing; null with too few events.
    pub false_fraction: Option<Interval>,
    /// Which events `true`, `false` and `pair` come from.
    pub basis: Basis,
    /// Events of sharing seen on this line, unweighted.
    pub events: u64,
    /// The two threads that exchange it most.
    pub pair: Option<ThreadPair>,
    /// What lies there.
    pub object: Object,
    /// Who touches which bytes from where, most samples first.
    pub sites: Vec<Site>,
    /// The bytes that threads touch, in order of offset.
    pub layout: Vec<Bytes>,
    /// What would end the contention.
    pub remedy: Remedy,
}

/// A line of memory that processes may share: by this it is known, for its addresses differ from process to process.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SharedMemory {
    /// The file, or what people know the memory by.
    pub segment: String,
    /// Where in it the line begins.
    pub offset_bytes: u64,
    /// The processes that were seen to touch the line.
    pub processes: Vec<SharedPlace>,
}

/// A line of shared memory in one process.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SharedPlace {
    /// Id of the process.
    pub process: u32,
    /// First byte of the line there, in hexadecimal; null where it is not known.
    pub address: Option<String>,
}

/// Kinds of sample that lead to events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Instructions picked at random: proportions are those of executed instructions.
    Step,
    /// Weighted by time: they say who and how, but their proportions are not those of executed instructions.
    LastInstruction,
}

/// Two threads and what passes between them, in both directions.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct ThreadPair {
    /// Ids of the two.
    pub threads: [u32; 2],
    /// Part of the line's volume that passes between them.
    pub fraction: Real,
}

/// One thread's accesses to one place in a line from one instruction.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Site {
    /// Id of the thread.
    pub thread: u32,
    /// Load, store or both.
    pub kind: SiteKind,
    /// First byte touched, from the start of the line.
    pub offset_bytes: u32,
    /// Bytes touched.
    pub width_bytes: u32,
    /// Whether the access touches bytes of another line, too.
    pub splits_line: bool,
    /// Variable or field there, where known.
    pub field: Option<String>,
    /// Innermost function, where known.
    pub function: Option<String>,
    /// Its source file.
    pub file: Option<String>,
    /// Its source line.
    pub line: Option<u32>,
    /// Share of all last-instruction samples, or of the sampled accesses.
    pub share_of_samples: Real,
    /// Samples of either kind and events that saw this site.
    pub seen: u64,
    /// The call path, innermost first.
    pub call_path: Vec<Frame>,
}

/// Load, store or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SiteKind {
    /// It reads.
    Load,
    /// It writes.
    Store,
    /// It reads and writes the same bytes.
    Rmw,
}

impl SiteKind {
    /// The word for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Rmw => "rmw",
        }
    }
}

/// A run of bytes that is accessed as one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Bytes {
    /// First byte, from the start of the line.
    pub offset_bytes: u32,
    /// How many.
    pub width_bytes: u32,
    /// Variable or field there, where known.
    pub field: Option<String>,
    /// Ids of threads that read it.
    pub readers: Vec<u32>,
    /// Ids of threads that write it.
    pub writers: Vec<u32>,
}
