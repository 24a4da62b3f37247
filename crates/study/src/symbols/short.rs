//! Names of types and functions as people write them.

use std::borrow::Cow;

/// The name of a function; one of more letters than this without its parameters: `Queue::push(…)`, `at<…>`.
pub fn function_within(name: &str, letters: usize) -> Cow<'_, str> {
    let is_long = |name: &str| name.chars().count() > letters;
    if !is_long(name) {
        return name.into();
    }
    let called = before_last(name.trim_end_matches(" const"), '(', ')');
    let (rest, call) = called.map_or((name, ""), |short| (short, "(…)"));
    // An operator is no list, and neither is a type that a name begins with.
    let of_types =
        before_last(rest, '<', '>').filter(|short| !short.is_empty() && !short.ends_with("operator"));
    match of_types.filter(|_| is_long(rest)) {
        Some(short) => format!("{short}<…>{call}").into(),
        None if call.is_empty() => name.into(),
        None => format!("{rest}{call}").into(),
    }
}

/// What stands before the brackets that a name ends with.
fn before_last(name: &str, open: char, close: char) -> Option<&str> {
    let within = name.strip_suffix(close)?;
    let mut depth = 1;
    let (begin, _) = within.char_indices().rev().find(|(at, letter)| {
        // `->` is no bracket.
        let is_arrow = *letter == '>' && within.get(..*at).is_some_and(|before| before.ends_with('-'));
        depth += i32::from(*letter == close && !is_arrow) - i32::from(*letter == open);
        depth == 0
    })?;
    within.get(..begin)
}

/// What a type has where its author states nothing.
const DEFAULTS: [&str; 4] =
    [", alloc::alloc::Global", ", std::hash::random::RandomState", ", Global", ", RandomState"];

/// `Mutex<HashMap<u64, Job>>` for `std::sync::poison::mutex::Mutex<std::collections::hash::map::HashMap<u64, app::Job,
/// std::hash::random::RandomState, alloc::alloc::Global>>`.
pub(super) fn of_rust(name: &str) -> String {
    let plain =
        DEFAULTS.iter().fold(name.to_owned(), |name, default| name.replace(&format!("{default}>"), ">"));
    // Twice, for a map has two of them.
    let plain = DEFAULTS.iter().fold(plain, |name, default| name.replace(&format!("{default}>"), ">"));
    let mut short = String::with_capacity(plain.len());
    let mut segment = String::new();
    let mut rest = plain.as_str();
    while let Some(next) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix("::") {
            // A closure is called by the function that it is in.
            if behind.starts_with('{') {
                short.push_str(&segment);
                short.push_str("::");
            } else if segment.is_empty() {
                // `<T as Trait>::Item`
                short.push_str("::");
            }
            segment.clear();
            rest = behind;
            continue;
        }
        if next.is_alphanumeric() || matches!(next, '_' | '{' | '}' | '#') {
            segment.push(next);
        } else {
            short.push_str(&segment);
            short.push(next);
            segment.clear();
        }
        rest = rest.get(next.len_utf8()..).unwrap_or_default();
    }
    short + &segment
}

/// Types of Rust's standard library that elements of arrays are of, without their modules; those with parameters as they begin.
const OF_RUST: [&str; 25] = [
    "Arc<",
    "Atomic<",
    "AtomicBool",
    "AtomicI16",
    "AtomicI32",
    "AtomicI64",
    "AtomicI8",
    "AtomicIsize",
    "AtomicPtr<",
    "AtomicU16",
    "AtomicU32",
    "AtomicU64",
    "AtomicU8",
    "AtomicUsize",
    "Box<",
    "Cell<",
    "Instant",
    "Mutex<",
    "Option<",
    "Rc<",
    "RefCell<",
    "RwLock<",
    "String",
    "UnsafeCell<",
    "Vec<",
];

/// The beginnings of the names of C's and C++'s.
const OF_C: [&str; 3] = ["std::", "pthread_", "sem_t"];

/// The name of a type with fields, which debug information states with its keyword; `None` for other types.
pub(super) fn record(element: &str) -> Option<&str> {
    ["struct ", "class ", "union "].iter().find_map(|keyword| element.strip_prefix(keyword))
}

/// Whether a language's library declares the type with this name.
pub(super) fn is_of_library(name: &str) -> bool {
    let is = |of: &&str| name == *of || of.ends_with('<') && name.starts_with(*of);
    OF_RUST.iter().any(is) || OF_C.iter().any(|begin| name.starts_with(begin)) || is_reserved(name)
}

/// Whether a name of C or C++ is reserved for its library: one that begins with an underscore and another one or a capital
/// (C11, 7.1.3; C++17, lex.name).
pub fn is_reserved(name: &str) -> bool {
    name.strip_prefix('_')
        .is_some_and(|rest| rest.starts_with(|next: char| next == '_' || next.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::{function_within, is_of_library, of_rust, record};

    #[test]
    fn parameters_go_first() {
        let short = |name| function_within(name, 20).into_owned();
        assert_eq!(short("Statistics::add(Statistics const&)"), "Statistics::add(…)");
        assert_eq!(
            short("run(int)::{lambda(int)#1}::operator()(int) const"),
            "run(int)::{lambda(int)#1}::operator()(…)"
        );
        assert_eq!(short("references::main::{{closure}}"), "references::main::{{closure}}");
        assert_eq!(short("at<app::locks::SpinLock, bool>"), "at<…>");
        assert_eq!(short("each<app::Job, fn(&app::Job) -> bool>"), "each<…>");
        assert_eq!(short("void sort<std::vector<int>, long>(std::vector<int>&)"), "void sort<…>(…)");
        assert_eq!(short("<app::locks::SpinLock as app::Lock>"), "<app::locks::SpinLock as app::Lock>");
        assert_eq!(function_within("add(int)", 8), "add(int)");
        assert_eq!(function_within("min<int>(int, int)", 12), "min<int>(…)");
    }

    #[test]
    fn types_of_libraries_are_known_by_their_names() {
        for element in [
            "struct AtomicU64",
            "struct AtomicPtr<Node>",
            "struct Mutex<Job>",
            "class std::atomic<long>",
            "struct __node",
        ] {
            assert!(record(element).is_some_and(is_of_library), "{element}");
        }
        for element in
            ["struct AtomicIndex", "struct Stringer", "struct worker", "class Mutexes", "struct _node"]
        {
            assert!(record(element).is_some_and(|name| !is_of_library(name)), "{element}");
        }
        assert_eq!(record("long int"), None);
    }

    #[test]
    fn modules_and_defaults_are_left_out() {
        for (full, short) in [
            ("core::sync::atomic::AtomicU64", "AtomicU64"),
            (
                "std::sync::poison::mutex::Mutex<std::collections::hash::map::HashMap<u64, app::Job, \
                 std::hash::random::RandomState, alloc::alloc::Global>>",
                "Mutex<HashMap<u64, Job>>",
            ),
            ("alloc::vec::Vec<(u64, &app::Part), alloc::alloc::Global>", "Vec<(u64, &Part)>"),
            ("app::main::{closure_env#0}", "main::{closure_env#0}"),
            (
                "alloc::boxed::Box<dyn core::ops::function::Fn<(), Output=[u8; 4]>, alloc::alloc::Global>",
                "Box<dyn Fn<(), Output=[u8; 4]>>",
            ),
            ("<app::Pool as core::ops::Deref>::Target", "<Pool as Deref>::Target"),
            ("Plain", "Plain"),
            ("", ""),
        ] {
            assert_eq!(of_rust(full), short);
        }
    }
}
