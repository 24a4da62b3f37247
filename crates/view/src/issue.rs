//! Findings by their places in the source, and the kinds of them.

use crate::model::object::Frame;

/// A finding that may be shown at a line of source.
pub struct Issue<'a> {
    /// Its kind.
    pub rule: Rule,
    /// The part of the accesses, or of the time, that it concerns.
    pub share: f64,
    /// What was found, and what to do about it.
    pub text: String,
    /// The places in the program's code, the most telling first; each has a file and a line.
    pub sites: Vec<&'a Frame>,
    /// Where the data was declared or allocated, if that is known.
    pub declared: Option<&'a Frame>,
    /// What stays the same from version to version of the program: the name of the data.
    pub name: String,
}

/// A kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Threads use different bytes of one cache line.
    FalseSharing,
    /// Threads exchange data.
    TrueSharing,
    /// Both on one object.
    MixedSharing,
    /// Threads wait for a lock or its like.
    Contention,
    /// Threads count references to one object.
    ReferenceCounting,
    /// Data does not stay in the cache until it is used again.
    CacheMisses,
}

impl Rule {
    /// All of them: a rule's place here is its index.
    pub const ALL: [Self; 6] = [
        Self::FalseSharing,
        Self::TrueSharing,
        Self::MixedSharing,
        Self::Contention,
        Self::ReferenceCounting,
        Self::CacheMisses,
    ];

    /// The stable identifier.
    pub const fn id(self) -> &'static str {
        match self {
            Self::FalseSharing => "false-sharing",
            Self::TrueSharing => "true-sharing",
            Self::MixedSharing => "mixed-sharing",
            Self::Contention => "lock-contention",
            Self::ReferenceCounting => "reference-counting",
            Self::CacheMisses => "cache-misses",
        }
    }

    /// Name, description in a sentence, and what it means.
    pub const fn words(self) -> [&'static str; 3] {
        match self {
            Self::FalseSharing => [
                "FalseSharing",
                "Threads use different bytes of one cache line.",
                "Each write takes the line from the other threads' caches, although they use other bytes. Data that different \
                 threads write belongs on different lines.",
            ],
            Self::TrueSharing => [
                "TrueSharing",
                "Threads use the same bytes, and write them.",
                "Each write takes the line from the other threads' caches. Padding does not help: share less, or less often.",
            ],
            Self::MixedSharing => [
                "TrueAndFalseSharing",
                "Threads share bytes of an object, and the cache lines of others.",
                "Moving apart what different threads write ends the false part; the rest is data that they exchange.",
            ],
            Self::Contention => [
                "LockContention",
                "Threads contend for a lock or its like.",
                "The lock's cache line moves to each thread that takes it. Take it less often, or for less data.",
            ],
            Self::ReferenceCounting => [
                "ReferenceCounting",
                "Threads count references to the same objects.",
                "Each change of a count takes its cache line from the other threads' caches. Pass by reference where the object \
                 lives long enough.",
            ],
            Self::CacheMisses => [
                "CacheMisses",
                "Data does not stay in the cache until it is used again.",
                "More data is accessed between a use and the next than the cache holds.",
            ],
        }
    }
}
