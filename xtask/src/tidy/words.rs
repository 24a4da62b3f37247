//! Words that belong to the place where something was written, not to the project.

use super::finding::{Finding, numbered};
use crate::tree::Tree;

/// Each in two parts, so that this file does not contain them. A word that begins with `/` is an absolute path, which
/// means nothing on another machine.
const FORBIDDEN: [&str; 8] = [
    concat!("/wo", "rk/"),
    concat!("/.lib", "rary"),
    concat!("sub", "agent"),
    concat!("crates.io", "/api"),
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("pypi", ".org"),
    concat!("deb.", "debian.org"),
];

/// Every line with a forbidden word, in any file and any case.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .flat_map(|(path, text)| numbered(text).map(move |(number, line)| (path, number, line)))
        .filter_map(|(path, number, line)| {
            let line = line.to_lowercase();
            let word = FORBIDDEN.iter().find(|word| holds(&line, word))?;
            let text =
                format!("`{word}` says where this was written; name what it stands for, or leave it out");
            Some(Finding::error(path, number, text))
        })
        .collect()
}

/// Whether `line` contains `word`; one that begins with `/` only if no other folder precedes it.
fn holds(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !word.starts_with('/') || !before.is_some_and(|c| c.is_alphanumeric() || "_-.~})".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::places;

    #[test]
    fn every_word_is_found_in_any_file() {
        for word in FORBIDDEN {
            let tree = Tree::from([("notes.txt", &*format!("fine\nsee {word} for more\n"))]);
            assert_eq!(places(&check(&tree)), ["notes.txt:2"], "{word}");
        }
    }

    #[test]
    fn a_folder_of_the_same_name_elsewhere_is_no_absolute_path() {
        let folder = FORBIDDEN[0];
        let tree = Tree::from([("a.sh", &*format!("cd target{folder}x\ncd \"{folder}x\"\n"))]);
        assert_eq!(places(&check(&tree)), ["a.sh:2"]);
    }

    #[test]
    fn this_file_holds_none_of_them() {
        let tree = Tree::from([("words.rs", include_str!("words.rs"))]);
        assert_eq!(check(&tree), []);
    }
}
