//! Which code may print or end the process: results are values until the command line shows them.

use super::finding::Finding;
use super::sizes::{is_test_file, numbered_without_tests};
use crate::tree::Tree;

/// Folders whose code may; all other code returns its results and errors.
const MAY: [&str; 3] = ["crates/app/", "programs/", "xtask/"];

const CALLS: [&str; 5] = ["println!", "eprintln!", "print!", "eprint!", "process::exit"];

/// Every call that prints or exits where it may not.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.with_extension("rs")
        .filter(|(path, _)| !may_print(path))
        .flat_map(|(path, text)| numbered_without_tests(text).map(move |(number, line)| (path, number, line)))
        .filter_map(|(path, number, line)| {
            let call = CALLS.iter().find(|call| calls(line, call))?;
            let text = format!("`{call}` outside the command line; return the value and let `app` show it");
            Some(Finding::error(path, number, text))
        })
        .collect()
}

/// Tests and examples may print too, and a build script talks to cargo by printing.
fn may_print(path: &str) -> bool {
    MAY.iter().any(|folder| path.starts_with(folder))
        || is_test_file(path)
        || path.split('/').any(|part| matches!(part, "examples" | "benches" | "build.rs"))
}

/// Whether `line` holds `call` as a word of its own, before any comment.
fn calls(line: &str, call: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.match_indices(call).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::places;

    #[test]
    fn a_library_neither_prints_nor_exits() {
        let library = "/// `println!` in a comment is talk.\n\
                       fn a() { eprintln!(\"no\"); }\n\
                       fn b() { std::process::exit(1) }\n\
                       fn c() { self.pretty_print!(); sprint!() } // print! is not called\n\
                       #[cfg(test)]\n\
                       mod tests {\n\
                       fn d() { println!(\"may\") }\n\
                       }\n";
        let findings = check(&Tree::from([
            ("crates/study/src/lib.rs", library),
            ("crates/app/src/main.rs", "fn main() { println!() }\n"),
            ("crates/view/tests/page.rs", "fn main() { println!() }\n"),
            ("crates/view/examples/page.rs", "fn main() { println!() }\n"),
            ("crates/view/build.rs", "fn main() { println!() }\n"),
        ]));
        assert_eq!(places(&findings), ["crates/study/src/lib.rs:2", "crates/study/src/lib.rs:3"]);
        // The longer name is reported, not the one that it contains.
        assert!(findings[0].text.starts_with("`eprintln!`"));
    }
}
