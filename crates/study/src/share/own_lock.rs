//! Locks of the program's own, made of atomic operations: recognised by what they and their functions are called.
//!
//! What is recorded does not tell them from other data: a counter that is added to and cleared looks like a word that is exchanged
//! and cleared. So a name is necessary, and that several threads read and change the word at once
//! ([`super::together::drop_doubtful`]).

/// A variable or field whose name ends so is a lock.
const LOCKS: [&str; 7] = ["lock", "locked", "spinlock", "spin", "mutex", "latch", "lck"];

/// Functions whose names are made of these words only take a lock or give it back, if one of the first is among them.
const ACTIONS: [&str; 7] = ["lock", "unlock", "trylock", "spinlock", "mutex", "latch", "spin"];
const QUALIFIERS: [&str; 13] = [
    "try",
    "raw",
    "read",
    "write",
    "shared",
    "exclusive",
    "ticket",
    "tas",
    "ttas",
    "mcs",
    "futex",
    "acquire",
    "release",
];

/// These do so where their class or their file is called a lock: pools and connections are acquired, too.
const OF_A_LOCK: [&str; 2] = ["acquire", "release"];

/// The name of the lock that a field is or belongs to: `table.lock` of `table.lock.owner`.
pub(super) fn of_field(name: &str) -> Option<&str> {
    let ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
    ends.filter_map(|end| name.get(..end)).find(|whole| {
        let component = whole.rsplit('.').next().unwrap_or_default();
        words(component.split('[').next().unwrap_or_default())
            .last()
            .is_some_and(|word| is_one_of(&LOCKS, word))
    })
}

/// Whether a function does nothing but take a lock or give it back, by its name: `spin_lock`, `TicketLock::unlock()`; `acquire` in
/// `locks.rs`.
pub(super) fn is_function(name: &str, file: &str) -> bool {
    let name = name.split(['(', '<']).next().unwrap_or_default();
    let mut components = name.rsplit("::");
    let words: Vec<&str> = words(components.next().unwrap_or_default()).collect();
    let any = |known: &[&str]| words.iter().any(|word| is_one_of(known, word));
    let stem = file.rsplit(['/', '\\']).next().and_then(|name| name.split('.').next());
    let mut around = components.next().into_iter().chain(stem);
    words.iter().all(|word| is_one_of(&ACTIONS, word) || is_one_of(&QUALIFIERS, word))
        && (any(&ACTIONS) || any(&OF_A_LOCK) && around.any(is_called_a_lock))
}

/// `SpinLock`, `ticket_lock`, `locks`
fn is_called_a_lock(name: &str) -> bool {
    words(name).last().is_some_and(|word| is_one_of(&LOCKS, word.strip_suffix('s').unwrap_or(word)))
}

pub(super) fn is_one_of(known: &[&str], word: &str) -> bool {
    known.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// The words of an identifier: `wait_lock_`, `waitLock2`.
pub(super) fn words(identifier: &str) -> impl DoubleEndedIterator<Item = &str> {
    let parts = identifier.split(|letter: char| !letter.is_alphabetic()).filter(|part| !part.is_empty());
    parts.flat_map(|part| {
        let mut ends: Vec<usize> = part
            .char_indices()
            .zip(part.chars().skip(1))
            .filter(|((_, letter), next)| letter.is_lowercase() && next.is_uppercase())
            .map(|((at, letter), _)| at + letter.len_utf8())
            .collect();
        ends.push(part.len());
        let mut begin = 0;
        ends.into_iter()
            .filter_map(move |end| part.get(std::mem::replace(&mut begin, end)..end))
            .collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_called_one() {
        assert_eq!(of_field("locked"), Some("locked"));
        assert_eq!(of_field("table.bucketLock_"), Some("table.bucketLock_"));
        assert_eq!(of_field("pool.locks[3].owner"), None, "the plural is an array");
        assert_eq!(of_field("pool.lock[3].owner"), Some("pool.lock[3]"));
        for other in ["clock", "block", "wall_clock", "unlock_count", "lock_waits", "stats.hits"] {
            assert_eq!(of_field(other), None, "{other}");
        }
    }

    #[test]
    fn its_functions_do_nothing_else() {
        for function in
            ["lock", "TicketLock::unlock()", "spin_lock", "acquire_lock", "my::Latch<int>::trylock"]
        {
            assert!(is_function(function, "app.c"), "{function}");
        }
        for function in ["update_locked", "deposit", "lock_and_add", "clock", "read", "Block::write(int)"] {
            assert!(!is_function(function, "locks.c"), "{function}");
        }
        for (function, file) in [
            ("acquire", "src/locks.rs"),
            ("release", "C:\\app\\spinlock.hpp"),
            ("app::SpinLock::try_acquire()", "sync.h"),
        ] {
            assert!(is_function(function, file), "{function} {file}");
        }
        for (function, file) in [("acquire", "pool.rs"), ("Pool::release(int)", "block.h"), ("acquire", "")] {
            assert!(!is_function(function, file), "{function} {file}");
        }
    }
}
