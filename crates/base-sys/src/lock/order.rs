//! The order of locks, and what a debug build checks.

/// What a lock protects. A thread that holds one waits only for those further down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Rank {
    /// The snapshot of the loaded modules. Its holder reads the loader's list, whose lock is held for moments by
    /// threads that wait for none of ours.
    Modules,
    /// Room for new threads in the session.
    Slots,
    /// Memory of ended threads for the next ones.
    Threads,
    /// The turn to hand over a thread's stream.
    Turn,
    /// The stack for threads that have none any more.
    Grave,
    /// The translator.
    Engine,
    /// Which thread watches what.
    Watches,
    /// Exact reuse: the stage of the top.
    TopStage,
    /// Exact reuse: the stage of private caches.
    PrivateStage,
    /// Exact reuse: the stage of shared caches.
    SharedStage,
    /// Exact reuse: the interleaver.
    Order,
    /// Exact reuse: the tasks of the stages.
    Tasks,
    /// Exact reuse: vectors to use again.
    Spare,
    /// The program's signal handlers.
    Actions,
    /// Live blocks of the program's heap.
    Objects,
    /// Known mappings, and buffers to read them.
    Mappings,
    /// The limit on descriptors, while it is raised.
    Limit,
    /// Our own heap.
    Heap,
}

#[cfg(debug_assertions)]
pub use debug::{Waits, check, defer_by, expect_quiet, forget_others, opened, taken};
#[cfg(not(debug_assertions))]
pub use release::{Waits, check, defer_by, expect_quiet, forget_others, opened, taken};

#[cfg(not(debug_assertions))]
mod release {
    use super::Rank;

    #[derive(Default)]
    pub struct Waits;

    impl Waits {
        pub const fn one_more(&mut self, _rank: Rank) {}
    }

    pub const fn check(_rank: Rank) {}
    pub const fn taken(_rank: Rank) {}
    pub const fn opened(_rank: Rank) {}

    /// Debug builds check from now on that signals are blocked where a lock is waited for.
    pub const fn expect_quiet() {}

    /// How debug builds find out whether signals of the calling thread are deferred, which is as good as blocked.
    pub const fn defer_by(_defers: fn() -> bool) {}

    /// For a forked child, which has other threads.
    pub const fn forget_others() {}
}

#[cfg(debug_assertions)]
mod debug {
    use std::sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*},
    };

    use super::Rank;
    use crate::calls::signal;

    /// The locks that threads hold: thread pointer, and a bit for each rank. A fixed table, because thread-local
    /// storage may allocate at first use. A thread that finds no free entry is not checked.
    static HELD: [(AtomicU64, AtomicU32); 256] = [const { (AtomicU64::new(0), AtomicU32::new(0)) }; 256];

    /// The number of entries where a thread may be.
    const PLACES: usize = 8;

    static DEFERS: OnceLock<fn() -> bool> = OnceLock::new();

    /// Set once handlers of a program may run.
    static QUIET: AtomicBool = AtomicBool::new(false);

    /// Debug builds check from now on that signals are blocked where a lock is waited for.
    pub fn expect_quiet() {
        QUIET.store(true, Relaxed);
    }

    /// How debug builds find out whether signals of the calling thread are deferred, which is as good as blocked.
    pub fn defer_by(defers: fn() -> bool) {
        DEFERS.get_or_init(|| defers);
    }

    /// The calling thread's ranks. `make`: gives it an entry if it has none.
    fn held(make: bool) -> Option<&'static (AtomicU64, AtomicU32)> {
        let this = signal::thread_pointer();
        let free = |place: &&(AtomicU64, AtomicU32)| {
            make && place.0.compare_exchange(0, this, Relaxed, Relaxed).is_ok()
        };
        let places = || HELD.iter().cycle().skip(hash(this)).take(PLACES);
        places().find(|place| place.0.load(Relaxed) == this).or_else(|| places().find(free))
    }

    /// The first entry of a thread (Fibonacci hashing, Knuth, The Art of Computer Programming, section 6.4).
    fn hash(thread: u64) -> usize {
        (thread.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize
    }

    /// The calling thread is about to wait for a lock of this rank.
    pub fn check(rank: Rank) {
        /// No signal set has these.
        const ALWAYS_OPEN: signal::Mask = signal::bit(libc::SIGKILL) | signal::bit(libc::SIGSTOP);
        let deferred = || DEFERS.get().is_some_and(|defers| defers());
        if QUIET.load(Relaxed) && !deferred() && signal::mask() | ALWAYS_OPEN != signal::Mask::MAX {
            give_up(rank, "is waited for while signals may come");
        }
        let ranks = held(false).map_or(0, |place| place.1.load(Relaxed));
        if ranks >> rank as u8 != 0 {
            give_up(rank, "is waited for by a thread that holds one of its rank or of a later one");
        }
    }

    /// The calling thread has taken it.
    pub fn taken(rank: Rank) {
        if let Some(place) = held(true) {
            place.1.fetch_or(1 << rank as u8, Relaxed);
        }
    }

    /// A lock of this rank was opened, perhaps by another thread than its holder.
    pub fn opened(rank: Rank) {
        if let Some(place) = held(false)
            && place.1.fetch_and(!(1 << rank as u8), Relaxed) == 1 << rank as u8
        {
            place.0.store(0, Relaxed);
        }
    }

    /// To be called in a forked child, whose threads are others.
    pub fn forget_others() {
        let this = signal::thread_pointer();
        for (thread, ranks) in HELD.iter().filter(|place| ![0, this].contains(&place.0.load(Relaxed))) {
            ranks.store(0, Relaxed);
            thread.store(0, Relaxed);
        }
    }

    /// How often a thread has waited in vain.
    #[derive(Default)]
    pub struct Waits(u32);

    impl Waits {
        /// Once more, for [`LONGEST`](super::super::futex::LONGEST).
        pub fn one_more(&mut self, rank: Rank) {
            /// Half a minute: an analysis takes seconds on a busy machine.
            const MOST: u32 = 150;
            self.0 += 1;
            if self.0 > MOST {
                give_up(rank, "was waited for in vain: its holder does not run, or is not of this process");
            }
        }
    }

    /// Ends the process with one sentence.
    fn give_up(rank: Rank, why: &str) -> ! {
        // A process that ends may not allocate; three calls do not.
        for part in ["carom: the lock of ", rank.name(), " ", why, ".\n"] {
            // SAFETY: live bytes.
            unsafe { libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len()) };
        }
        std::process::abort()
    }

    impl Rank {
        const fn name(self) -> &'static str {
            match self {
                Self::Modules => "modules",
                Self::Slots => "slots",
                Self::Threads => "threads",
                Self::Turn => "a turn",
                Self::Grave => "the grave",
                Self::Engine => "the engine",
                Self::Watches => "watches",
                Self::TopStage => "the stage of the top",
                Self::PrivateStage => "the private stage",
                Self::SharedStage => "the shared stage",
                Self::Order => "the order of accesses",
                Self::Tasks => "tasks",
                Self::Spare => "spare vectors",
                Self::Actions => "signal actions",
                Self::Objects => "heap objects",
                Self::Mappings => "mappings",
                Self::Limit => "the limit on descriptors",
                Self::Heap => "our heap",
            }
        }
    }
}
