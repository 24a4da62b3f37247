//! Reuse distances by lists that are searched from the front: no tree, no hash table, nothing shared with the crate.

use std::collections::{BTreeMap, HashSet};

use carom_base::{
    Access, AccessKind, Addr, CellClass, DistanceKind, Ip, LogBin, ReuseCell, ReuseKind, Scope, ThreadId,
};
use carom_base_reuse::exact::Domain;

/// The key of a [`ReuseCell`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub thread: u32,
    pub scope: Scope,
    pub distance: DistanceKind,
    pub granularity: u32,
    pub class: u8,
    pub bin: u16,
    pub from_other: bool,
    pub pair: Option<(Ip, Ip)>,
}

/// The rest of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub count: u64,
    pub at: Addr,
}

impl Counted {
    fn add(&mut self, count: u64, at: Addr) {
        *self = Self { count: self.count + count, at };
    }
}

pub type Counts = BTreeMap<Key, Counted>;

/// Counts pairs that are nearer than this, among the rest: 8 to 64 places, where a bin of pairs begins.
pub fn nearer_together(counts: Counts, nearest: u64) -> Counts {
    let mut together = Counts::new();
    for (key, counted) in counts {
        // Bins are distances there.
        if key.pair.is_some() && u64::from(key.bin) < nearest {
            let rest = Key { pair: Some(ReuseCell::REST), ..key };
            together.entry(rest).or_default().count += counted.count;
        } else {
            together.insert(key, counted);
        }
    }
    together
}

/// Adds cells up, in order.
pub fn add(counts: &mut Counts, cells: &[ReuseCell]) {
    for cell in cells {
        let key = Key {
            thread: cell.thread.0,
            scope: cell.scope,
            distance: cell.distance,
            granularity: cell.granularity,
            class: cell.class.code(),
            bin: if cell.pair.is_some() { of_pair(cell.bin).0 } else { cell.bin.0 },
            from_other: cell.from_other,
            pair: cell.pair,
        };
        counts.entry(key).or_default().add(cell.count, cell.at);
    }
}

/// For pairs, eight bins are one; the result is the bin of their mean.
fn of_pair(bin: LogBin) -> LogBin {
    LogBin(bin.0 / 8 * 8)
}

/// The first byte, and one past the last.
type Range = (u64, u64);

fn places(access: &Access, granularity: u64) -> Vec<Range> {
    let (start, end) = (access.addr.0, access.addr.0 + u64::from(access.width));
    if granularity == 1 {
        return (start..end).step_by(64).map(|piece| (piece, end.min(piece + 64))).collect();
    }
    (start / granularity..=(end - 1) / granularity)
        .map(|number| (number * granularity, (number + 1) * granularity))
        .collect()
}

#[derive(Clone, Copy)]
struct Use {
    place: Range,
    ends: u64,
    thread: u32,
    writes: bool,
    ip: Ip,
    at: Addr,
}

/// One cache.
#[derive(Default)]
struct Cache {
    clock: u64,
    /// The most recent first.
    stack: Vec<Use>,
    invalidated: HashSet<Range>,
}

/// All caches of one scope at one granularity.
pub struct Naive {
    scope: Scope,
    granularity: u32,
    pairs: bool,
    caches: BTreeMap<u32, Cache>,
    pub counts: Counts,
}

impl Naive {
    pub fn new(scope: Scope, granularity: u32, pairs: bool) -> Self {
        Self { scope, granularity, pairs, caches: BTreeMap::new(), counts: Counts::new() }
    }

    pub fn access(&mut self, thread: ThreadId, domain: Domain, access: &Access) {
        let holder = if self.scope == Scope::Private { thread.0 } else { domain.0 };
        let begins = self.caches.entry(holder).or_default().clock;
        let ends = begins + if access.kind == AccessKind::ReadModifyWrite { 2 } else { 1 };
        let writes = access.kind.writes();
        for place in places(access, self.granularity.into()) {
            let now = Use { place, ends, thread: thread.0, writes, ip: access.ip, at: access.addr };
            self.touch(holder, begins, now);
            if writes {
                self.invalidate(holder, place);
            }
        }
        self.caches.entry(holder).or_default().clock = ends;
    }

    fn touch(&mut self, holder: u32, begins: u64, now: Use) {
        let cache = self.caches.entry(holder).or_default();
        let depth = cache.stack.iter().position(|earlier| earlier.place == now.place);
        let earlier = depth.map(|depth| cache.stack.remove(depth));
        let was_invalidated = cache.invalidated.remove(&now.place);
        cache.stack.insert(0, now);
        let (Some(earlier), Some(depth)) = (earlier, depth) else {
            let class = if was_invalidated { CellClass::Invalidated } else { CellClass::First };
            self.count(&now, DistanceKind::Time, class, LogBin(0), false, None);
            return self.count(&now, DistanceKind::Stack, class, LogBin(0), false, None);
        };
        let kind = match (earlier.writes, now.writes) {
            (false, false) => ReuseKind::Rar,
            (true, false) => ReuseKind::Raw,
            (true, true) => ReuseKind::Waw,
            (false, true) => ReuseKind::War,
        };
        let class = CellClass::Reuse(kind);
        let other = self.scope == Scope::Shared && earlier.thread != now.thread;
        let (time, depth) = (begins - earlier.ends, depth as u64);
        self.count(&now, DistanceKind::Time, class, LogBin::of(time), other, None);
        self.count(&now, DistanceKind::Stack, class, LogBin::of(depth), other, None);
        if self.pairs {
            let pair = Some((earlier.ip, now.ip));
            self.count(&now, DistanceKind::Stack, class, of_pair(LogBin::of(depth)), other, pair);
        }
    }

    fn invalidate(&mut self, writer: u32, written: Range) {
        for (_, cache) in self.caches.iter_mut().filter(|(holder, _)| **holder != writer) {
            let overlaps = |place: Range| place.0 < written.1 && written.0 < place.1;
            cache
                .invalidated
                .extend(cache.stack.iter().map(|one| one.place).filter(|place| overlaps(*place)));
            cache.stack.retain(|one| !overlaps(one.place));
        }
    }

    fn count(
        &mut self,
        now: &Use,
        distance: DistanceKind,
        class: CellClass,
        bin: LogBin,
        from_other: bool,
        pair: Option<(Ip, Ip)>,
    ) {
        let key = Key {
            thread: now.thread,
            scope: self.scope,
            distance,
            granularity: self.granularity,
            class: class.code(),
            bin: bin.0,
            from_other,
            pair,
        };
        let at = pair.map_or(Addr(0), |_| now.at);
        self.counts.entry(key).or_default().add(1, at);
    }

    pub fn end(&mut self, thread: ThreadId) {
        if self.scope == Scope::Private {
            self.caches.remove(&thread.0);
        }
    }
}
