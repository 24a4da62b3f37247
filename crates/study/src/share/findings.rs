//! What the sharing study concludes. Plain values: `carom-view` lays them out.

use std::collections::BTreeMap;

use carom_base::{AccessKind, Addr, Cpu, Population, ProcessId, SegmentId, ThreadId};

use super::{Check, Primitive};
use crate::Estimate;
use crate::recording::Losses;
use crate::symbols::{ArrayObject, DataObject, Frame};

/// Everything that `carom share` has to say about a recording.
#[derive(Clone, Debug)]
pub struct ShareFindings {
    /// The amount of communication; `None` in [`Unit::Samples`], and where no event was seen.
    pub communication: Option<Communication>,
    /// What shares are of, and what volumes are in.
    pub unit: Unit,
    /// Numbers of samples, and losses.
    pub quality: Quality,
    /// False sharing as a fraction of all sharing: false / (true + false). `None` under
    /// [`crate::share::ENOUGH_EVENTS`] events.
    pub false_fraction: Option<Estimate>,
    /// Share of the sampled thread time, or of the accesses, that the contended lines take together.
    pub contended_share: Estimate,
    /// Read-after-write and write-after-write.
    pub kinds: Kinds,
    /// Who communicates with whom, by thread.
    pub threads: Matrix<ThreadId>,
    /// The same by processor.
    pub cpus: Matrix<Cpu>,
    /// Where the two ends of the communication ran.
    pub distance: Distance,
    /// The naive matrix of older tools for comparison: the last writer of each sampled line, whenever it wrote.
    pub last_writer: Matrix<ThreadId>,
    /// The pattern of the thread matrix, where there is one.
    pub pattern: Option<Pattern>,
    /// What is contended, the one with the largest share first; where the sharing is spread, [`ObjectFinding::following`] counts
    /// instead.
    pub objects: Vec<ObjectFinding>,
    /// Contended lines, the one with the largest share first, at most [`crate::share::MAX_LINES`]. Each has at least
    /// [`crate::share::MIN_LINE_EVENTS`] events, or its object has many lines with fewer.
    pub lines: Vec<LineFinding>,
    /// Lines with events that are not in `lines`: too few events, or beyond the limit.
    pub other_lines: usize,
    /// Where too few events were seen: how many seconds of the same program would be enough, as far as the
    /// observed rate tells. `None` inside means that no event at all was seen.
    pub not_enough: Option<NotEnough>,
}

/// What shares are of, and in what volumes are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Shares are of thread time: of last-instruction samples. Volumes are sums of the weights of events.
    #[default]
    Samples,
    /// Shares are of the accesses that were sampled. Volumes are estimates of how many accesses communicated: weights
    /// of events times the period (ComDetective 3.3, thesis 5.3.2).
    Accesses,
}

/// The amount of communication. Estimates, not counts; their intervals have the error of sampling only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Communication {
    /// Accesses to contended lines by any thread; unbiased. `None` where none was sampled.
    pub contended: Option<Estimate>,
    /// Accesses to lines that another thread had just written, by the scaling of ComDetective 3.3: everything in the
    /// matrix of threads.
    pub accesses: Estimate,
    /// The number of times a contended line went from one thread's core to another's, by a model: see
    /// `transfers.rs`. `None` where no sample shows one.
    pub transfers: Option<Estimate>,
    /// The transfers, from the last writer to the thread that fetched the line.
    pub by_thread: Matrix<ThreadId>,
}

/// Too few events for fractions and matrices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotEnough {
    /// Events seen.
    pub events: usize,
    /// Run at least this long, in seconds; `None` where nothing was seen to extrapolate from.
    pub run_seconds: Option<f64>,
    /// The part of the run's time that lines need, at most, to move between cores, if no two move at once: the upper end of the
    /// interval of the accesses that follow another thread's write, by the time of one transfer. `None` where the recording
    /// does not know that time, or samples do not stand for accesses.
    pub moving: Option<f64>,
}

/// Counts that say how far the numbers can be trusted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quality {
    /// Last-instruction samples (time-weighted).
    pub last_instruction: u64,
    /// Step samples: of executed instructions (`burst`), or of accesses (`translate`).
    pub step: u64,
    /// Sharing events, unweighted.
    pub events: u64,
    /// Samples by how often their period had been doubled ([`carom_base::Sample::doublings`]), both populations.
    pub doublings: BTreeMap<u8, u64>,
    /// Samples without an address, by reason (see [`carom_base::Skip`]), both populations.
    pub skipped: Vec<(carom_base::Skip, u64)>,
    /// What was done and lost while recording.
    pub losses: Losses,
}

/// Sharing by order of accesses, in the findings' unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Kinds {
    /// The later access only loads.
    pub read_after_write: f64,
    /// The later access writes.
    pub write_after_write: f64,
}

/// A directed matrix: `all[i][j]` is what flowed from writer `labels[i]` to the later accessor `labels[j]`,
/// in the findings' unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix<L> {
    /// What rows and columns stand for, in natural order.
    pub labels: Vec<L>,
    /// True and false sharing together.
    pub all: Vec<Vec<f64>>,
    /// True sharing.
    pub true_sharing: Vec<Vec<f64>>,
    /// False sharing.
    pub false_sharing: Vec<Vec<f64>>,
    /// Volume of those that are not listed, because only the busiest
    /// [`crate::share::MAX_MATRIX_LABELS`] are.
    pub unlisted: f64,
}

/// Volume by where the two threads ran (thesis 5.4.1: threads that share a core move no line).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Distance {
    /// On different cores.
    pub cross_core: f64,
    /// On two hardware threads of one core.
    pub smt_siblings: f64,
    /// On the same logical processor, one after the other.
    pub same_cpu: f64,
}

/// A shape that the thread matrix has.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Nearly all volume has one thread at one end.
    MasterWorker {
        /// That thread.
        master: ThreadId,
    },
    /// Nearly all volume is between threads with neighbouring numbers.
    NearestNeighbour,
    /// The threads fall into groups that keep to themselves.
    Groups(Vec<Vec<ThreadId>>),
    /// Every thread with every other, about equally.
    AllToAll,
}

/// An object, or all of one kind, with contended lines: variables by their names, heap blocks by their allocation site, memory
/// without a name by the function that uses it most.
#[derive(Clone, Debug)]
pub struct ObjectFinding {
    /// The object; of several, the one of the line with most events.
    pub object: DataObject,
    /// As [`LineFinding::share`], of all its contended lines together.
    pub share: Estimate,
    /// The part of all accesses that follow another thread's write on these lines, by estimate. `None` in
    /// [`Unit::Samples`].
    pub following: Option<f64>,
    /// As [`LineFinding::true_sharing`].
    pub true_sharing: f64,
    /// As [`LineFinding::false_sharing`].
    pub false_sharing: f64,
    /// Sharing events, unweighted.
    pub events: u64,
    /// What to do: the remedy for the first of its lines, or, where they have few events each, for all together.
    pub remedy: Remedy,
    /// What a simulation said of the remedy, where one was asked.
    pub check: Option<Check>,
    /// Whether each of its lines has a small part of its events. Then there are more of them than were seen to be shared,
    /// and [`share`](Self::share) is too low.
    pub spread: bool,
    /// Its lines, by their places in [`ShareFindings::lines`]; never empty.
    pub lines: Vec<usize>,
    /// Its contended lines that are not listed there.
    pub other_lines: usize,
}

/// One contended cache line.
#[derive(Clone, Debug)]
pub struct LineFinding {
    /// The process whose address this is; where several share it, the first of them.
    pub process: ProcessId,
    /// First byte of the line.
    pub address: Addr,
    /// Where the line is in memory that processes may share, if it is.
    pub shared: Option<SharedLine>,
    /// Share of all last-instruction samples, or of the sampled accesses, that went to this line.
    pub share: Estimate,
    /// True sharing on this line, in the findings' unit.
    pub true_sharing: f64,
    /// False sharing on this line, in the findings' unit.
    pub false_sharing: f64,
    /// False sharing as a fraction of the sharing on this line. `None` under
    /// [`crate::share::ENOUGH_EVENTS`] events of the population that `basis` names.
    pub false_fraction: Option<Estimate>,
    /// Which events `true_sharing`, `false_sharing` and `pair` come from: [`Population::Step`], unless the line
    /// has fewer than [`crate::share::MIN_LINE_EVENTS`] of those and more of the other kind. Time-weighted
    /// events say who and how, but their proportions are not those of executed instructions.
    pub basis: Population,
    /// Sharing events on this line, unweighted, both populations.
    pub events: u64,
    /// The two threads that exchange it most.
    pub pair: Option<ThreadPair>,
    /// What lies there.
    pub object: DataObject,
    /// Who touches which bytes from where, most samples first.
    pub sites: Vec<Site>,
    /// The line's bytes, as ranges that threads touch, in order of offset.
    pub layout: Vec<ByteRange>,
    /// What to do.
    pub remedy: Remedy,
}

/// A line of memory that processes may share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLine {
    /// Which memory.
    pub segment: SegmentId,
    /// Where in it the line begins.
    pub offset: u64,
    /// The processes that were seen to touch the line, and where it lies in each, as far as known.
    pub places: Vec<(ProcessId, Option<Addr>)>,
}

/// Two threads and what passes between them, in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThreadPair {
    /// The thread with the lower number.
    pub first: ThreadId,
    /// The thread with the higher number.
    pub second: ThreadId,
    /// Fraction of the line's volume that passes between the two.
    pub fraction: f64,
}

/// One thread's accesses to one place in the line from one instruction.
#[derive(Clone, Debug)]
pub struct Site {
    /// Who.
    pub thread: ThreadId,
    /// Load, store or both.
    pub kind: AccessKind,
    /// First byte touched, from the start of the line.
    pub offset: u32,
    /// Bytes touched.
    pub width: u32,
    /// Whether the access touches bytes of another line, too.
    pub splits_line: bool,
    /// The variable or struct field at that offset, such as `stats.hits`, where debug information tells.
    pub field: Option<String>,
    /// The call path, innermost (inlined) function first. Empty where nothing is known.
    pub frames: Vec<Frame>,
    /// Share of all last-instruction samples, or of the sampled accesses.
    pub share: f64,
    /// Samples of either kind and sharing events that saw this site.
    pub seen: u64,
}

/// A run of bytes in a line that is accessed as one, or that has a name although nobody was seen at it: then
/// it has neither readers nor writers.
#[derive(Clone, Debug, PartialEq)]
pub struct ByteRange {
    /// First byte, from the start of the line.
    pub offset: u32,
    /// Bytes.
    pub width: u32,
    /// Variable or field, where known.
    pub field: Option<String>,
    /// Threads that read it.
    pub readers: Vec<ThreadId>,
    /// Threads that write it.
    pub writers: Vec<ThreadId>,
}

/// A lock, or the like, that threads contend for.
#[derive(Clone, Debug, PartialEq)]
pub struct Contended {
    /// Which kind.
    pub primitive: Primitive,
    /// The variable or field that it is, where known.
    pub name: Option<String>,
    /// The functions of the program that use it, most samples first, at most [`crate::share::MAX_USERS`].
    pub users: Vec<Frame>,
    /// Whether it lies elsewhere: what is contended here is data that the same functions use.
    pub elsewhere: bool,
    /// Whether it is one of several in the elements of an array; the name has `[..]` for their index.
    pub several: bool,
}

/// What is to be parted.
#[derive(Clone, Debug, PartialEq)]
pub enum Parts {
    /// Parts of one object.
    Fields,
    /// The elements of an array.
    Elements(ArrayObject),
    /// Parts of one object that have this many bytes each, all along it. No type tells so.
    Repeated(u64),
    /// Variables that only lie side by side.
    Variables,
    /// Heap blocks that the allocator has put side by side.
    Blocks,
    /// The pieces of an array that threads work on, which are too small: each thread has many, side by side with those of others.
    Pieces,
}

/// Data that threads hand to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handed {
    /// The array that it is; `None` where it has no name.
    pub array: Option<String>,
    /// Whether one thread writes it for the others.
    pub by_one: bool,
}

/// What is to be put on different lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Padding {
    /// Where the parts begin, from the start of the line, all but the first: that may stay.
    pub at_line_offsets: Vec<u32>,
    /// The names of all parts in their order; empty where unknown.
    pub fields: Vec<String>,
    /// What they are.
    pub of: Parts,
}

/// What would end the contention on a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Remedy {
    /// False sharing: part what different threads use.
    Pad(Padding),
    /// True sharing: give each thread its own copy, batch updates, or update less often.
    ShareLess {
        /// The bytes that several threads exchange.
        offset: u32,
        /// How many.
        width: u32,
        /// What these are part of, if threads hand it to each other.
        handed: Option<Handed>,
        /// Whether these are one of many elements of the object that threads use alike.
        elements: bool,
    },
    /// Threads wait for a lock or its like, or count references: use it less often, or have several.
    Contend(Contended),
    /// Both at once: pad first, then look again.
    PadThenShareLess {
        /// What is to be parted.
        padding: Padding,
        /// The lock, or the like, that threads contend for on the same line.
        lock: Option<Contended>,
    },
}
