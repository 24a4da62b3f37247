//! What threads do to wait for each other.

use carom_base::{Addr, Nanos};

/// One step of a thread by which it waits for others, or lets them go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Synchronisation {
    /// What it does.
    pub what: Act,
    /// What it does it with: the address of the lock, barrier, condition variable or semaphore, the name of a critical
    /// section, or any number on which those agree who create, are and join a thread or a parallel region. One process.
    pub object: Addr,
}

/// A synchronisation, and its place in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The number of the batch's accesses before it. The next one follows it.
    pub accesses: usize,
    /// When: a [`Stamp`](crate::Stamp), too. What lets others go on is told before it does so, and what waits is told when
    /// it need not wait any more; so the times of what depends on each other are in order.
    pub at: Nanos,
    /// What.
    pub synchronisation: Synchronisation,
}

/// Declares [`Act`], each with its code in frames and its word in texts.
macro_rules! acts {
    ($($(#[$doc:meta])* $act:ident = $code:literal $word:literal,)*) => {
        /// A way to wait, or to let others go on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Act {
            $($(#[$doc])* $act = $code,)*
        }

        impl Act {
            /// All of them, by code.
            pub const ALL: &[Self] = &[$(Self::$act,)*];

            /// The word for it.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$act => $word,)*
                }
            }
        }
    };
}

acts! {
    /// It makes a thread: whatever that does comes later.
    Create = 0 "create",
    /// It is the thread that was created.
    Start = 1 "start",
    /// It is about to end.
    Finish = 2 "finish",
    /// It has waited for the end of a thread.
    Join = 3 "join",
    /// It makes a parallel region.
    Fork = 4 "fork",
    /// It begins its part of the region.
    Enter = 5 "enter",
    /// It has done its part.
    Leave = 6 "leave",
    /// All parts are done.
    Merge = 7 "merge",
    /// It has the lock, for itself.
    Lock = 8 "lock",
    /// It has the lock, with other readers.
    ReadLock = 9 "readlock",
    /// It gives the lock back.
    Unlock = 10 "unlock",
    /// It comes to a barrier.
    Arrive = 11 "arrive",
    /// All have come.
    Depart = 12 "depart",
    /// It is about to wait for a condition.
    Wait = 13 "wait",
    /// It was signalled, or woke without.
    Wake = 14 "wake",
    /// It wakes one that waits, if any does.
    Signal = 15 "signal",
    /// It wakes all that wait.
    Broadcast = 16 "broadcast",
    /// It adds to a semaphore.
    Post = 17 "post",
    /// It has taken from a semaphore.
    Take = 18 "take",
}

impl Act {
    /// The one with this code.
    pub fn from_u8(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The one with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|act| act.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_words_lead_back() {
        for (code, act) in (0..).zip(Act::ALL) {
            assert_eq!((*act as u8, Act::from_u8(code)), (code, Some(*act)));
            assert_eq!(Act::from_word(act.word()), Some(*act));
        }
        assert_eq!((Act::from_u8(Act::ALL.len() as u8), Act::from_word("load")), (None, None));
    }
}
