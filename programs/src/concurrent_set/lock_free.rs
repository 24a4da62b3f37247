//! A sorted linked list without locks: Harris, "A pragmatic implementation of non-blocking linked-lists" (DISC 2001), with
//! the removal of marked nodes on the way by Michael (SPAA 2002). A node is removed in two steps: its own link is marked,
//! then the link that leads to it is changed.

use std::sync::atomic::Ordering::*;

use crossbeam_epoch::{Atomic, Guard, Owned, Shared, pin};

use super::Set;

/// The list. Removed nodes are freed once no thread can be using them.
pub struct LockFree(Atomic<Node>);

struct Node {
    key: u64,
    /// Marked where the node is removed.
    next: Atomic<Node>,
}

const MARK: usize = 1;

/// The link to the first node whose key is not less than some key, and that node.
struct Place<'a> {
    link: &'a Atomic<Node>,
    node: Shared<'a, Node>,
}

/// The node at a pointer that was read under the guard.
fn node<'a>(pointer: Shared<'a, Node>) -> Option<&'a Node> {
    // SAFETY: read from a link under the guard that the lifetime names; nodes are freed later than that.
    unsafe { pointer.as_ref() }
}

impl LockFree {
    #[inline(never)]
    fn find<'a>(&'a self, key: u64, guard: &'a Guard) -> Place<'a> {
        'again: loop {
            let mut link = &self.0;
            let mut here = link.load(Acquire, guard);
            while let Some(found) = node(here) {
                let next = found.next.load(Acquire, guard);
                if next.tag() == MARK {
                    let next = next.with_tag(0);
                    if link.compare_exchange(here, next, AcqRel, Acquire, guard).is_err() {
                        continue 'again;
                    }
                    // SAFETY: no link leads to it any more, and only the thread that changed the last link comes
                    // here.
                    unsafe { guard.defer_destroy(here) };
                    here = next;
                } else if found.key < key {
                    link = &found.next;
                    here = next;
                } else {
                    break;
                }
            }
            return Place { link, node: here };
        }
    }
}

impl Set for LockFree {
    fn new() -> Self {
        Self(Atomic::null())
    }

    fn insert(&self, key: u64) -> bool {
        let guard = pin();
        let mut new = Owned::new(Node { key, next: Atomic::null() });
        loop {
            let place = self.find(key, &guard);
            if node(place.node).is_some_and(|found| found.key == key) {
                return false;
            }
            new.next.store(place.node, Relaxed);
            match place.link.compare_exchange(place.node, new, AcqRel, Acquire, &guard) {
                Ok(_) => return true,
                Err(failed) => new = failed.new,
            }
        }
    }

    fn remove(&self, key: u64) -> bool {
        let guard = pin();
        loop {
            let place = self.find(key, &guard);
            let Some(found) = node(place.node).filter(|found| found.key == key) else { return false };
            let next = found.next.fetch_or(MARK, AcqRel, &guard);
            if next.tag() == MARK {
                // Another thread was faster; whether the key is there now is looked up again.
                continue;
            }
            // Threads that pass by remove it; this one does so at once.
            self.find(key, &guard);
            return true;
        }
    }

    fn contains(&self, key: u64) -> bool {
        let guard = pin();
        node(self.find(key, &guard).node).is_some_and(|found| found.key == key)
    }

    fn len(&self) -> u64 {
        let guard = pin();
        let mut here = self.0.load(Acquire, &guard);
        let mut count = 0;
        while let Some(found) = node(here) {
            let next = found.next.load(Acquire, &guard);
            count += u64::from(next.tag() != MARK);
            here = next;
        }
        count
    }
}

impl Drop for LockFree {
    fn drop(&mut self) {
        let mut link = std::mem::take(&mut self.0);
        // SAFETY: nobody else has the list any more, so each node is owned by the one link that leads to it.
        while let Some(owned) = unsafe { link.try_into_owned() } {
            link = owned.into_box().next;
        }
    }
}
