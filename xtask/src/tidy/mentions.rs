//! Paths that documents mention between backticks: each exists.
//!
//! A path may be shortened at its front: `share/observe.rs` is any file whose path ends so. `{a,b}.rs` is two files.

use super::finding::{Finding, numbered};
use crate::tree::{Tree, extension_of};

/// The files that documents mention as parts of this repository.
const EXTENSIONS: [&str; 6] = ["rs", "py", "c", "md", "toml", "js"];

/// Where folders of this repository lie that documents mention.
const FOLDERS: &str = "crates/";

/// Tells what earlier versions had.
const HISTORY: &str = "CHANGELOG.md";

/// Every path in a Markdown file that no file or folder has.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.with_extension("md")
        .filter(|(path, _)| *path != HISTORY)
        .flat_map(|(path, text)| mentions(text).into_iter().map(move |(line, mention)| (path, line, mention)))
        .filter(|(path, _, mention)| !exists(tree, path, mention))
        .map(|(path, line, mention)| Finding::error(path, line, format!("`{mention}` does not exist")))
        .collect()
}

/// The paths between backticks, with their lines. Blocks of code show what people type and see.
fn mentions(text: &str) -> Vec<(usize, String)> {
    let mut in_block = false;
    let mut found = Vec::new();
    for (number, line) in numbered(text) {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            let spans = line.split('`').skip(1).step_by(2);
            let paths = spans.flat_map(expanded).filter(|span| is_path(span));
            found.extend(paths.map(|path| (number, path)));
        }
    }
    found
}

/// `a{b,c}d` as `abd` and `acd`.
fn expanded(span: &str) -> Vec<String> {
    let parts = span.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    match parts {
        Some((before, (choices, after))) => {
            choices.split(',').map(|choice| format!("{before}{choice}{after}")).collect()
        }
        None => vec![span.to_owned()],
    }
}

/// Whether a span looks like a file or folder of this repository: no command, no pattern and no path of the machine.
fn is_path(span: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let is_ours = span.starts_with(FOLDERS)
        || extension_of(span).is_some_and(|extension| EXTENSIONS.contains(&extension));
    span.contains('/') && !span.starts_with('/') && span.chars().all(is_plain) && is_ours
}

/// Whether a file or folder has this path, from the root or the document's folder, or a file's path ends with it.
fn exists(tree: &Tree, document: &str, mention: &str) -> bool {
    let path = mention.trim_end_matches('/');
    let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
    let ending = format!("/{path}");
    tree.has(path)
        || tree.has(&format!("{folder}/{path}"))
        || tree.files().any(|(file, _)| file.ends_with(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::places;

    #[test]
    fn a_path_between_backticks_must_exist() {
        let page = "`crates/base/src/line.rs` `src/line.rs` `src/{line,page}.rs` `crates/base/`\n\
                    `src/gone.rs`\n\
                    `src/{line,left}.rs`\n\
                    `crates/gone`\n\
                    src/prose.rs `name.rs` `/etc/a.toml` `cc src/a.c` `crates/*/src/a.rs` `reads/s`\n\
                    ```\nsee `src/example.rs`\n```\n";
        let tree = Tree::from([
            ("docs/a.md", page),
            ("CHANGELOG.md", "`src/gone.rs`"),
            ("crates/base/src/line.rs", ""),
            ("crates/base/src/page.rs", ""),
        ]);
        let findings = check(&tree);
        assert_eq!(places(&findings), ["docs/a.md:2", "docs/a.md:3", "docs/a.md:4"]);
        assert!(findings[1].text.contains("`src/left.rs`"));
    }

    #[test]
    fn a_path_ends_at_whole_names() {
        let tree =
            Tree::from([("docs/a.md", "`b/c.rs` `a/b/c.rs`"), ("crates/a-b/c.rs", ""), ("a/bb/c.rs", "")]);
        assert_eq!(places(&check(&tree)), ["docs/a.md:1", "docs/a.md:1"]);
    }
}
