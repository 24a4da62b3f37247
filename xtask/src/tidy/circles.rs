//! Circles of imports: files of a crate each of which can be understood only with all others of the circle.

use std::collections::{BTreeMap, BTreeSet};

use super::{crates::crates, finding::Finding, imports};
use crate::tree::Tree;

/// The largest number of files in a circle.
const MOST: usize = 8;

/// Crates with larger circles, and their size. Only to be lowered.
const STILL: &[(&str, usize)] = &[];

/// Crates with layered folders: none uses one that uses it, directly or indirectly. Only to be added to.
const FLOORS: &[&str] = &["carom", "carom-collect-translate"];

/// Every crate whose largest circle is larger than allowed, and every row of the table that allows too much.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = check_against(tree, STILL);
    findings.extend(FLOORS.iter().flat_map(|krate| check_folders(tree, krate)));
    findings
}

/// Every circle among the folders of a crate.
fn check_folders(tree: &Tree, name: &str) -> Vec<Finding> {
    let Some(krate) = crates(tree).into_iter().find(|krate| krate.name == name) else { return Vec::new() };
    let top = |file: &'_ str| file.split_once('/').map_or(file, |(folder, _)| folder).to_owned();
    let mut folders: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, to) in files(tree, &format!("{}/src/", krate.folder)).edges() {
        let from = top(from);
        let others = to.iter().map(|to| top(to)).filter(|to| *to != from);
        folders.entry(from.clone()).or_default().extend(others);
    }
    let edges =
        folders.iter().map(|(from, to)| (from.as_str(), to.iter().map(String::as_str).collect())).collect();
    let circles = circles(&edges).into_iter().filter(|members| members.len() > 1);
    circles
        .map(|members| {
            let text = format!(
                "these folders use each other; move what one takes from above: {}",
                members.join(", ")
            );
            Finding::error(&format!("{}/src", krate.folder), 1, text)
        })
        .collect()
}

/// The files of the crate below a folder.
fn files<'t>(tree: &'t Tree, folder: &str) -> imports::Crate<'t> {
    imports::Crate::new(
        tree.with_extension("rs").filter_map(|(path, text)| Some((path.strip_prefix(folder)?, text))),
    )
}

fn check_against(tree: &Tree, still: &[(&str, usize)]) -> Vec<Finding> {
    crates(tree)
        .iter()
        .filter_map(|krate| {
            let largest = largest(tree, &format!("{}/src/", krate.folder));
            let row = still.iter().find(|(name, _)| *name == krate.name).map(|(_, files)| *files);
            let most = row.unwrap_or(MOST);
            let path = format!("{}/src/{}", krate.folder, largest.first()?);
            let files = largest.len();
            if files > most {
                let all = largest.join(", ");
                let text = format!("{files} files import each other in a circle (at most {most}): {all}");
                return Some(Finding::error(&path, 1, text));
            }
            row.filter(|_| files < most).map(|_| {
                let text = format!(
                    "the largest circle of imports has {files} files: lower the row of `{}` in xtask/src/tidy/circles.rs",
                    krate.name
                );
                Finding::warning(&path, 1, text)
            })
        })
        .collect()
}

/// The files of the largest circle below a folder; a single file where there is none.
fn largest<'t>(tree: &'t Tree, folder: &str) -> Vec<&'t str> {
    let circles = circles(&files(tree, folder).edges());
    circles.into_iter().rev().max_by_key(Vec::len).unwrap_or_default()
}

/// All circles, each with its members in order; a file in no circle is one by itself (Kosaraju's algorithm).
fn circles<'t>(edges: &BTreeMap<&'t str, BTreeSet<&'t str>>) -> Vec<Vec<&'t str>> {
    let mut back: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (&from, to) in edges {
        to.iter().for_each(|to| _ = back.entry(to).or_default().insert(from));
    }
    let mut seen = BTreeSet::new();
    let mut finished = Vec::new();
    for &file in edges.keys() {
        visit(file, edges, &mut seen, &mut finished);
    }
    let mut taken = BTreeSet::new();
    let mut circles: Vec<Vec<&str>> = Vec::new();
    for file in finished.into_iter().rev() {
        let mut members = Vec::new();
        visit(file, &back, &mut taken, &mut members);
        members.sort_unstable();
        circles.extend((!members.is_empty()).then_some(members));
    }
    circles
}

/// Appends a file and all that can be reached from it and was not `seen` before, each behind what it leads to.
fn visit<'t>(
    file: &'t str,
    edges: &BTreeMap<&'t str, BTreeSet<&'t str>>,
    seen: &mut BTreeSet<&'t str>,
    finished: &mut Vec<&'t str>,
) {
    if seen.insert(file) {
        edges.get(file).into_iter().flatten().for_each(|next| visit(next, edges, seen, finished));
        finished.push(file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::places;

    /// A crate of `files` modules, each of which imports the next, and the last one the first.
    fn ring(files: usize) -> Tree {
        let mut tree = Tree::from([("crates/base/Cargo.toml", "[package]\nname = \"carom-base\"\n")]);
        for file in 0..files {
            let path = format!("crates/base/src/m{file:02}.rs");
            tree.insert(path, format!("use crate::m{:02};\n", (file + 1) % files));
        }
        tree.insert("crates/base/src/lib.rs".to_owned(), "use crate::m00;\n".to_owned());
        tree
    }

    #[test]
    fn the_limit_is_the_last_size_allowed() {
        assert_eq!(check_against(&ring(MOST), &[]), []);
        let findings = check_against(&ring(MOST + 1), &[]);
        assert_eq!(places(&findings), ["crates/base/src/m00.rs:1"]);
        assert!(
            findings[0].is_error()
                && findings[0].text.contains("9 files")
                && !findings[0].text.contains("lib.rs")
        );
    }

    #[test]
    fn a_row_of_the_table_only_shrinks() {
        let row = [("carom-base", 10)];
        assert_eq!(check_against(&ring(10), &row), []);
        assert!(check_against(&ring(11), &row)[0].is_error());
        let generous = check_against(&ring(9), &row);
        assert!(!generous[0].is_error() && generous[0].text.contains("9 files"));
    }

    #[test]
    fn folders_that_use_each_other_are_found() {
        let mut tree = Tree::from([
            ("crates/base/Cargo.toml", "[package]\nname = \"carom-base\"\n"),
            ("crates/base/src/lib.rs", "use crate::a::x;\n"),
            ("crates/base/src/a/x.rs", "use crate::b::y;\n"),
            ("crates/base/src/b/y.rs", ""),
            ("crates/base/src/b/z.rs", "use super::y;\n"),
        ]);
        assert_eq!(check_folders(&tree, "carom-base"), []);
        // No circle of files, and one of folders.
        tree.insert("crates/base/src/b/z.rs".to_owned(), "use crate::a::x;\n".to_owned());
        let findings = check_folders(&tree, "carom-base");
        assert!(findings.len() == 1 && findings[0].text.ends_with(": a, b"), "{findings:?}");
    }

    #[test]
    fn circles_that_only_lead_to_each_other_are_two() {
        let edges = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "c")];
        let mut map: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        edges.iter().for_each(|(from, to)| _ = map.entry(from).or_default().insert(to));
        assert_eq!(circles(&map), [["a", "b"], ["c", "d"]]);
    }
}
