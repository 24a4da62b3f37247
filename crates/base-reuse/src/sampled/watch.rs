use carom_base::{Access, Addr, LINE_BYTES, Locality, Scope, ThreadId};

use super::config::Reach;
use super::random::Random;
use crate::Domain;

/// The most bytes that one debug register watches.
const CHUNK_BYTES: u64 = 8;

/// Identifies one use in the life of a slot, so that a late touch of a replaced watch is distinguished from one of
/// the watch that replaced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WatchId {
    /// The slot.
    pub slot: u8,
    /// The number of its use; 0 is none.
    pub generation: u32,
}

impl WatchId {
    /// As one word, to store with a watch.
    pub const fn to_bits(self) -> u64 {
        ((self.slot as u64) << u32::BITS) | self.generation as u64
    }

    /// The inverse of [`to_bits`](Self::to_bits).
    pub const fn from_bits(bits: u64) -> Self {
        Self { slot: (bits >> u32::BITS) as u8, generation: bits as u32 }
    }
}

/// Bytes that all threads of the process must watch, and for which use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The use.
    pub id: WatchId,
    /// The first byte to watch.
    pub first: Addr,
    /// The number of bytes: a power of two that divides `first`; a line, or at most 8.
    pub bytes: u32,
    /// The thread whose access was sampled.
    pub owner: ThreadId,
    /// The cache in which a reuse counts.
    pub scope: Scope,
    /// The owner's shared cache at that time.
    pub domain: Domain,
    /// Only an access that begins here can reuse it; `None`: any access that touches the bytes.
    pub only: Option<Addr>,
}

/// The accesses of a thread that a watch must catch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    /// Loads.
    pub reads: bool,
    /// Stores.
    pub writes: bool,
}

impl Watch {
    /// How a thread must watch it: for accesses that could be a reuse, and for writes that could invalidate (thesis
    /// 6.4).
    pub fn modes(&self, thread: ThreadId, domain: Domain) -> Modes {
        Modes { reads: reuses(self.scope, (self.owner, self.domain), (thread, domain)), writes: true }
    }

    /// The first byte that an access of `thread` must have to concern the use; `None`: any that touches the bytes.
    pub fn start(&self, thread: ThreadId, domain: Domain) -> Option<Addr> {
        self.only.filter(|_| reuses(self.scope, (self.owner, self.domain), (thread, domain)))
    }

    /// Whether an access touches the watched bytes.
    pub const fn touched_by(&self, access: Access) -> bool {
        access.addr.0 < self.first.0.wrapping_add(self.bytes as u64) && self.first.0 < access.end().0
    }
}

/// Whether an access of `other` can reuse a use of `owner`: of its own in its private cache, of any thread of the
/// domain in a shared one.
pub(super) fn reuses(scope: Scope, owner: (ThreadId, Domain), other: (ThreadId, Domain)) -> bool {
    owner.0 == other.0 || (scope == Scope::Shared && owner.1 == other.1)
}

/// What to watch for a use, and the weight of a touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WatchedRange {
    pub first: Addr,
    pub bytes: u32,
    /// The number of places to choose from: a touch weighs as many times more than the use.
    pub choices: u8,
}

impl WatchedRange {
    pub fn choose(reach: Reach, locality: Locality, used: Access, random: &mut Random) -> Self {
        match (reach, locality) {
            (Reach::Line, _) => {
                Self { first: used.addr.line().start(), bytes: LINE_BYTES as u32, choices: 1 }
            }
            (Reach::Chunk, Locality::Temporal) => Self::beginning(used),
            (Reach::Chunk, Locality::Spatial) => Self::elsewhere(used, random),
            (Reach::Chunk, Locality::Line) => Self::anywhere(used, random),
        }
    }

    /// As many bytes from the first on as one register can watch without a byte that was not used: the same access
    /// touches them again, and neighbouring accesses do not.
    fn beginning(used: Access) -> Self {
        let fitting = |bytes: &u64| used.addr.0.is_multiple_of(*bytes) && *bytes <= u64::from(used.width);
        let bytes = [CHUNK_BYTES, 4, 2].into_iter().find(fitting).unwrap_or(1);
        Self { first: used.addr, bytes: bytes as u32, choices: 1 }
    }

    /// One of the line's chunks with bytes that were not used; any chunk if there is none.
    fn elsewhere(used: Access, random: &mut Random) -> Self {
        let (begin, end) = (used.addr.0, used.addr.0.saturating_add(u64::from(used.width)));
        let filled = |chunk: u64| begin <= chunk && chunk.saturating_add(CHUNK_BYTES) <= end;
        Self::one_of(chunks(used).filter(|chunk| !filled(*chunk)), random)
            .unwrap_or_else(|| Self::anywhere(used, random))
    }

    /// One of the line's chunks.
    fn anywhere(used: Access, random: &mut Random) -> Self {
        Self::one_of(chunks(used), random).unwrap_or_else(|| Self::beginning(used))
    }

    /// Each with equal probability.
    fn one_of(chunks: impl Iterator<Item = u64> + Clone, random: &mut Random) -> Option<Self> {
        let choices = chunks.clone().count();
        let first = Addr(chunks.clone().nth(random.below(choices as u32) as usize)?);
        Some(Self { first, bytes: CHUNK_BYTES as u32, choices: choices as u8 })
    }
}

/// First bytes of the chunks of the line.
fn chunks(used: Access) -> impl Iterator<Item = u64> + Clone {
    let line = used.addr.line().start().0;
    (0..LINE_BYTES / CHUNK_BYTES).map(move |index| line + index * CHUNK_BYTES)
}

#[cfg(test)]
mod tests {
    use carom_base::{AccessKind, Ip};

    use super::*;

    fn access(addr: u64, width: u32) -> Access {
        Access { ip: Ip(1), addr: Addr(addr), width, kind: AccessKind::Load }
    }

    fn chosen(reach: Reach, locality: Locality, used: Access, seed: u64) -> (u64, u32, u8) {
        let range = WatchedRange::choose(reach, locality, used, &mut Random::new(seed));
        (range.first.0, range.bytes, range.choices)
    }

    #[test]
    fn ids_survive_the_way_through_a_word() {
        for id in [WatchId { slot: 0, generation: 1 }, WatchId { slot: u8::MAX, generation: u32::MAX }] {
            assert_eq!(WatchId::from_bits(id.to_bits()), id);
        }
    }

    #[test]
    fn software_watches_the_line() {
        for locality in [Locality::Temporal, Locality::Spatial, Locality::Line] {
            assert_eq!(chosen(Reach::Line, locality, access(0x1039, 8), 1), (0x1000, 64, 1));
        }
    }

    /// At 0x1000 all 8 bytes of 16; at 4 modulo 8 the first 4 of 8; at an odd address the first.
    #[test]
    fn a_register_watches_only_what_was_used() {
        let temporal = |addr, width| chosen(Reach::Chunk, Locality::Temporal, access(addr, width), 1);
        assert_eq!(temporal(0x1000, 16), (0x1000, 8, 1));
        assert_eq!(temporal(0x1004, 8), (0x1004, 4, 1));
        assert_eq!(temporal(0x1008, 2), (0x1008, 2, 1));
        assert_eq!(temporal(0x1003, 4), (0x1003, 1, 1));
        assert_eq!(temporal(0x1008, 1), (0x1008, 1, 1));
    }

    #[test]
    fn the_last_bytes_of_all_can_be_watched() {
        for locality in [Locality::Temporal, Locality::Spatial, Locality::Line] {
            for reach in [Reach::Line, Reach::Chunk] {
                let (first, ..) = chosen(reach, locality, access(u64::MAX, u32::MAX), 1);
                assert!(first >= u64::MAX - 63);
            }
        }
    }

    #[test]
    fn a_line_is_watched_by_any_of_its_chunks() {
        let line = |seed| chosen(Reach::Chunk, Locality::Line, access(0x1008, 8), seed);
        let distinct: std::collections::HashSet<_> = (0..200).map(line).collect();
        let expected = (0..8).map(|index| (0x1000 + index * 8, 8, 8)).collect();
        assert_eq!(distinct, expected);
    }

    /// 8 aligned bytes fill one of the eight chunks; 4 bytes fill none; a whole line fills all.
    #[test]
    fn the_chunk_elsewhere_is_any_that_was_not_filled() {
        for (used, choices, first) in [
            (access(0x1008, 8), 7, 0x1008..0x1010),
            (access(0x1008, 4), 8, 0..0),
            (access(0x1030, 64), 6, 0x1030..0x1040),
            (access(0x1000, 64), 8, 0..0),
        ] {
            let mut seen = [false; 8];
            for seed in 0..200 {
                let (at, bytes, of) = chosen(Reach::Chunk, Locality::Spatial, used, seed);
                assert_eq!((bytes, of), (8, choices), "{used:?}");
                assert!(!first.contains(&at) && (0x1000..0x1040).contains(&at), "{used:?}: {at:#x}");
                seen[(at - 0x1000) as usize / 8] = true;
            }
            // 200 draws miss one of at most 8 with probability 8 * (7/8)^200, less than 1e-10.
            assert_eq!(seen.iter().filter(|seen| **seen).count(), usize::from(choices), "{used:?}");
        }
    }
}
