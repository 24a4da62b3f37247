use schemars::JsonSchema;
use serde::Serialize;

use super::super::communication::EstimateBasis;
use crate::model::{Frame, Real};

/// What would end the contention on a line.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Remedy {
    /// Which kind of change.
    pub kind: RemedyKind,
    /// Where to pad or align, from the start of the line.
    pub at_line_offsets_bytes: Vec<u32>,
    /// The lock, or the like, that threads contend for; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<Contended>,
    /// For people: what to do.
    pub text: String,
    /// The evidence, in words.
    pub evidence: String,
    /// With `--check-remedy`, for the worst findings: what a simulation of another run says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<RemedyCheck>,
}

/// What a simulation says of a remedy.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RemedyCheck {
    /// Whether the remedy holds.
    pub outcome: CheckOutcome,
    /// For people: the outcome.
    pub text: String,
    /// The numbers; null where nothing was simulated.
    pub simulated: Option<SimulatedRemedy>,
}

/// What became of a remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckOutcome {
    /// Fewer lines go from core to core.
    Supported,
    /// As many go, or more: the remedy's change of the layout is withdrawn, and `at_line_offsets_bytes` is empty.
    Withdrawn,
    /// It could not be simulated; the remedy stays.
    Unchecked,
    /// It is no change of a layout.
    NotOfLayout,
}

/// The accesses of another run, simulated with the layout as it is and as the remedy asks for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimulatedRemedy {
    /// How these numbers came about: `modelled`.
    pub basis: EstimateBasis,
    /// The simulated machine.
    pub machine: String,
    /// How many accesses were simulated.
    pub accesses: u64,
    /// The changes, as `carom simulate --what-if` has them.
    pub changes: Vec<String>,
    /// How often stores took the lines of the changed objects from other cores.
    pub transfers_before: u64,
    /// The same with the changes.
    pub transfers_after: u64,
    /// Nanoseconds that a line takes from one core to another, as measured on the machine of the run; null where it was not.
    pub transfer_ns: Option<Real>,
    /// Seconds of CPU time that the transfers which go away take; what threads lose that wait for each other in turn, where that is less. An estimate,
    /// no bound.
    pub worth_s: Option<Real>,
    /// Seconds of CPU time that as many accesses took in the recorded run; null where that is not known.
    pub cpu_s: Option<Real>,
}

/// A lock, or the like, that threads contend for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Contended {
    /// Which kind.
    pub primitive: Primitive,
    /// The variable or field that it is, where known.
    pub name: Option<String>,
    /// The functions of the program that use it, most samples first; not all of many.
    pub users: Vec<Frame>,
    /// Whether it lies elsewhere: what is contended here is data that the same functions use.
    pub elsewhere: bool,
    /// Whether it is one of several in the elements of an array; `name` has `[..]` for their index.
    pub several: bool,
}

/// What threads use to take turns, or to count references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Primitive {
    /// A mutex.
    Mutex,
    /// A critical section of OpenMP.
    Critical,
    /// A lock that readers share.
    RwLock,
    /// A lock that is waited for by trying again.
    Spinlock,
    /// A lock that the program has made itself.
    OwnLock,
    /// A condition variable.
    Condition,
    /// A barrier or a latch.
    Barrier,
    /// A semaphore.
    Semaphore,
    /// A flag that something was done once.
    Once,
    /// The lock of a stream: `FILE`, `std::cout`, Rust's `Stdout`.
    Stream,
    /// What the memory allocator locks.
    Allocator,
    /// A queue of a language's library, by which threads send to each other.
    Channel,
    /// What an interpreter locks: all its objects.
    Interpreter,
    /// What OpenMP's runtime keeps for a team of threads: iterations and tasks to hand out, and who waits.
    #[serde(rename = "openmp")]
    OpenMp,
    /// What a language's library keeps for all threads; `name` is the function that the program calls.
    LibraryState,
    /// The number of those that hold an object.
    ReferenceCount,
}

impl Primitive {
    /// The word for people, without an article.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::Critical => "critical section",
            Self::RwLock => "reader-writer lock",
            Self::Spinlock => "spinlock",
            Self::OwnLock => "lock",
            Self::Condition => "condition variable",
            Self::Barrier => "barrier",
            Self::Semaphore => "semaphore",
            Self::Once => "once-flag",
            Self::Stream => "lock of a stream",
            Self::Allocator => "lock of the allocator",
            Self::Channel => "channel",
            Self::Interpreter => "lock of the interpreter",
            Self::OpenMp => "runtime of OpenMP",
            Self::LibraryState => "state of the library function",
            Self::ReferenceCount => "reference count",
        }
    }

    /// ``the mutex `lock` `` or ``the mutexes `shards[..].lock` ``.
    pub fn named(self, name: &str, several: bool) -> String {
        let noun = if several { self.plural() } else { self.noun().to_owned() };
        format!("the {noun} `{name}`")
    }

    /// The word for several.
    pub fn plural(self) -> String {
        match self.noun().split_once(' ') {
            Some((word, rest)) if rest.starts_with("of ") => format!("{word}s {rest}"),
            _ if self.noun().ends_with('x') => format!("{}es", self.noun()),
            _ => format!("{}s", self.noun()),
        }
    }
}

/// Kinds of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RemedyKind {
    /// False sharing: put the parts on lines of their own.
    Pad,
    /// True sharing: exchange less.
    ShareLess,
    /// Both: pad first, then look again.
    PadThenShareLess,
    /// False sharing between the elements of an array: align their type.
    PadElements,
    /// False sharing between heap blocks: align their allocation.
    AlignBlocks,
    /// False sharing of an array all along: let each thread work on a larger piece.
    LargerPieces,
    /// Threads contend for a lock or its like, or count references.
    Contend,
    /// It takes too little time to matter, or too little was seen to say what helps.
    None,
}
