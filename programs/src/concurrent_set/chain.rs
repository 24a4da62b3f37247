//! A sorted linked list under one lock.

use std::cell::UnsafeCell;

use super::Set;
use super::locks::Lock;

/// The list and its lock, side by side as most programs have them.
pub struct Locked<L> {
    lock: L,
    head: UnsafeCell<Link>,
}

// SAFETY: the list is reached with the lock held alone.
unsafe impl<L: Lock> Sync for Locked<L> {}

type Link = Option<Box<Node>>;

struct Node {
    key: u64,
    next: Link,
}

impl<L: Lock> Locked<L> {
    /// Calls `work` with the link that leads to the first node whose key is not less than `key`.
    #[inline(never)]
    fn at<T>(&self, key: u64, work: impl FnOnce(&mut Link) -> T) -> T {
        self.lock.acquire();
        // SAFETY: this thread alone holds the lock.
        let mut link = unsafe { &mut *self.head.get() };
        while link.as_ref().is_some_and(|node| node.key < key) {
            // The loop's condition says that there is a node.
            let Some(node) = link else { break };
            link = &mut node.next;
        }
        let result = work(link);
        self.lock.release();
        result
    }
}

impl<L: Lock> Set for Locked<L> {
    fn new() -> Self {
        Self { lock: L::new(), head: UnsafeCell::new(None) }
    }

    fn insert(&self, key: u64) -> bool {
        self.at(key, |link| {
            if link.as_ref().is_some_and(|node| node.key == key) {
                return false;
            }
            *link = Some(Box::new(Node { key, next: link.take() }));
            true
        })
    }

    fn remove(&self, key: u64) -> bool {
        self.at(key, |link| match link.take_if(|node| node.key == key) {
            Some(node) => {
                *link = node.next;
                true
            }
            None => false,
        })
    }

    fn contains(&self, key: u64) -> bool {
        self.at(key, |link| link.as_ref().is_some_and(|node| node.key == key))
    }

    fn len(&self) -> u64 {
        self.at(0, |link| {
            let first = link.as_deref();
            std::iter::successors(first, |node| node.next.as_deref()).count() as u64
        })
    }
}

impl<L> Drop for Locked<L> {
    /// Node by node: a long list would overflow the stack.
    fn drop(&mut self) {
        let mut link = self.head.get_mut().take();
        while let Some(mut node) = link {
            link = node.next.take();
        }
    }
}
