//! What is remembered about a place.

use super::order::SLOT_LIMIT;

/// Bits of [`Stamp`] that identify the thread: beyond half a million threads, some are confused.
const WHO_BITS: u32 = 19;

/// Bits of [`Stamp`] below the clock, which has 43: days of accesses.
const TIME_SHIFT: u32 = WHO_BITS + 2;

const WROTE: u64 = 1;
const EXCLUSIVE: u64 = 2;
const WHO_MASK: u64 = ((1 << WHO_BITS) - 1) << 2;

/// The last access to a place: when it ended, by which thread, and whether it wrote. Also whether the place is
/// exclusive to its stack, so that a write affects no other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp(u64);

impl Stamp {
    /// No access.
    pub const NONE: Self = Self(0);

    #[inline(always)]
    pub fn new(time: u64, who: u32, wrote: bool) -> Self {
        Self(time << TIME_SHIFT | (u64::from(who) << 2 & WHO_MASK) | u64::from(wrote))
    }

    /// The time from the stamp to this time, which is not earlier.
    #[inline(always)]
    pub fn before(self, time: u64) -> u64 {
        (time.wrapping_sub(self.0 >> TIME_SHIFT)) << TIME_SHIFT >> TIME_SHIFT
    }

    #[inline(always)]
    pub fn same_thread(self, other: Self) -> bool {
        (self.0 ^ other.0) & WHO_MASK == 0
    }

    #[inline(always)]
    pub fn wrote(self) -> bool {
        self.0 & WROTE != 0
    }

    #[inline(always)]
    pub fn exclusive(self) -> bool {
        self.0 & EXCLUSIVE != 0
    }

    #[inline(always)]
    pub fn set_exclusive(&mut self, exclusive: bool) {
        self.0 = (self.0 & !EXCLUSIVE) | if exclusive { EXCLUSIVE } else { 0 };
    }

    /// Keeps whether the place is exclusive.
    #[inline(always)]
    pub fn after(self, earlier: Self) -> Self {
        Self(self.0 | (earlier.0 & EXCLUSIVE))
    }
}

/// Everything about a place except its name, in 16 bytes that lie in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(super) struct Entry {
    stamp: Stamp,
    /// The instruction's number, see [`Sites`](super::sites::Sites).
    site: u32,
    slot: u32,
}

const _: () = assert!(size_of::<Entry>() == 16);

/// Not in the [`Order`](super::order::Order).
const NO_SLOT: u32 = u32::MAX;

/// With more places than this, slots would run out.
pub(super) const MAX_PLACES: usize = SLOT_LIMIT / 2;

impl Entry {
    /// An entry without a slot.
    pub const EMPTY: Self = Self { stamp: Stamp::NONE, site: 0, slot: NO_SLOT };

    /// Its slot in the [`Order`](super::order::Order). `None`: it was taken out, or invalidated.
    #[inline(always)]
    pub fn slot(&self) -> Option<u32> {
        (self.slot != NO_SLOT).then_some(self.slot)
    }

    #[inline(always)]
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    #[inline(always)]
    pub fn site(&self) -> u32 {
        self.site
    }

    #[inline(always)]
    pub fn set_slot(&mut self, slot: u32) {
        self.slot = slot;
    }

    /// Removes its slot.
    #[inline(always)]
    pub fn take_slot(&mut self) -> Option<u32> {
        let slot = self.slot();
        self.slot = NO_SLOT;
        slot
    }

    #[inline(always)]
    pub fn set(&mut self, stamp: Stamp, site: u32, slot: u32) {
        *self = Self { stamp, site, slot };
    }

    #[inline(always)]
    pub fn set_stamp(&mut self, stamp: Stamp) {
        self.stamp = stamp;
    }

    pub fn set_exclusive(&mut self, exclusive: bool) {
        self.stamp.set_exclusive(exclusive);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_keeps_what_it_is_told() {
        let mut entry = Entry::EMPTY;
        let mut stamp = Stamp::new(1000, 3, true);
        stamp.set_exclusive(true);
        entry.set(stamp, 9, 12);
        assert_eq!((entry.slot(), entry.take_slot(), entry.slot()), (Some(12), Some(12), None));
        entry.set_slot(0);
        assert!(entry.slot() == Some(0) && entry.stamp().exclusive() && entry.site() == 9);
        entry.set_exclusive(false);
        assert_eq!(entry.stamp(), Stamp::new(1000, 3, true));
    }

    /// The clock wraps at 2^43: from 5 before that to 7 after it are 12.
    #[test]
    fn stamps_tell_time_thread_and_kind() {
        let stamp = Stamp::new((1 << 43) - 5, 3, false);
        assert_eq!(stamp.before((1 << 43) + 7), 12);
        assert_eq!(stamp.before((1 << 43) - 5), 0);
        assert!(stamp.same_thread(Stamp::new(0, 3, true)) && !stamp.same_thread(Stamp::new(0, 4, false)));
        assert!(!stamp.wrote() && Stamp::new(1, 1, true).wrote());
        let mut owned = stamp;
        owned.set_exclusive(true);
        assert!(Stamp::new(0, 3, true).after(owned).exclusive());
        assert!(!Stamp::new(0, 3, true).after(stamp).exclusive());
    }
}
