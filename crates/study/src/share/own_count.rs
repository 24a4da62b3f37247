//! Reference counts of the program's own, by what the functions are called that count.
//!
//! As with its own locks, a name is necessary, and that several threads read and change the word at once
//! ([`super::together::drop_doubtful`]).

use super::own_lock::{is_one_of, words};

/// One of these words tells that a function counts references.
const COUNTS: [&str; 9] =
    ["ref", "unref", "addref", "incref", "decref", "refcount", "refcnt", "kref", "intrusive"];

/// Functions that only count are called by these words besides.
const QUALIFIERS: [&str; 18] = [
    "acquire",
    "add",
    "clone",
    "count",
    "dec",
    "decrement",
    "down",
    "drop",
    "get",
    "inc",
    "increment",
    "ptr",
    "put",
    "release",
    "retain",
    "strong",
    "sub",
    "up",
];

/// Whether a function does nothing but count references, by its name: `add_ref`, `intrusive_ptr_release`, `RefPtr::~RefPtr()`.
pub(super) fn is_function(name: &str) -> bool {
    let name = name.split(['(', '<']).next().unwrap_or_default();
    let words: Vec<&str> = words(name.rsplit("::").next().unwrap_or_default()).collect();
    words.iter().any(|word| is_one_of(&COUNTS, word))
        && words.iter().all(|word| is_one_of(&COUNTS, word) || is_one_of(&QUALIFIERS, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_only_count() {
        for function in [
            "add_ref",
            "addRef",
            "Config::unref()",
            "intrusive_ptr_release",
            "RefPtr<Node>::~RefPtr()",
            "Ref::Ref()",
            "decRefCount",
        ] {
            assert!(is_function(function), "{function}");
        }
        for function in
            ["release", "refresh", "update_refs", "deref_all", "get", "XRefTable::find(int)", "reference"]
        {
            assert!(!is_function(function), "{function}");
        }
    }
}
