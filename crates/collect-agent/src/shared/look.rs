//! Finds the mappings of memory that processes may share, by asking the kernel.

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::*},
};

use carom_base::{Addr, Nanos, SegmentId};
use carom_base_sys::clock;
use carom_base_wire::{CommonHeader, journal::NOT_COMPARED};

use super::{RANGES, ranges};
use crate::{
    journal::Text,
    lock::{Lock, Rank},
    mappings::{self, Mapping},
    session::Session,
};

/// When to look again, in nanoseconds: mappings by code that is not translated are found then.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The program has mapped, unmapped or moved such memory since the last look.
static CHANGED: AtomicBool = AtomicBool::new(false);

/// The kernel cannot be asked for the mapping at an address ([`holds`]).
static UNASKED: AtomicBool = AtomicBool::new(false);

/// The pause between two looks, in multiples of the time that one takes: looking takes a thousandth of the time.
const PAUSE: u64 = 1000;

/// The same where something has changed: a hundredth, once [`AT_ONCE_NS`] have been used up.
const PAUSE_OF_CHANGE: u64 = 100;

/// Time for looks at once after a change, in nanoseconds: about a hundred looks. Most programs map less often.
const AT_ONCE_NS: u64 = 5_000_000;

/// The pause after something was found, in nanoseconds, and the longest pause: it doubles each time that nothing is
/// new. Looking takes a descriptor for a moment, which changes the numbers that other threads of the program get.
const FIRST_PAUSE_NS: u64 = 20_000_000;
const LONGEST_PAUSE_NS: u64 = 320_000_000;

/// Lines of the journal that tell of mappings: what comes later has no name.
const MOST_TOLD: usize = 1024;

/// A path of PATH_MAX, and the numbers around it.
const LINE_BYTES: usize = 5 << 10;

struct Look {
    found: [ranges::Shared; ranges::MOST],
    text: Text<LINE_BYTES>,
    /// Mappings that were reported.
    told: usize,
    /// CPU time of the looks that their pauses have not yet made up for.
    used: Used,
    /// The part of the pause after it that does not depend on the cost.
    pause: u64,
    /// A trouble was noted.
    troubled: bool,
}

/// Not on the stack, which may be a handler's.
static LOOK: Lock<Look> = Lock::new(
    Rank::Mappings,
    Look {
        found: [ranges::Shared { low: 0, high: 0, at: Addr(0) }; ranges::MOST],
        text: Text::new(),
        told: 0,
        used: Used { ns: 0, at: 0 },
        pause: 0,
        troubled: false,
    },
);

/// A mapping was made, removed or moved; the one at `bytes` is gone.
pub fn note_change(bytes: Option<&Range<u64>>) {
    CHANGED.store(true, Relaxed);
    // The holder of the lock looks, and then looks again.
    let Some(mut look) = LOOK.try_lock() else { return };
    let soon = look.used.soon(clock::now().0);
    NEXT.store(NEXT.load(Relaxed).min(soon), Relaxed);
    if let Some(bytes) = bytes {
        look.forget(bytes);
    }
}

/// The child of a fork has the same mappings, and a journal of its own.
pub fn after_fork() {
    LOOK.open();
    if let Some(mut look) = LOOK.try_lock() {
        (look.told, look.troubled) = (0, false);
    }
    // Another thread may have been writing.
    RANGES.set(&[]);
    NEXT.store(0, Relaxed);
}

/// Looks where that is due. Signal-safe, but for errno.
pub fn where_due(session: &Session, common: &CommonHeader, now: Nanos) {
    if now.0 >= NEXT.load(Relaxed) {
        at_once(session, common);
    }
}

/// Looks, unless another thread does. Signal-safe, but for errno.
pub fn at_once(session: &Session, common: &CommonHeader) {
    let Some(mut look) = LOOK.try_lock() else { return };
    CHANGED.store(false, Relaxed);
    let begun = clock::now().0;
    // The time that other programs take meanwhile is no cost.
    let before = clock::thread_cpu();
    look.all(session, common);
    let cost = clock::thread_cpu().saturating_sub(before);
    look.used.add(begun, cost);
    let pause = cost.saturating_mul(PAUSE).max(look.pause);
    NEXT.store(begun.saturating_add(pause), Relaxed);
    if CHANGED.load(Relaxed) {
        // What was found may be gone.
        RANGES.set(&[]);
        NEXT.store(look.used.soon(begun), Relaxed);
    }
}

/// Whether `local` is still the byte with the shared address `shared`. True where the kernel cannot be asked for a
/// single mapping: looks are frequent there. Signal-safe, but for errno.
pub fn holds(common: &CommonHeader, local: Addr, shared: Addr) -> bool {
    if UNASKED.load(Relaxed) {
        return true;
    }
    let Ok(found) = mappings::shared_at(local.0) else {
        UNASKED.store(true, Relaxed);
        return true;
    };
    let Some((mapping, (segment, offset))) = found.zip(shared.segment()) else { return false };
    let place = mapping.offset.wrapping_add(local.0.wrapping_sub(mapping.range.start));
    let known = common.segments.get(segment.0 as usize).map_or(0, |known| known.load(Relaxed));
    let same = |system_v| known == identity(&mapping, mapping.offset / SegmentId::BYTES, system_v);
    place % SegmentId::BYTES == offset && (same(false) || same(true))
}

/// A bucket that looks fill and time empties.
struct Used {
    /// CPU time in nanoseconds, as of `at`.
    ns: u64,
    /// The time of the last look.
    at: u64,
}

impl Used {
    fn add(&mut self, now: u64, cost: u64) {
        let emptied = now.saturating_sub(self.at) / PAUSE_OF_CHANGE;
        *self = Self { ns: self.ns.saturating_sub(emptied).saturating_add(cost), at: now };
    }

    /// When a change may be looked at.
    fn soon(&self, now: u64) -> u64 {
        let above = self.ns.saturating_sub(AT_ONCE_NS);
        self.at.saturating_add(above.saturating_mul(PAUSE_OF_CHANGE)).max(now)
    }
}

impl Look {
    /// Takes ranges that overlap `bytes` out of the table.
    fn forget(&mut self, bytes: &Range<u64>) {
        let kept =
            RANGES.copy_to(&mut self.found, |range| range.high <= bytes.start || bytes.end <= range.low);
        RANGES.set(self.found.get(..kept).unwrap_or_default());
    }

    fn all(&mut self, session: &Session, common: &CommonHeader) {
        let (mut count, mut lost) = (0, false);
        let read = mappings::shared(session, |mapping| {
            let Some(at) = address(common, mapping) else {
                lost = true;
                return;
            };
            let range = ranges::Shared { low: mapping.range.start, high: mapping.range.end, at };
            let Some(place) = self.found.get_mut(count) else {
                lost = true;
                return;
            };
            *place = range;
            count += 1;
            if (self.told == 0 || !RANGES.hold(range)) && self.told < MOST_TOLD {
                self.told += 1;
                tell(session, &mut self.text, range, mapping);
            }
        });
        let found = self.found.get(..count).unwrap_or_default();
        let longest = if UNASKED.load(Relaxed) { FIRST_PAUSE_NS } else { LONGEST_PAUSE_NS };
        self.pause = if RANGES.are(found) {
            self.pause.saturating_mul(2).clamp(FIRST_PAUSE_NS, longest)
        } else {
            RANGES.set(found);
            FIRST_PAUSE_NS
        };
        let trouble = match (read, lost) {
            (false, _) => {
                "What a process does in shared memory was not compared: it cannot read /proc/self/maps."
            }
            (true, true) => "Not all shared memory was compared: a process maps more than can be told apart.",
            (true, false) => return,
        };
        if !std::mem::replace(&mut self.troubled, true) {
            let text = &mut self.text;
            session.append(text.line("trouble").name(NOT_COMPARED.as_bytes()).name(trouble.as_bytes()));
        }
    }
}

/// The shared address of a mapping's first byte.
fn address(common: &CommonHeader, mapping: &Mapping<'_>) -> Option<Addr> {
    let part = mapping.offset / SegmentId::BYTES;
    // A mapping that reaches into the next part of a file is compared up to its end.
    let of_system_v = mapping.name.starts_with(b"/SYSV");
    let segment = SegmentId(common.segment(identity(mapping, part, of_system_v))?);
    Addr::shared(segment, mapping.offset % SegmentId::BYTES)
}

/// Identifies a file, or memory that the kernel treats as a file, on this machine. Segments of System V and anonymous
/// memory are on one device, and have unique numbers there.
fn identity(mapping: &Mapping<'_>, part: u64, of_system_v: bool) -> u64 {
    [mapping.device, mapping.inode, part << 1 | u64::from(of_system_v)].into_iter().fold(0, mix)
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn mix(hash: u64, word: u64) -> u64 {
    let z = (hash ^ word).wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

/// Writes a [`carom_base_wire::journal::Line::Shared`] into the journal.
fn tell(session: &Session, text: &mut Text<LINE_BYTES>, range: ranges::Shared, mapping: &Mapping<'_>) {
    let Some((segment, offset)) = range.at.segment() else { return };
    let text = text.line("shared").number(range.low, 16).number(range.high, 16).number(segment.0.into(), 10);
    let text = text.number(offset, 16).number(mapping.device, 16).number(mapping.inode, 10);
    let text = text.number(mapping.writable.into(), 10);
    session.append(text.name(mapping.name));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_follow_changes_at_once_until_they_cost_a_hundredth() {
        let mut used = Used { ns: 0, at: 0 };
        for now in 0..50 {
            used.add(now, AT_ONCE_NS / 50);
        }
        assert_eq!(used.soon(60), 60);
        used.add(100, 1_000);
        assert_eq!(used.soon(100), 100 + 1_000 * PAUSE_OF_CHANGE);
        used.add(100 + 2_000 * PAUSE_OF_CHANGE, 1_000);
        assert_eq!(used.soon(1_000_000), 1_000_000);
    }

    #[test]
    fn a_system_v_segment_is_no_anonymous_memory_of_its_number() {
        let mapping =
            |device, inode| Mapping { range: 0..1, offset: 0, device, inode, writable: true, name: b"" };
        let one = identity(&mapping(1, 3), 0, false);
        assert_eq!(one, identity(&mapping(1, 3), 0, false));
        let others = [(1, 3, 0, true), (1, 3, 1, false), (1, 4, 0, false), (3, 1, 0, false)];
        let differs =
            |(device, inode, part, system_v)| identity(&mapping(device, inode), part, system_v) != one;
        assert!(others.into_iter().all(differs));
    }
}
