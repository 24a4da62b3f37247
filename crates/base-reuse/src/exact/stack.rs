//! One LRU stack: the places that one cache of unlimited size would hold.

use carom_base::{Access, Ip};

use super::{
    entry::{Last, MAX_PLACES, Stamp},
    entry_cache::EntryCache,
    grid::{Grid, Key, VACANT},
    order::Order,
    recent::{Recent, RecentEntry},
    sites::Sites,
    table::{EntryTable, Home},
};

/// The number of places that are prefetched.
pub(super) const AHEAD: usize = 32;

/// If this many of those had to be looked up in the table, much of what is touched is far.
const FAR: u32 = AHEAD as u32 / 4;

/// A touch of a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now<'a> {
    /// The clock before the access.
    pub begin: u64,
    /// What its place will remember of it, beside the instruction.
    pub stamp: Stamp,
    pub access: &'a Access,
}

impl<'a> Now<'a> {
    #[inline(always)]
    pub fn new(begin: u64, end: u64, who: u32, access: &'a Access) -> Self {
        Self { begin, stamp: Stamp::new(end, who, access.kind.writes()), access }
    }

    #[inline(always)]
    pub fn writes(self) -> bool {
        self.stamp.wrote()
    }

    /// What its place will remember of it, beside whether it was exclusive.
    #[inline(always)]
    fn last(self, earlier: Stamp) -> Last {
        Last { stamp: self.stamp.after(earlier), ip: self.access.ip }
    }

    /// Notes the touch in a place whose last touch was another one.
    #[inline(always)]
    fn reuse(self, last: &mut Last, stack: u64) -> Reuse {
        let Last { stamp: earlier, ip } = std::mem::replace(last, self.last(last.stamp));
        Reuse { earlier, by: By::Ip(ip), time: earlier.before(self.begin), stack }
    }
}

/// The instruction of an earlier touch, which is mostly not needed.
#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    Ip(Ip),
    /// By its number among [`Sites`].
    Site(u32),
}

impl By {
    #[inline(always)]
    pub fn ip(self, sites: Option<&Sites>) -> Ip {
        match self {
            Self::Ip(ip) => ip,
            Self::Site(site) => sites.map_or(Ip(0), |sites| sites.ip(site)),
        }
    }
}

/// A touch of a place that is in the stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reuse {
    pub earlier: Stamp,
    pub by: By,
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
    recent: Recent,
    entry_cache: EntryCache,
    table: EntryTable,
    /// The order of the places that are not among the few most recent.
    order: Order,
    /// Look-ups in the table since [`was_far`](Self::was_far) was called.
    far: u32,
    /// The number of accesses.
    pub clock: u64,
}

impl Stack {
    pub fn new(grid: Grid) -> Self {
        let (recent, entry_cache, table, order) =
            (Recent::new(), EntryCache::new(), EntryTable::new(grid), Order::new(0, 0));
        Self { recent, entry_cache, table, order, far: 0, clock: 0 }
    }

    /// The number of places, including invalidated ones.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// A touch of the place that was touched last, if it is this one. It stays exclusive if it was.
    #[inline(always)]
    pub fn touch_again(&mut self, key: Key, now: Now<'_>) -> Option<Reuse> {
        self.recent.again(key).map(|last| now.reuse(last, 0))
    }

    /// Makes the place the most recent one, if it is among the few most recent. It stays exclusive if it was.
    #[inline(always)]
    pub fn touch_recent(&mut self, key: Key, now: Now<'_>) -> Option<Reuse> {
        self.recent.touch(key).map(|(stack, last)| now.reuse(last, stack))
    }

    /// Makes the place, which is not among these, the most recent one. It stays exclusive if it was.
    #[inline(always)]
    pub fn touch_older(&mut self, key: Key, now: Now<'_>, sites: Option<&mut Sites>) -> Seen {
        let Some(home) = self.home(key) else {
            self.touch_new(key, now, sites);
            return Seen::First;
        };
        let entry = self.table.at(home);
        let (earlier, site) = (entry.stamp(), entry.site());
        let Some(slot) = entry.take_slot() else {
            self.push(key, home, now.last(Stamp::NONE), sites);
            return Seen::Invalidated;
        };
        let stack = self.order.take(slot) + self.recent.count();
        self.push(key, home, now.last(earlier), sites);
        Seen::Reuse(Reuse { earlier, by: By::Site(site), time: earlier.before(now.begin), stack })
    }

    /// Beyond [`MAX_PLACES`] (some 20 GB of memory) all other places are forgotten.
    #[inline(never)]
    fn touch_new(&mut self, key: Key, now: Now<'_>, sites: Option<&mut Sites>) {
        if self.table.len() >= MAX_PLACES {
            self.retain(|_| false);
        }
        let (home, moved) = self.table.insert(key);
        if let Some(moved) = moved {
            self.recent.iter_mut().for_each(|(_, place)| moved.follow(&mut place.home));
            self.table.neighbours(key).for_each(|key| self.entry_cache.follow(key, moved));
        }
        self.entry_cache.put(key, home);
        self.push(key, home, now.last(Stamp::NONE), sites);
    }

    /// Adds a most recent place; the last of the recent ones takes a slot. Only then is the number of its instruction
    /// needed, if ever.
    #[inline(always)]
    fn push(&mut self, key: Key, home: Home, last: Last, sites: Option<&mut Sites>) {
        if let Some(fallen) = self.recent.push(key, RecentEntry { home, last }) {
            let slot = match self.order.push() {
                Some(slot) => slot,
                None => self.renumber(),
            };
            let site = sites.map_or(0, |sites| sites.number(fallen.last.ip));
            self.table.at(fallen.home).set(fallen.last.stamp, site, slot);
        }
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
        if let Some(place) = self.recent.get(key) {
            place.last.stamp.set_exclusive(false);
            return true;
        }
        let Some((_, entry)) = self.table.find(key) else { return false };
        entry.share();
        entry.slot().is_some()
    }

    /// Another stack's place was written that this one may have too.
    pub fn invalidate(&mut self, key: Key) {
        if self.recent.remove(key).is_none()
            && let Some((_, entry)) = self.table.find(key)
            && let Some(slot) = entry.take_slot()
        {
            self.order.take(slot);
        }
    }

    /// The place that was just touched is in no other stack.
    pub fn own(&mut self) {
        self.recent.top().last.stamp.set_exclusive(true);
    }

    /// Whether the place is exclusive to this stack.
    #[inline(always)]
    pub fn owns(&mut self) -> bool {
        self.recent.top().last.stamp.exclusive()
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
        self.recent.retain(&keep);
        let order = &mut self.order;
        self.table.retain(|key, entry| {
            let kept = keep(key);
            if let (false, Some(slot)) = (kept, entry.slot()) {
                order.take(slot);
            }
            kept
        });
        self.entry_cache.clear();
        for (key, place) in self.recent.iter_mut() {
            if let Some(home) = self.table.home(key) {
                place.home = home;
            }
        }
    }
}
