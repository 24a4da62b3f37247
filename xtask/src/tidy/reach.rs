//! What the code of some folders must not name: the half of the architecture's invariants that a name betrays.

use super::finding::{Finding, numbered};
use super::imports;
use super::sizes::is_test_file;
use crate::tree::Tree;

/// A folder's code, tests aside, names none of some things.
struct Row {
    folder: &'static str,
    /// Paths (`std::fs` forbids all that is in it), types and macros.
    never: &'static [&'static str],
    /// What the row is for, as the end of a sentence.
    so_that: &'static str,
}

/// The clock, threads, and whatever leads out of the process.
const OUTSIDE: &[&str] = &[
    "libc",
    "rustix",
    "std::env",
    "std::fs",
    "std::io",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time",
];

/// What allocates.
const HEAP: &[&str] = &["Arc", "Box", "Rc", "String", "Vec", "format", "std::collections", "vec"];

/// One row for each such invariant of `ARCHITECTURE.md`, which names it by its folder.
const ROWS: &[Row] = &[
    Row { folder: "crates/base-reuse/src", never: OUTSIDE, so_that: "equal accesses give equal answers" },
    Row { folder: "crates/base-reuse/src/sampled", never: HEAP, so_that: "signal handlers may call it" },
    Row { folder: "crates/base-stream/src", never: OUTSIDE, so_that: "equal streams have equal orders" },
    Row { folder: "crates/base-replay/src", never: OUTSIDE, so_that: "equal streams give equal answers" },
    Row { folder: "crates/base-sim/src", never: OUTSIDE, so_that: "equal accesses give equal counts" },
    Row { folder: "crates/base-wire/src", never: OUTSIDE, so_that: "it is plain data" },
    Row {
        folder: "crates/collect/src",
        never: &[
            "libc::mmap",
            "rustix::mm",
            "memmap2",
            "carom_base_sys::calls",
            "carom_base_sys::map",
            "carom_base_sys::own_room",
            "carom_base_sys::raw",
        ],
        so_that: "the program cannot change memory under the host",
    },
    Row {
        folder: "crates/store/src",
        never: &["std::env", "std::net", "std::process", "std::thread", "std::time"],
        so_that: "a profile can be read anywhere",
    },
    Row {
        folder: "crates/study/src",
        never: &["libc", "rustix", "std::net", "std::process", "std::time"],
        so_that: "a study depends on its recordings alone",
    },
    Row {
        folder: "crates/view/src",
        never: &["libc", "rustix", "std::env", "std::fs", "std::net", "std::process", "std::time"],
        so_that: "a report is a function of its model",
    },
];

/// What opens perf events, and the folder that may.
const PERF: (&str, &str) = ("perf_event_open_sys", "crates/base-sys");

/// Every line that names what it must not.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.with_extension("rs").filter(|(path, _)| !is_test_file(path)) {
        for row in ROWS.iter().filter(|row| is_below(path, row.folder)) {
            findings.extend(named(text, row.never).map(|thing| {
                let problem =
                    format!("`{thing}` may not be named below {}, so that {}", row.folder, row.so_that);
                Finding::error(path, line_of(text, thing), problem)
            }));
        }
        let (perf, may) = PERF;
        if is_below(path, "crates") && !is_below(path, may) && named(text, &[perf]).next().is_some() {
            findings.push(Finding::error(path, line_of(text, perf), format!("only {may} opens perf events")));
        }
    }
    findings
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The things among `never` that a file's code names, tests aside.
fn named<'n>(text: &str, never: &'n [&'n str]) -> impl Iterator<Item = &'n str> {
    let paths = imports::named(text);
    never.iter().copied().filter(move |thing| {
        let parts: Vec<&str> = thing.split("::").collect();
        paths.iter().any(|path| path.iter().map(String::as_str).take(parts.len()).eq(parts.iter().copied()))
    })
}

/// The first line with the last part of a path, which is where it is imported or named.
fn line_of(text: &str, thing: &str) -> usize {
    let last = thing.rsplit("::").next().unwrap_or(thing);
    let words =
        |line: &str| line.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == last);
    let code = |line: &str| words(line.split("//").next().unwrap_or_default());
    numbered(text).find(|(_, line)| code(line)).map_or(1, |(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::places;

    #[test]
    fn what_is_imported_or_named_is_found_and_tests_are_free() {
        let text = "//! std::time in a comment is talk.\n\
                    use std::{collections::BTreeMap, thread};\n\
                    fn now() { let _ = std::time::Instant::now(); }\n\
                    fn time(thread: u32) {}\n\
                    #[cfg(test)]\n\
                    mod tests {\n\
                    use std::fs;\n\
                    }\n";
        let findings = check(&Tree::from([
            ("crates/base-stream/src/lib.rs", text),
            ("crates/base-stream/tests/text.rs", "use std::fs;\n"),
            ("crates/collect/src/lib.rs", "use std::thread;\n"),
        ]));
        assert_eq!(places(&findings), ["crates/base-stream/src/lib.rs:2", "crates/base-stream/src/lib.rs:3"]);
    }

    #[test]
    fn types_and_macros_are_found_and_fields_of_the_same_name_are_not() {
        for text in ["fn a() -> Vec<u8> {}\n", "fn a() { Vec::new(); }\n", "fn a() { vec![1]; }\n"] {
            let tree = Tree::from([("crates/base-reuse/src/sampled/slot.rs", text)]);
            assert_eq!(check(&tree).len(), 1, "{text}");
        }
        let fields = "struct A { vec: Slots }\nfn a(&self) { self.vec.len(); b::Vec; }\n";
        assert_eq!(check(&Tree::from([("crates/base-reuse/src/sampled/slot.rs", fields)])).len(), 0);
    }

    #[test]
    fn perf_events_have_one_door() {
        let text = "use perf_event_open_sys as sys;\n";
        let findings = check(&Tree::from([
            ("crates/base-sys/src/perf.rs", text),
            ("crates/collect-agent/src/a.rs", text),
        ]));
        assert_eq!(places(&findings), ["crates/collect-agent/src/a.rs:1"]);
    }
}
