//! Which crates may hold unsafe code.

use super::crates::{Crate, crates};
use super::finding::Finding;
use crate::tree::Tree;

/// The folders of the crates that may: for the kernel, shared memory, code inside another program, and the oracle
/// that needs exact instructions; in `base-insn` for one question to the processor. Clippy checks that each block
/// says why it is sound.
const MAY: [&str; 7] = [
    "crates/base-insn",
    "crates/base-sys",
    "crates/base-wire",
    "crates/collect-agent",
    "crates/collect-load",
    "crates/collect-translate",
    "programs",
];

const FORBID: &str = "#![forbid(unsafe_code)]";

/// Every root of another crate that does not forbid unsafe code.
pub fn check(tree: &Tree) -> Vec<Finding> {
    crates(tree)
        .iter()
        .filter(|krate| !MAY.contains(&krate.folder))
        .flat_map(|krate| roots(tree, krate))
        .filter(|(_, text)| !text.lines().any(|line| line.trim() == FORBID))
        .map(|(path, _)| Finding::error(path, 1, format!("this crate holds no unsafe code; say `{FORBID}`")))
        .collect()
}

/// The files that the compiler starts from.
fn roots<'a>(tree: &'a Tree, krate: &Crate<'_>) -> impl Iterator<Item = (&'a str, &'a str)> {
    let source = format!("{}/src/", krate.folder);
    tree.with_extension("rs").filter(move |(path, _)| {
        path.strip_prefix(&source).is_some_and(|file| matches!(file, "lib.rs" | "main.rs") || is_binary(file))
    })
}

/// `bin/name.rs` or `bin/name/main.rs`.
fn is_binary(file: &str) -> bool {
    file.strip_prefix("bin/").is_some_and(|name| !name.contains('/') || name.ends_with("/main.rs"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::places;

    #[test]
    fn every_root_outside_the_fence_forbids_unsafe_code() {
        let findings = check(&Tree::from([
            ("crates/base/Cargo.toml", "[package]\nname = \"carom-base\""),
            ("crates/base/src/lib.rs", "//! Words.\n#![forbid(unsafe_code)]\n"),
            ("crates/base/src/line.rs", "pub struct Line;\n"),
            ("crates/base-sys/Cargo.toml", "[package]\nname = \"carom-base-sys\""),
            ("crates/base-sys/src/lib.rs", "//! The door.\n"),
            ("crates/view/Cargo.toml", "[package]\nname = \"carom-view\""),
            ("crates/view/src/lib.rs", "//! Reports.\n// #![forbid(unsafe_code)] one day\n"),
            ("crates/view/src/bin/schema.rs", "fn main() {}\n"),
            ("crates/view/src/bin/page/part.rs", "fn part() {}\n"),
        ]));
        assert_eq!(places(&findings), ["crates/view/src/bin/schema.rs:1", "crates/view/src/lib.rs:1"]);
    }
}
