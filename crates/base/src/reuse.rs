use crate::{Access, AccessKind, Addr, Cpu, Ip, LogBin, Nanos, StackId, ThreadId};

/// Which cache a reuse is looked for in (ReuseTracker, definitions 6.2.1 and 6.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Scope {
    /// The cache that one thread has for itself: a reuse is the same thread's next access.
    Private = 0,
    /// The cache that the threads of one domain share: a reuse is the next access of another thread of the domain.
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

/// Whether a reuse is of the very address that was used, or of its neighbourhood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Locality {
    /// Exactly the same address.
    Temporal = 0,
    /// The same line, at another address.
    Spatial = 1,
    /// The same line, whichever bytes come first: what a cache sees. The later access's range tells which of the two
    /// it was.
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

/// What a use and its reuse do, the later one first, as in "read after write". A read-modify-write writes.
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

    /// Of a use and a reuse.
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

/// What became of a use that was watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ReuseOutcome {
    /// It was reused.
    Reused = 0,
    /// Another thread (for [`Scope::Shared`]: of another domain) wrote there first.
    Invalidated = 1,
    /// Neither, up to when its watch was given to another use. Its distance is a lower bound.
    Replaced = 2,
    /// Neither, up to the end of its thread, or of the recording. Its distance is a lower bound.
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
    /// Who.
    pub thread: ThreadId,
    /// When.
    pub time: Nanos,
    /// On which processor.
    pub cpu: Cpu,
    /// What.
    pub access: Access,
    /// The call path.
    pub stack: StackId,
}

/// A sampled use, and what became of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReuseEvent {
    /// In which cache.
    pub scope: Scope,
    /// What was watched: the very bytes of the use ([`Locality::Temporal`]), or all of its line but for them.
    pub locality: Locality,
    /// What became of it.
    pub outcome: ReuseOutcome,
    /// The sampled access.
    pub earlier: Touch,
    /// The access that decided, `None` where the watch was given up.
    pub later: Option<Touch>,
    /// Accesses strictly between the two: of the thread ([`Scope::Private`]), of the domain's threads
    /// ([`Scope::Shared`]). On an engine that cannot count, nanoseconds from one to the other. Where the watch was
    /// given up: up to then.
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
    /// Different places accessed strictly between the two: what an LRU cache would have to hold beside this one
    /// (Mattson and others, IBM Systems Journal 9(2), 1970).
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

/// What an access is to a place, when all accesses are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CellClass {
    /// A reuse of each kind.
    Reuse(ReuseKind),
    /// The first access to it.
    First,
    /// It had been accessed before, and was written by another since (another domain, for [`Scope::Shared`]).
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

/// A count of the exact mode: so many accesses of one thread had this distance. Counts of equal keys add up, and the
/// address of the later one stands for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReuseCell {
    /// Whose accesses: the later ones.
    pub thread: ThreadId,
    /// In which cache.
    pub scope: Scope,
    /// Of which distance.
    pub distance: DistanceKind,
    /// Bytes of one place: a power of two. 1: the very range of bytes (first address and width) that was accessed.
    pub granularity: u32,
    /// First accesses and invalidated ones have bin 0.
    pub class: CellClass,
    /// The distance.
    pub bin: LogBin,
    /// The use was another thread's, which makes it a reuse in the shared cache by definition 6.2.3. Only with
    /// [`Scope::Shared`], whose other reuses are of the thread's own uses: a miss-ratio curve needs both.
    pub from_other: bool,
    /// `None`: of all instructions. Else of this pair of instructions alone, the earlier one first;
    /// [`REST`](Self::REST) where there were too many pairs to tell apart.
    pub pair: Option<(Ip, Ip)>,
    /// Of a pair: the first byte that the latest of these reuses accessed, so that the data has a name. `Addr(0)` where
    /// there is none: always without a pair, and with [`REST`](Self::REST).
    pub at: Addr,
    /// How many.
    pub count: u64,
}

impl ReuseCell {
    /// The pair that stands for all pairs that a bounded table had no room for.
    pub const REST: (Ip, Ip) = (Ip(0), Ip(0));
}
