//! The program's action for each signal, for any thread and handler to read at any time.

use std::sync::atomic::{AtomicU64, Ordering::*};

use super::{kernel::Action, set::MOST};

/// Words of an [`Action`].
const WORDS: usize = 4;

/// One action, written by one thread at a time and read without waiting: a signal may arrive while another thread is
/// writing, and in a forked child that thread does not exist.
struct Wish {
    /// The number of writes. The last bit says which copy is valid.
    version: AtomicU64,
    copies: [[AtomicU64; WORDS]; 2],
}

static WISHES: [Wish; MOST] = [const { Wish::new() }; MOST];

impl Wish {
    const fn new() -> Self {
        Self { version: AtomicU64::new(0), copies: [const { [const { AtomicU64::new(0) }; WORDS] }; 2] }
    }

    fn copy(&self, version: u64) -> &[AtomicU64; WORDS] {
        let [even, odd] = &self.copies;
        if version.is_multiple_of(2) { even } else { odd }
    }

    fn read(&self) -> Action {
        loop {
            // ATOMICS: pairs with the release in `write`.
            let version = self.version.load(Acquire);
            let [handler, flags, restorer, mask] =
                self.copy(version).each_ref().map(|word| word.load(Acquire));
            // The valid copy is not written to: only a reader that was overtaken reads again.
            if self.version.load(Relaxed) == version {
                return Action { handler, flags, restorer, mask };
            }
        }
    }

    fn write(&self, action: &Action) {
        let version = self.version.load(Relaxed).wrapping_add(1);
        let words = [action.handler, action.flags, action.restorer, action.mask];
        for (place, word) in self.copy(version).iter().zip(words) {
            // ATOMICS: a reader that meets this word sees the version that made the copy free.
            place.store(word, Release);
        }
        self.version.store(version, Release);
    }
}

fn wish(signal: u64) -> Option<&'static Wish> {
    WISHES.get((signal as usize).checked_sub(1)?)
}

/// The program's latest action for this signal; `None` where there is no such signal.
pub fn get(signal: u64) -> Option<Action> {
    wish(signal).map(Wish::read)
}

/// Stores it. Called by one thread at a time, with all signals blocked.
pub fn set(signal: u64, action: &Action) {
    if let Some(wish) = wish(signal) {
        wish.write(action);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// Not used by others.
    const SIGNAL: u64 = libc::SIGPWR as u64;

    #[test]
    fn a_reader_never_meets_half_a_wish() {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 1..200_000 {
                    set(SIGNAL, &Action { handler: n, flags: n, restorer: n, mask: n });
                }
                done.store(true, Relaxed);
            });
            while !done.load(Relaxed) {
                let Action { handler, flags, restorer, mask } = get(SIGNAL).unwrap();
                assert!([flags, restorer, mask].iter().all(|&word| word == handler));
            }
        });
        set(SIGNAL, &Action::default());
    }

    /// The child of a fork has a half-written action, but not the thread that was writing it.
    #[test]
    fn what_was_being_written_is_not_waited_for() {
        let wish = Wish::new();
        wish.write(&Action { handler: 1, flags: 1, restorer: 1, mask: 1 });
        wish.copy(2)[0].store(2, Relaxed);
        assert_eq!(wish.read().handler, 1);
    }

    #[test]
    fn there_is_no_signal_0_and_none_beyond_the_last() {
        assert_eq!((get(0), get(MOST as u64 + 1)), (None, None));
        set(0, &Action::default());
    }
}
