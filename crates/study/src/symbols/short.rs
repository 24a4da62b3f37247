//! Names of types as people write them.

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

#[cfg(test)]
mod tests {
    use super::of_rust;

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
