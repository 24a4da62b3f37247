//! One LRU stack: the places that one cache of unlimited size would hold.

use carom_base::{Access, Addr, Ip};

use super::{
    entry::{Entry, Last, MAX_PLACES, Stamp},
    grid::{Grid, Key, VACANT},
    order::Order,
    recent::{Place, Recent},
    sites::Sites,
    table::{Home, Table},
};

/// How many places are read ahead for.
pub(super) const AHEAD: usize = 32;

/// A touch of a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    /// The clock before the access.
    pub begin: u64,
    /// What its place will remember of it.
    pub last: Last,
    /// The first byte of the access.
    pub at: Addr,
}

impl Now {
    #[inline(always)]
    pub fn new(begin: u64, end: u64, who: u32, access: &Access) -> Self {
        let stamp = Stamp::new(end, who, access.kind.writes());
        Self { begin, last: Last { stamp, ip: access.ip }, at: access.addr }
    }

    #[inline(always)]
    pub fn writes(&self) -> bool {
        self.last.stamp.wrote()
    }
}

/// A touch of a place that the stack has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reuse {
    pub earlier: Last,
    /// Accesses in between.
    pub time: u64,
    /// Places in between.
    pub stack: u64,
}

/// What a touch was to its place.
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
    table: Table,
    order: Order,
    /// Accesses so far.
    pub clock: u64,
}

impl Stack {
    pub fn new(grid: Grid) -> Self {
        Self { recent: Recent::new(), table: Table::new(grid), order: Order::new(0), clock: 0 }
    }

    /// Places, also those that are gone.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// If the place is among the few most recent, it becomes the most recent one. It stays exclusive if it was.
    #[inline(always)]
    pub fn touch_recent(&mut self, key: Key, now: &Now) -> Option<Reuse> {
        let (stack, last) = self.recent.touch(key)?;
        let earlier = *last;
        *last = Last { stamp: now.last.stamp.after(earlier.stamp), ..now.last };
        Some(Reuse { earlier, time: earlier.stamp.before(now.begin), stack })
    }

    /// The place, which is not among the few most recent, becomes the most recent one. It stays exclusive if it was.
    #[inline(always)]
    pub fn touch_older(&mut self, key: Key, now: &Now, mut sites: Option<&mut Sites>) -> Seen {
        let Some((home, entry)) = self.table.find(key) else { return self.touch_new(key, now, sites) };
        let Some(slot) = entry.slot() else {
            self.push(key, home, now.last, sites);
            return Seen::Invalidated;
        };
        let ip = sites.as_mut().map_or(Ip(0), |sites| sites.ip(entry.site()));
        let earlier = Last { stamp: entry.stamp(), ip };
        entry.set_slot(None);
        let stack = self.order.take(slot) + self.recent.count();
        self.push(key, home, Last { stamp: now.last.stamp.after(earlier.stamp), ..now.last }, sites);
        Seen::Reuse(Reuse { earlier, time: earlier.stamp.before(now.begin), stack })
    }

    /// Beyond [`MAX_PLACES`] (some 20 GB of memory) all others are forgotten.
    #[cold]
    #[inline(never)]
    fn touch_new(&mut self, key: Key, now: &Now, sites: Option<&mut Sites>) -> Seen {
        if self.table.len() >= MAX_PLACES {
            self.retain(|_| false);
        }
        let (home, moved) = self.table.insert(key);
        if let Some(moved) = moved {
            self.recent.iter_mut().for_each(|(_, place)| moved.follow(&mut place.home));
        }
        self.push(key, home, now.last, sites);
        Seen::First
    }

    /// A new most recent place; the last of those that were takes a slot. Only then is the number of its instruction
    /// needed, if ever.
    #[inline(always)]
    fn push(&mut self, key: Key, home: Home, last: Last, sites: Option<&mut Sites>) {
        if let Some(fallen) = self.recent.push(key, Place { home, last }) {
            let slot = match self.order.push() {
                Some(slot) => slot,
                None => self.renumber(),
            };
            let entry = self.table.at(fallen.home);
            entry.set_last(fallen.last.stamp, sites.map_or(0, |sites| sites.number(fallen.last.ip)));
            entry.set_slot(Some(slot));
        }
    }

    /// Slots have run out: the live ones move together, and one more is taken.
    #[cold]
    #[inline(never)]
    fn renumber(&mut self) -> u32 {
        for entry in self.table.entries_mut() {
            if let Some(slot) = entry.slot() {
                entry.set_slot(Some(self.order.older(slot)));
            }
        }
        let live = self.order.live() as usize;
        self.order = Order::new(live);
        // There is room: an order has several slots for each place.
        self.order.push().unwrap_or_default()
    }

    #[cold]
    #[inline(never)]
    fn find_homes(&mut self) {
        for (key, place) in self.recent.iter_mut() {
            if let Some((home, _)) = self.table.find(key) {
                place.home = home;
            }
        }
    }

    /// Another stack's place was touched that this one may have too; true if it has.
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
        self.recent.remove(key);
        let Some((_, entry)) = self.table.find(key) else { return };
        if let Some(slot) = entry.slot() {
            self.order.take(slot);
        }
        entry.set_slot(None);
    }

    /// The place that was just touched is in no other stack.
    pub fn own(&mut self) {
        self.recent.top().last.stamp.set_exclusive(true);
    }

    /// Is it?
    #[inline(always)]
    pub fn owns(&mut self) -> bool {
        self.recent.top().last.stamp.exclusive()
    }

    /// Brings near what touching these places, of which the first [`AHEAD`] count, will need: for all of them at once, as
    /// each step needs the one before.
    #[inline(always)]
    pub fn read_ahead(&self, keys: impl Iterator<Item = Key>) {
        let (mut places, mut slots) = ([VACANT; AHEAD], [0; AHEAD]);
        let (mut count, mut last, mut read) = (0, VACANT, 0);
        for key in keys.take(AHEAD) {
            // Without a branch: who stays at a place is overwritten.
            places[count % AHEAD] = key;
            count += usize::from(key != last);
            last = key;
        }
        for key in &places[..count] {
            read ^= self.table.touch_ahead(*key);
        }
        for (key, slot) in places[..count].iter().zip(&mut slots) {
            *slot = self.entry(*key).and_then(Entry::slot).unwrap_or_default();
        }
        for slot in &slots[..count] {
            read ^= self.order.touch_ahead(*slot);
        }
        std::hint::black_box(read);
    }

    #[inline(always)]
    fn entry(&self, key: Key) -> Option<&Entry> {
        self.table.get(self.table.home(key)?)
    }

    /// The keys of all places.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.table.iter().map(|(key, _)| key)
    }

    /// Forgets all other places, as if they had never been.
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
        self.find_homes();
    }
}
