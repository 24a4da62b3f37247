//! Which edges lead through which code, and which begin at which node: so that code that goes away costs as much as the paths through
//! it, and not as all that are known. A program that opens and closes a hundred libraries has tens of thousands of edges.

use std::ops::Range;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::Node;

/// An edge, by the node that it begins at and its word.
pub type Key = (u64, u64);

/// All edges that have led somewhere. What they lead to may have changed since, and it may be nothing: like nodes, they stay.
#[derive(Debug)]
pub struct Index {
    /// By the pages of the words of the edge and of the node that it leads to: return addresses, mostly.
    by_code: FxHashMap<u64, Vec<Key>>,
    /// The words of edges, by the nodes that they begin at.
    from: FxHashMap<u64, Vec<u64>>,
}

/// log2 of a page's bytes: a library is a few dozen.
const PAGE_BITS: u32 = 16;

impl Index {
    /// None.
    pub const fn new() -> Self {
        Self { by_code: FxHashMap::with_hasher(FxBuildHasher), from: FxHashMap::with_hasher(FxBuildHasher) }
    }

    /// This edge leads to `to`.
    pub fn enter(&mut self, edge: Key, to: &Node) {
        let (from, word) = edge;
        self.from.entry(from).or_default().push(word);
        let mut before = None;
        for word in [word].into_iter().chain(to.marks.iter().map(|mark| mark.value)) {
            let page = word >> PAGE_BITS;
            if before.replace(page) != Some(page) {
                self.by_code.entry(page).or_default().push(edge);
            }
        }
    }

    /// Takes out all edges that may have a word in this range, or lead to a node that has one. Those that have none are to be put
    /// back ([`keep`](Self::keep)).
    pub fn take_through(&mut self, code: &Range<u64>) -> Vec<(u64, Vec<Key>)> {
        let pages = code.start >> PAGE_BITS..=code.end >> PAGE_BITS;
        pages.filter_map(|page| Some((page, self.by_code.remove(&page)?))).collect()
    }

    /// Puts edges of a page back.
    pub fn keep(&mut self, page: u64, edges: Vec<Key>) {
        if !edges.is_empty() {
            self.by_code.insert(page, edges);
        }
    }

    /// Takes out the edges that begin at the node with this number.
    pub fn take_from(&mut self, node: u64) -> impl Iterator<Item = Key> {
        self.from.remove(&node).unwrap_or_default().into_iter().map(move |word| (node, word))
    }
}
