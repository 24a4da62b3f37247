//! Allocation sites: the call paths that blocks were allocated by. Never freed, found without a lock.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};

use carom_base::StackId;
use carom_base_wire::{MAX_STACK_FRAMES, Stack};

use super::shadow::SITES_END;

/// One call path.
#[derive(Debug)]
pub struct Site {
    id: StackId,
    /// Counted from 1.
    number: u32,
    frames: Box<[u64]>,
    truncated: bool,
    /// The next site of the same bucket.
    next: *const Self,
}
// SAFETY: never changed once it is in a bucket.
unsafe impl Sync for Site {}

impl Site {
    /// Its number.
    pub fn id(&self) -> StackId {
        self.id
    }

    /// The number by which [`numbered`] knows it; never 0.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The path as it is sent to the host.
    pub fn stack(&self) -> Stack {
        let mut frames = [0; MAX_STACK_FRAMES];
        let depth = self.frames.len().min(MAX_STACK_FRAMES);
        frames[..depth].copy_from_slice(&self.frames[..depth]);
        Stack { id: self.id, frames, depth, truncated: self.truncated }
    }
}

const BUCKETS: usize = 1 << 14;

/// Sites of a process at most: about 70 MiB at 30 frames each. Blocks of further sites are known by address and
/// size only.
const MOST_SITES: usize = 1 << 18;
const _: () = assert!(MOST_SITES < SITES_END as usize);

static SITES: [AtomicPtr<Site>; BUCKETS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; BUCKETS];
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// All of them, by number.
static NUMBERED: [AtomicPtr<Site>; MOST_SITES + 1] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST_SITES + 1];

/// How many there are.
pub fn count() -> usize {
    COUNT.load(Relaxed)
}

/// The site with this number. Signal-safe.
pub fn numbered(number: u32) -> Option<&'static Site> {
    // SAFETY: sites are never freed. ATOMICS: pairs with the release in `intern`.
    unsafe { NUMBERED.get(number as usize)?.load(Acquire).as_ref() }
}

/// The site with this path, made at first sight. `None` where there is no path or too many. Not for handlers:
/// a new site is allocated.
pub fn intern(path: &Stack) -> Option<&'static Site> {
    if path.depth == 0 || path.id == StackId::NONE {
        return None;
    }
    let bucket = &SITES[path.id.0 as usize % BUCKETS];
    // ATOMICS: pairs with the release below: a site that is seen is complete.
    let mut first = bucket.load(Acquire).cast_const();
    if let Some(known) = find(first, path.id) {
        return Some(known);
    }
    let before = COUNT.fetch_add(1, Relaxed);
    if before >= MOST_SITES {
        COUNT.fetch_sub(1, Relaxed);
        return None;
    }
    let (number, frames) = (before as u32 + 1, path.frames[..path.depth].into());
    let site = Site { id: path.id, number, frames, truncated: path.truncated, next: first };
    let site = Box::leak(Box::new(site));
    loop {
        site.next = first;
        match bucket.compare_exchange(first.cast_mut(), site, Release, Acquire) {
            Ok(_) => break,
            // Another thread was faster; where it made the same site, ours is one too many and does no harm.
            Err(now) => first = now,
        }
    }
    if let Some(place) = NUMBERED.get(site.number as usize) {
        place.store(site, Release);
    }
    Some(site)
}

fn find(first: *const Site, id: StackId) -> Option<&'static Site> {
    // SAFETY: sites are never freed.
    let mut site = unsafe { first.as_ref() };
    while let Some(candidate) = site {
        if candidate.id == id {
            break;
        }
        // SAFETY: as above.
        site = unsafe { candidate.next.as_ref() };
    }
    site
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_kept_once() {
        let mut frames = [0; MAX_STACK_FRAMES];
        frames[..3].copy_from_slice(&[10, 20, 30]);
        let path = Stack { id: StackId(0x5eed), frames, depth: 3, truncated: true };
        // In the same bucket.
        let other = Stack { id: StackId(0x5eed + BUCKETS as u64), ..path };
        let first = intern(&path).unwrap();
        assert_eq!((first.id(), first.stack()), (path.id, path));
        assert_eq!(intern(&other).unwrap().id(), other.id);
        assert!(std::ptr::eq(first, intern(&path).unwrap()));
        assert!(std::ptr::eq(first, numbered(first.number()).unwrap()));
        assert!(numbered(0).is_none());
        assert!(intern(&Stack { depth: 0, ..path }).is_none());
    }
}
