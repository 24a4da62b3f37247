//! One LRU stack: the places that one cache of unlimited size would hold.

use carom_base::{Addr, Ip};

use super::{
    entry::{MAX_PLACES, Stamp},
    entry_cache::EntryCache,
    grid::{Grid, Key, VACANT},
    order::Order,
    table::{EntryTable, Home},
};

/// The number of places that are prefetched.
pub(super) const AHEAD: usize = 32;

/// If this many of those had to be looked up in the table, much of what is touched is far.
const FAR: u32 = AHEAD as u32 / 4;

/// A touch of a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    /// The clock before the access.
    pub begin: u64,
    /// What its place will remember of it, beside the instruction.
    pub stamp: Stamp,
    pub ip: Ip,
    pub addr: Addr,
}

impl Now {
    #[inline(always)]
    pub fn writes(self) -> bool {
        self.stamp.wrote()
    }
}

/// A touch of a place that is in the stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reuse {
    pub earlier: Stamp,
    /// The number of its instruction among the [sites](super::sites::Sites).
    pub site: u32,
    /// Accesses in between.
    pub time: u64,
    /// Places in between.
    pub stack: u64,
}

/// The relation of a touch to its place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seen {
    First,
    Invalidated,
    Reuse(Reuse),
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Stack {
    entry_cache: EntryCache,
    table: EntryTable,
    order: Order,
    /// Look-ups in the table since [`was_far`](Self::was_far) was called.
    far: u32,
    /// The number of accesses.
    pub clock: u64,
}

impl Stack {
    pub fn new(grid: Grid) -> Self {
        let (entry_cache, table, order) = (EntryCache::new(), EntryTable::new(grid), Order::new(0, 0));
        Self { entry_cache, table, order, far: 0, clock: 0 }
    }

    /// The number of places, including invalidated ones.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Takes the place out, if it is here. Returns how it was met at this time, and its entry, which stays in the table and
    /// says whether the place is exclusive.
    #[inline(always)]
    pub fn enter(&mut self, key: Key, begin: u64) -> (Seen, Home) {
        let Some(home) = self.home(key) else { return (Seen::First, self.insert(key)) };
        let entry = self.table.at(home);
        let (earlier, site) = (entry.stamp(), entry.site());
        let Some(slot) = entry.take_slot() else {
            entry.set_stamp(Stamp::NONE);
            return (Seen::Invalidated, home);
        };
        let (time, stack) = (earlier.before(begin), self.order.take(slot));
        (Seen::Reuse(Reuse { earlier, site, time, stack }), home)
    }

    /// The entry of a place that was taken out.
    #[inline(always)]
    pub fn home_of(&mut self, key: Key) -> Home {
        self.home(key).unwrap_or_else(|| self.insert(key))
    }

    /// Puts a place that was taken out on top, with its last touch by this instruction. It stays exclusive if it was.
    #[inline(always)]
    pub fn leave(&mut self, home: Home, last: Stamp, site: u32) {
        let slot = match self.order.push() {
            Some(slot) => slot,
            None => self.renumber(),
        };
        let entry = self.table.at(home);
        entry.set(last.after(entry.stamp()), site, slot);
    }

    /// An entry for a new place. Beyond [`MAX_PLACES`] (some 20 GB of memory) all other places are forgotten.
    #[inline(never)]
    fn insert(&mut self, key: Key) -> Home {
        if self.table.len() >= MAX_PLACES {
            self.retain(|_| false);
        }
        let (home, moved) = self.table.insert(key);
        if let Some(moved) = moved {
            self.table.neighbours(key).for_each(|key| self.entry_cache.follow(key, moved));
        }
        self.entry_cache.put(key, home);
        home
    }

    /// Slots have run out: the live ones move together, and one more is used.
    #[cold]
    #[inline(never)]
    fn renumber(&mut self) -> u32 {
        for entry in self.table.entries_mut() {
            if let Some(slot) = entry.slot() {
                entry.set_slot(self.order.older(slot));
            }
        }
        let live = self.order.live();
        // The old one is dropped first: memory need not hold both.
        self.order = Order::new(0, 0);
        self.order = Order::new(live, self.table.len());
        // There is room: an order has several slots for each place.
        self.order.push().unwrap_or_default()
    }

    #[inline(always)]
    fn home(&mut self, key: Key) -> Option<Home> {
        if let Some(home) = self.entry_cache.get(key) {
            return Some(home);
        }
        self.far = self.far.saturating_add(1);
        let home = self.table.home(key)?;
        self.entry_cache.put(key, home);
        Some(home)
    }

    /// Another stack's place was touched that this one may have too; returns whether it does.
    pub fn share(&mut self, key: Key) -> bool {
        let Some((_, entry)) = self.table.find(key) else { return false };
        entry.set_exclusive(false);
        entry.slot().is_some()
    }

    /// Another stack's place was written that this one may have too.
    pub fn invalidate(&mut self, key: Key) {
        if let Some((_, entry)) = self.table.find(key)
            && let Some(slot) = entry.take_slot()
        {
            self.order.take(slot);
        }
    }

    /// A place that is taken out is in no other stack.
    pub fn own(&mut self, home: Home) {
        self.table.at(home).set_exclusive(true);
    }

    /// Whether a place that is taken out is exclusive to this stack.
    #[inline(always)]
    pub fn owns(&mut self, home: Home) -> bool {
        self.table.at(home).stamp().exclusive()
    }

    /// Whether many of the places that were touched since the last call were far away.
    #[inline(always)]
    pub fn was_far(&mut self) -> bool {
        std::mem::take(&mut self.far) >= FAR
    }

    /// Prefetches what touching these places, of which the first [`AHEAD`] count, will need: for all of them at once,
    /// because each step needs the one before.
    #[inline(always)]
    pub fn read_ahead(&mut self, keys: impl Iterator<Item = Key>) {
        let (mut places, mut slots) = ([VACANT; AHEAD], [0; AHEAD]);
        let (mut count, mut last, mut read) = (0, VACANT, 0);
        for key in keys.take(AHEAD) {
            // Without a branch: a result that is not wanted is overwritten.
            places[count % AHEAD] = key;
            count += usize::from(key != last && self.entry_cache.get(key).is_none());
            last = key;
        }
        for key in &places[..count] {
            read ^= self.table.touch_ahead(*key);
        }
        for (key, slot) in places[..count].iter().zip(&mut slots) {
            if let Some(home) = self.table.home(*key) {
                self.entry_cache.put(*key, home);
                *slot = self.table.at(home).slot().unwrap_or_default();
            }
        }
        for slot in &slots[..count] {
            read ^= self.order.touch_ahead(*slot);
        }
        std::hint::black_box(read);
        self.far = self.far.saturating_add(count as u32);
    }

    /// The keys of all places.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.table.iter().map(|(key, _)| key)
    }

    /// Forgets all other places, as if they had never been touched.
    pub fn retain(&mut self, keep: impl Fn(Key) -> bool) {
        let order = &mut self.order;
        self.table.retain(|key, entry| {
            let kept = keep(key);
            if let (false, Some(slot)) = (kept, entry.slot()) {
                order.take(slot);
            }
            kept
        });
        self.entry_cache.clear();
    }
}
