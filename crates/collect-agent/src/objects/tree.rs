//! Known call paths of allocations, recognised without unwinding and without a lock.
//!
//! Paths are kept in a radix tree over their marks ([`Mark`]). A node has the marks that all its paths have in common,
//! and one place where they differ; the edge with the word that is there leads on. So a look-up reads each mark of a
//! path once and looks into a hash table where paths differ. Nodes are never changed and never freed; only edges lead
//! elsewhere when a node is split.
//!
//! Mostly even that is not needed. Where a thread allocates at the same place with the same stack pointer, it has mostly
//! come the same way as the last time: the paths that were recognised last are kept by both, and compared at once.

mod index;

use std::{
    ops::Range,
    sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::*},
};

use super::{
    HolderLock,
    caller::{Caller, Mark, Place},
};
use index::{Index, Key};

/// A known path.
struct Known {
    /// The innermost return address.
    ip: u64,
    /// What is behind it.
    marks: &'static [Mark],
    /// Its number.
    site: u32,
}

impl Known {
    /// Whether an allocation by `caller` has come this way.
    #[inline(always)]
    fn is_that_of(&self, caller: &Caller) -> bool {
        // SAFETY: a place in the frames of this path, and so far this is that path.
        self.ip == caller.ip && self.marks.iter().all(|mark| unsafe { mark.place.read(caller) } == mark.value)
    }
}

/// Where paths differ, or where one ends.
struct Node {
    /// By which edges know it.
    id: u64,
    /// What all its paths have.
    marks: &'static [Mark],
    /// Where they differ; `None`: it is the end of one.
    differ: Option<Place>,
    /// The path, or that of the frames up to here where further ones are not told apart; null for none.
    known: AtomicPtr<Known>,
}

/// A path that no allocation has.
static NONE: Known = Known { ip: 0, marks: &[], site: 0 };

/// The paths that were recognised last, two for each value of a hash.
static LAST: [[AtomicPtr<Known>; 2]; 1 << LAST_BITS] =
    [const { [const { AtomicPtr::new((&raw const NONE).cast_mut()) }; 2] }; 1 << LAST_BITS];

const LAST_BITS: u32 = 11;

/// 2^64 over the golden ratio (Knuth 6.4).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// What all paths begin at.
const ROOT: u64 = 1;

/// An edge, from a node by a word.
struct Edge {
    /// 0 where there is none.
    from: AtomicU64,
    word: AtomicU64,
    /// Null where what was there is forgotten.
    to: AtomicPtr<Node>,
}

/// All edges: a hash table with linear probing, at most half full.
struct Edges {
    slots: Box<[Edge]>,
    used: AtomicUsize,
    /// 64 minus log2 of its length.
    shift: u32,
}

/// log2 of the length of the first table.
const FIRST_BITS: u32 = 10;

static EDGES: AtomicPtr<Edges> = AtomicPtr::new(std::ptr::null_mut());

/// Held by the thread that changes the tree. Whatever it leaves undone, the tree is whole.
static CHANGING: HolderLock<Index> = HolderLock::new(Index::new());

/// The number of the youngest node.
static LAST_ID: AtomicU64 = AtomicU64::new(ROOT);

/// The number of the path of an allocation by `caller`; 0 where it is not known.
#[inline(always)]
pub fn find(caller: &Caller) -> u32 {
    let hash = (caller.ip ^ caller.sp.rotate_left(u32::BITS)).wrapping_mul(GOLDEN);
    let last = &LAST[(hash >> (u64::BITS - LAST_BITS)) as usize];
    // SAFETY: known paths are never freed. ATOMICS: pairs with the releases in `find_in_tree`.
    let known = unsafe { &*last[0].load(Acquire) };
    if known.is_that_of(caller) { known.site } else { find_elsewhere(caller, last) }
}

/// As [`find`], where the first of the `last` paths is another one.
#[unsafe(link_section = "carom_led_on")]
#[inline(never)]
extern "C" fn find_elsewhere(caller: &Caller, last: &[AtomicPtr<Known>; 2]) -> u32 {
    let [first, second] = last;
    let mut found = second.load(Acquire);
    // SAFETY: as in `find`.
    if !unsafe { &*found }.is_that_of(caller) {
        found = find_in_tree(caller);
        // SAFETY: as above.
        if found.is_null() {
            return 0;
        }
    }
    second.store(first.load(Acquire), Release);
    first.store(found, Release);
    // SAFETY: as in `find`; it is not null.
    unsafe { &*found }.site
}

#[inline(always)]
fn find_in_tree(caller: &Caller) -> *mut Known {
    // Of the frames so far, where further ones are not told apart.
    let mut common = std::ptr::null_mut();
    // SAFETY: tables of edges are never freed. ATOMICS: pairs with the releases in `Edges::publish`.
    let Some(edges) = (unsafe { EDGES.load(Acquire).as_ref() }) else { return common };
    let Some(mut node) = edges.find(ROOT, caller.ip) else { return common };
    loop {
        for mark in node.marks {
            // SAFETY: a place in the frames of this path, and so far this is that path.
            if unsafe { mark.place.read(caller) } != mark.value {
                return common;
            }
        }
        let known = node.known.load(Acquire);
        let Some(place) = node.differ else { return known };
        if !known.is_null() {
            common = known;
        }
        // SAFETY: as above.
        let word = unsafe { place.read(caller) };
        match edges.find(node.id, word) {
            Some(next) => node = next,
            None => return common,
        }
    }
}

/// A path to be entered.
pub struct Path<'a> {
    /// The innermost return address.
    pub ip: u64,
    /// The marks behind it.
    pub marks: &'a [Mark],
    /// Its number.
    pub site: u32,
    /// It goes on, but further frames are not to be told apart.
    pub goes_on: bool,
}

impl Path<'_> {
    /// Enters the path. One that does not go together with those that are known is left out.
    pub fn add(&self) {
        let Ok(mut index) = CHANGING.lock() else { return };
        let Some(edges) = Edges::with_room() else { return };
        let mut lead = |edge: Key, to| {
            edges.lead(edge, to);
            index.enter(edge, to);
        };
        let known = Known { ip: self.ip, marks: Box::leak(self.marks.into()), site: self.site };
        let known: &'static Known = Box::leak(Box::new(known));
        let (mut from, mut word, mut rest) = (ROOT, self.ip, known.marks);
        while let Some(node) = edges.find(from, word) {
            let same = node.marks.iter().zip(rest).take_while(|(known, mark)| known == mark).count();
            rest = rest.get(same..).unwrap_or_default();
            if same < node.marks.len() {
                if let Some(head) = self.split(&mut lead, node, same, rest, known) {
                    lead((from, word), head);
                }
                return;
            }
            match (node.differ, rest.split_first()) {
                (Some(place), Some((mark, behind))) if mark.place == place => {
                    (from, word, rest) = (node.id, mark.value, behind);
                }
                (Some(_), None) if self.goes_on => return node.known.store(mutable(known), Release),
                _ => return,
            }
        }
        lead((from, word), Node::new(rest, None, mutable(known)));
    }

    /// Divides `node` in front of its mark `at`, where this path, `known` from now on, has `rest`. Returns what is to
    /// stand in its place. `lead`: has an edge lead to a node.
    fn split(
        &self,
        mut lead: impl FnMut(Key, &'static Node),
        node: &Node,
        at: usize,
        rest: &'static [Mark],
        known: &'static Known,
    ) -> Option<&'static Node> {
        let differs = node.marks.get(at)?;
        let (here, end) = match rest.split_first() {
            Some((mark, rest)) if mark.place == differs.place => (None, Some((mark.value, rest))),
            None if self.goes_on => (Some(known), None),
            _ => return None,
        };
        let here = here.map_or(std::ptr::null_mut(), mutable);
        let head = Node::new(node.marks.get(..at)?, Some(differs.place), here);
        let tail = Node {
            id: node.id,
            marks: node.marks.get(at + 1..)?,
            differ: node.differ,
            known: node.known.load(Acquire).into(),
        };
        lead((head.id, differs.value), Box::leak(Box::new(tail)));
        if let Some((word, rest)) = end {
            lead((head.id, word), Node::new(rest, None, mutable(known)));
        }
        Some(head)
    }
}

/// For an atomic pointer; nobody changes what is there.
fn mutable(known: &'static Known) -> *mut Known {
    std::ptr::from_ref(known).cast_mut()
}

impl Node {
    fn new(marks: &'static [Mark], differ: Option<Place>, known: *mut Known) -> &'static Self {
        let id = LAST_ID.fetch_add(1, Relaxed) + 1;
        Box::leak(Box::new(Self { id, marks, differ, known: known.into() }))
    }
}

impl Edges {
    fn new(bits: u32) -> Self {
        let empty = || Edge {
            from: AtomicU64::new(0),
            word: AtomicU64::new(0),
            to: AtomicPtr::new(std::ptr::null_mut()),
        };
        let slots = std::iter::repeat_with(empty).take(1 << bits).collect();
        Self { slots, used: AtomicUsize::new(0), shift: u64::BITS - bits }
    }

    /// The edges, with room for those of one more path.
    fn with_room() -> Option<&'static Self> {
        /// A node that is split has two, and another one leads to it.
        const MOST_NEW: usize = 2;
        let now = EDGES.load(Acquire);
        // SAFETY: as in `find`.
        let before = unsafe { now.as_ref() };
        let is_roomy = |edges: &&Self| (edges.used.load(Relaxed) + MOST_NEW) * 2 <= edges.slots.len();
        if let Some(edges) = before.filter(is_roomy) {
            return Some(edges);
        }
        let larger = Self::new(before.map_or(FIRST_BITS, |edges| u64::BITS - edges.shift + 1));
        for edge in before.iter().flat_map(|edges| &edges.slots) {
            let from = edge.from.load(Relaxed);
            // SAFETY: nodes are never freed.
            if let Some(to) = unsafe { edge.to.load(Relaxed).as_ref() }.filter(|_| from != 0) {
                larger.lead((from, edge.word.load(Relaxed)), to);
            }
        }
        larger.publish(now)
    }

    /// Puts it in the place of `before`, unless another one is there. The one before may be in use and stays.
    fn publish(self, before: *mut Self) -> Option<&'static Self> {
        let new = Box::leak(Box::new(self));
        // ATOMICS: pairs with the acquire in `find`.
        EDGES.compare_exchange(before, new, Release, Relaxed).ok().map(|_| &*new)
    }

    #[inline(always)]
    fn slot(&self, from: u64, word: u64) -> (&Edge, bool) {
        let mut index = (word ^ from.rotate_right(16)).wrapping_mul(GOLDEN) >> self.shift;
        loop {
            // SAFETY: its length is a power of two, and not 0.
            let edge = unsafe { self.slots.get_unchecked(index as usize & (self.slots.len() - 1)) };
            // ATOMICS: pairs with the release in `lead`: an edge that is seen is complete.
            match edge.from.load(Acquire) {
                0 => return (edge, false),
                found if found == from && edge.word.load(Relaxed) == word => return (edge, true),
                _ => index += 1,
            }
        }
    }

    #[inline(always)]
    fn find(&self, from: u64, word: u64) -> Option<&'static Node> {
        let (edge, found) = self.slot(from, word);
        // SAFETY: nodes are never freed. ATOMICS: pairs with the releases in `lead`.
        if found { unsafe { edge.to.load(Acquire).as_ref() } } else { None }
    }

    /// Has an edge lead to `to`. There is room for it.
    fn lead(&self, (from, word): Key, to: &'static Node) {
        let (edge, found) = self.slot(from, word);
        edge.to.store(std::ptr::from_ref(to).cast_mut(), Release);
        if !found {
            edge.word.store(word, Relaxed);
            edge.from.store(from, Release);
            self.used.fetch_add(1, Relaxed);
        }
    }
}

/// Forgets all paths through code in `gone`: other code may be there from now on.
pub fn forget(gone: &Range<u64>) {
    let Ok(mut index) = CHANGING.lock() else { return };
    // SAFETY: as in `find`.
    let Some(edges) = (unsafe { EDGES.load(Acquire).as_ref() }) else { return };
    let mut dead = Vec::new();
    for (page, all) in index.take_through(gone) {
        let is_gone = |&(from, word): &Key| {
            let through = |to: &Node| to.marks.iter().any(|mark| gone.contains(&mark.value));
            gone.contains(&word) || edges.find(from, word).is_some_and(through)
        };
        let (through, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_gone);
        dead.extend(through);
        index.keep(page, others);
    }
    if dead.is_empty() {
        return;
    }
    remember_none();
    // What follows a node that is not found any more is not found either, and need not be kept.
    while let Some((from, word)) = dead.pop() {
        let (edge, _) = edges.slot(from, word);
        let to = edge.to.swap(std::ptr::null_mut(), AcqRel);
        // SAFETY: as in `find`.
        if let Some(to) = unsafe { to.as_ref() } {
            dead.extend(index.take_from(to.id));
        }
    }
}

/// No path was recognised last.
fn remember_none() {
    for last in LAST.iter().flatten() {
        last.store(mutable(&NONE), Release);
    }
}

/// In a forked child: the thread that was changing the tree may not be here. What it has noted may not be all, and paths are learnt
/// again.
pub fn after_fork() {
    if CHANGING.is_held() {
        EDGES.store(std::ptr::null_mut(), Release);
        remember_none();
    }
    CHANGING.after_fork(Index::new());
}

#[cfg(test)]
mod tests;
