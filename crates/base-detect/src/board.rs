use core::sync::atomic::{AtomicU32, Ordering};

use carom_base::{Line, ThreadId};

use crate::slot::{Entry, Slot};

/// The number of slots in the paper (ComDetective 4); a prime, so that strides spread over all slots.
pub const DEFAULT_BOARD_SIZE: usize = 127;

/// What a board keeps for each thread in addition to the entries.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Publisher {
    /// The number of its store samples.
    epoch: AtomicU32,
    /// One more than the slot that it wrote last; 0 for none.
    latest: AtomicU32,
}

/// The board for memory that processes share, used beside the process's own board.
///
/// Any process that maps the memory may overwrite it with anything. So an entry is checked before it is used.
#[derive(Clone, Copy, Debug)]
struct Common<'a> {
    board: &'a Board<'a>,
    /// Whether the calling process has mapped the line.
    reaches: fn(Line) -> bool,
}

impl Common<'_> {
    /// Whether the entry can belong to a board for shared memory that this process has mapped.
    fn may_be(self, entry: &Entry) -> bool {
        let access = entry.write.access;
        let published = entry.write.thread.number_among_processes().is_some() && access.kind.writes();
        let sound = access.width > 0 && entry.weight.is_finite() && entry.weight > 0.0;
        published && sound && access.addr.line().is_shared() && (self.reaches)(access.addr.line())
    }
}

/// The bulletin board: where the threads of a process publish the lines that they write.
///
/// A hash table with one slot per bucket: a line belongs in slot (line number modulo size). An entry contains its
/// full address, so that two lines of one bucket are not confused. Storage is borrowed and may be any zeroed memory
/// that all threads see. Every operation is lock-free and bounded, also while other threads are stopped in the middle
/// of theirs.
#[derive(Clone, Copy, Debug)]
pub struct Board<'a> {
    slots: &'a [Slot],
    publishers: &'a [Publisher],
    /// One more than the highest number of any thread that has published.
    threads: &'a AtomicU32,
    common: Option<Common<'a>>,
}

impl<'a> Board<'a> {
    /// A board of any size, over storage that starts zeroed. `publishers` should have one element per thread; threads
    /// that share one age each other's entries faster. Without slots nothing can be published; without publishers
    /// entries age only by the samples of the looking thread.
    pub const fn new(slots: &'a [Slot], publishers: &'a [Publisher], threads: &'a AtomicU32) -> Self {
        Self { slots, publishers, threads, common: None }
    }

    /// Uses this board for accesses to memory of the process alone, and `common` for accesses to memory that
    /// processes share ([`Line::is_shared`]). There a thread is known by its number among all processes
    /// ([`ThreadId::among_processes`]). `reaches` says whether the calling process has mapped a line.
    pub const fn with_common(self, common: &'a Self, reaches: fn(Line) -> bool) -> Self {
        Self { common: Some(Common { board: common, reaches }), ..self }
    }

    /// The entry in the line's slot, whether of this line or of another.
    pub fn occupant(&self, line: Line) -> Option<Entry> {
        match self.common_of(line) {
            Some(common) => common.board.slot(line)?.read().filter(|entry| common.may_be(entry)),
            None => self.slot(line)?.read(),
        }
    }

    /// Writes an entry to its slot, replacing any other. False where another thread was writing there.
    pub fn try_put(&self, entry: &Entry) -> bool {
        if let Some(common) = self.common_of(entry.write.access.addr.line()) {
            return common.board.try_put(entry);
        }
        let Some(index) = self.index(entry.write.access.addr.line()) else { return false };
        let put = self.slots.get(index).is_some_and(|slot| slot.try_write(entry));
        let thread = entry.write.thread;
        if put && let Some(publisher) = self.publisher(thread) {
            // ATOMICS: hints; the slot itself says whether it is complete.
            publisher.latest.store((index as u32).wrapping_add(1), Ordering::Relaxed);
            let beyond = number(thread).saturating_add(1);
            if self.threads.load(Ordering::Relaxed) < beyond {
                self.threads.fetch_max(beyond, Ordering::Relaxed);
            }
        }
        put
    }

    /// All entries, each read once. Costs one cache line per slot; slots that other threads have written since the
    /// last time come from their caches.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + 'a {
        let common = self.common;
        let others = common.into_iter().flat_map(|common| common.board.slots).filter_map(Slot::read);
        self.slots.iter().filter_map(Slot::read).chain(others.filter(move |entry| believable(common, entry)))
    }

    /// The entries in the slots that each thread wrote last, even if another thread has replaced them; all entries
    /// where there are at least as many threads as slots. An entry that is missing here is older than one that is
    /// not, or than a later one of its own thread that another thread has replaced.
    pub fn latest(&self) -> impl Iterator<Item = Entry> + 'a {
        let common = self.common;
        let others = common.into_iter().flat_map(|common| common.board.own_latest());
        self.own_latest().chain(others.filter(move |entry| believable(common, entry)))
    }

    /// [`latest`](Self::latest) of this board alone.
    fn own_latest(&self) -> impl Iterator<Item = Entry> + 'a {
        let threads = self.threads.load(Ordering::Relaxed) as usize;
        let publishers = self.publishers.get(..threads).filter(|_| threads < self.slots.len());
        let slots = self.slots;
        let latest = |publisher: &'a Publisher| {
            slots.get((publisher.latest.load(Ordering::Relaxed) as usize).checked_sub(1)?)
        };
        let all = if publishers.is_some() { &[] } else { slots };
        publishers.into_iter().flatten().filter_map(latest).chain(all).filter_map(Slot::read)
    }

    /// Counts a store sample of a thread and returns the thread's new store epoch.
    pub fn note_store(&self, thread: ThreadId) -> u32 {
        // ATOMICS: a counter by itself; no other data depends on its value.
        self.publisher(thread)
            .map_or(0, |publisher| publisher.epoch.fetch_add(1, Ordering::Relaxed).wrapping_add(1))
    }

    /// The publisher's store samples since it published this entry.
    pub fn store_samples_since(&self, entry: &Entry) -> u32 {
        // ATOMICS: as in `note_store`.
        self.publisher(entry.write.thread)
            .map_or(0, |publisher| publisher.epoch.load(Ordering::Relaxed).wrapping_sub(entry.epoch))
    }

    /// Empties every slot of this board, but not of the board for shared memory. Only for when no other thread uses
    /// the board, as in the child of a fork.
    pub fn clear(&self) {
        self.slots.iter().for_each(Slot::clear);
    }

    fn index(&self, line: Line) -> Option<usize> {
        line.0.checked_rem(self.slots.len() as u64).map(|index| index as usize)
    }

    fn slot(&self, line: Line) -> Option<&'a Slot> {
        self.slots.get(self.index(line)?)
    }

    /// The board for shared memory, if the line is in shared memory.
    fn common_of(&self, line: Line) -> Option<Common<'a>> {
        self.common.filter(|_| line.is_shared())
    }

    fn publisher(&self, thread: ThreadId) -> Option<&'a Publisher> {
        let common = self.common.filter(|_| thread.number_among_processes().is_some());
        let publishers = common.map_or(self.publishers, |common| common.board.publishers);
        publishers.get((number(thread) as usize).checked_rem(publishers.len())?)
    }
}

/// A thread's number among those that publish on its board.
fn number(thread: ThreadId) -> u32 {
    thread.number_among_processes().unwrap_or(thread.0)
}

fn believable(common: Option<Common<'_>>, entry: &Entry) -> bool {
    common.is_some_and(|common| common.may_be(entry))
}
