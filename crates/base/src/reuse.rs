use crate::{Access, AccessKind, Addr, Cpu, Ip, LogBin, Nanos, StackId, ThreadId};

/// The cache in which a reuse counts (ReuseTracker, definitions 6.2.1 and 6.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Scope {
    /// The cache that one thread has for itself: a reuse is the same thread's next access.
    Private = 0,
    /// The cache that the threads of one domain share: a reuse is the next access by another thread of the domain.
    Shared = 1,
}

impl Scope {
    /// The inverse of `self as u8`.
    pub const fn from_u8(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Private),
            1 => Some(Self::Shared),
            _ => None,
        }
    }
}

/// Whether a reuse is of the same address, or of its neighbourhood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Locality {
    /// Exactly the same address.
    Temporal = 0,
    /// The same line, at another address.
    Spatial = 1,
    /// Any bytes of the same line: what a cache sees. The later access's range tells which of the two it was.
    Line = 2,
}

impl Locality {
    /// The inverse of `self as u8`.
    pub const fn from_u8(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Temporal),
            1 => Some(Self::Spatial),
            2 => Some(Self::Line),
            _ => None,
        }
    }
}

/// The kinds of a use and its reuse, the later one first, as in "read after write". A read-modify-write counts as a
/// write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ReuseKind {
    /// Read after read.
    Rar = 0,
    /// Read after write.
    Raw = 1,
    /// Write after write.
    Waw = 2,
    /// Write after read.
    War = 3,
}

impl ReuseKind {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 4] = [Self::Rar, Self::Raw, Self::Waw, Self::War];

    /// The kind of a pair of a use and a reuse.
    pub const fn of(earlier: AccessKind, later: AccessKind) -> Self {
        match (earlier.writes(), later.writes()) {
            (false, false) => Self::Rar,
            (true, false) => Self::Raw,
            (true, true) => Self::Waw,
            (false, true) => Self::War,
        }
    }

    /// The inverse of `self as u8`.
    pub const fn from_u8(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Rar),
            1 => Some(Self::Raw),
            2 => Some(Self::Waw),
            3 => Some(Self::War),
            _ => None,
        }
    }
}

/// The outcome of a watched use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ReuseOutcome {
    /// It was reused.
    Reused = 0,
    /// Another thread (for [`Scope::Shared`]: of another domain) wrote there first.
    Invalidated = 1,
    /// Neither, until its watch was given to another use. Its distance is a lower bound.
    Replaced = 2,
    /// Neither, until its thread or the recording ended. Its distance is a lower bound.
    Ended = 3,
}

impl ReuseOutcome {
    /// The inverse of `self as u8`.
    pub const fn from_u8(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Reused),
            1 => Some(Self::Invalidated),
            2 => Some(Self::Replaced),
            3 => Some(Self::Ended),
            _ => None,
        }
    }
}

/// One half of a pair of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The thread.
    pub thread: ThreadId,
    /// When.
    pub time: Nanos,
    /// On which processor.
    pub cpu: Cpu,
    /// The access.
    pub access: Access,
    /// The call path.
    pub stack: StackId,
}

/// A sampled use and its outcome.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReuseEvent {
    /// The cache.
    pub scope: Scope,
    /// What was watched: exactly the bytes of the use ([`Locality::Temporal`]), or the rest of its line.
    pub locality: Locality,
    /// What became of it.
    pub outcome: ReuseOutcome,
    /// The use.
    pub earlier: Touch,
    /// The access that settled it, `None` where the watch was given up.
    pub later: Option<Touch>,
    /// Accesses strictly between the two: of the thread ([`Scope::Private`]), or of the domain's threads
    /// ([`Scope::Shared`]). On an engine that cannot count, nanoseconds from one to the other. Where the watch was
    /// given up: until then.
    pub distance: u64,
    /// How many accesses the use stands for, in units of the shortest sampling period.
    pub weight: f32,
}

/// What a distance counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DistanceKind {
    /// Accesses strictly between the two.
    Time = 0,
    /// Different places accessed strictly between the two: the capacity that an LRU cache would need in addition to
    /// this place (Mattson and others, IBM Systems Journal 9(2), 1970).
    Stack = 1,
}

impl DistanceKind {
    /// The inverse of `self as u8`.
    pub const fn from_u8(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Time),
            1 => Some(Self::Stack),
            _ => None,
        }
    }
}

/// What an access is for its place, when all accesses are observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CellClass {
    /// A reuse of each kind.
    Reuse(ReuseKind),
    /// The first access to it.
    First,
    /// The place had been accessed before, and was written since by another thread (for [`Scope::Shared`]: of another
    /// domain).
    Invalidated,
}

impl CellClass {
    /// As a number.
    pub const fn code(self) -> u8 {
        match self {
            Self::Reuse(kind) => kind as u8,
            Self::First => 4,
            Self::Invalidated => 5,
        }
    }

    /// The inverse of [`code`](Self::code).
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            4 => Some(Self::First),
            5 => Some(Self::Invalidated),
            _ => match ReuseKind::from_u8(code) {
                Some(kind) => Some(Self::Reuse(kind)),
                None => None,
            },
        }
    }
}

/// A count of exact mode: this many accesses of one thread had this distance. Counts with equal keys add up, and the
/// later one's address is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReuseCell {
    /// The thread of the later accesses.
    pub thread: ThreadId,
    /// The cache.
    pub scope: Scope,
    /// The kind of distance.
    pub distance: DistanceKind,
    /// The size of a place in bytes: a power of two. 1: exactly the bytes (first address and width) that were
    /// accessed.
    pub granularity: u32,
    /// What the accesses are. First accesses and invalidated ones have bin 0.
    pub class: CellClass,
    /// The bin of the distance.
    pub bin: LogBin,
    /// The use was another thread's, which makes it a reuse in the shared cache by definition 6.2.3. Only with
    /// [`Scope::Shared`], whose other reuses are of the thread's own uses: a miss-ratio curve needs both.
    pub from_other: bool,
    /// `None`: all instructions. Otherwise only this pair of instructions, the earlier one first;
    /// [`REST`](Self::REST) where there were too many pairs to distinguish.
    pub pair: Option<(Ip, Ip)>,
    /// For a pair: the first byte of the latest of these reuses, so that the data can be named. `Addr(0)` without
    /// one: always without a pair, and with [`REST`](Self::REST).
    pub at: Addr,
    /// The number of accesses.
    pub count: u64,
}

impl ReuseCell {
    /// The pair that stands for all pairs for which a bounded table had no room.
    pub const REST: (Ip, Ip) = (Ip(0), Ip(0));
}
