//! Phrases that an editing pass removed: a native reader has to read them twice.

use super::finding::{Finding, numbered};
use crate::tree::{Tree, extension_of};

/// One phrase to a line, and behind `|` what to write instead; `#` begins a comment.
const LIST: &str = "xtask/phrases.txt";

/// What people write for other people.
const WRITTEN: [&str; 6] = ["rs", "md", "c", "js", "py", "toml"];
/// Measurements and the changelog stay as they were written; the last one is this file.
const KEPT: [&str; 3] = ["measurements/", "CHANGELOG.md", "xtask/src/tidy/phrases.rs"];

/// Every line with a phrase of the list, in any case.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let phrases = phrases(tree.get(LIST).unwrap_or_default());
    tree.files()
        .filter(|(path, _)| extension_of(path).is_some_and(|extension| WRITTEN.contains(&extension)))
        .filter(|(path, _)| !KEPT.iter().any(|kept| path.starts_with(kept)))
        .flat_map(|(path, text)| numbered(text).map(move |(number, line)| (path, number, line)))
        .filter_map(|(path, number, line)| {
            let line = line.to_lowercase();
            let (phrase, instead) = phrases.iter().find(|(phrase, _)| holds(&line, phrase))?;
            Some(Finding::error(path, number, format!("\"{phrase}\" is hard to read; write {instead}")))
        })
        .collect()
}

fn phrases(list: &str) -> Vec<(&str, &str)> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once('|')).map(|(one, two)| (one.trim(), two.trim())).collect()
}

/// Whether `line` holds `phrase` as words of its own.
fn holds(line: &str, phrase: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(phrase)
        .any(|(at, _)| !line[..at].ends_with(is_word) && !line[at + phrase.len()..].starts_with(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::places;

    #[test]
    fn a_phrase_is_found_in_any_case_and_as_words_of_its_own() {
        let tree = Tree::from([
            (LIST, "# what | why\nso-manieth | \"n-th\"\nto be had | \"available\"\n"),
            ("crates/base/src/lib.rs", "//! The so-manieth line.\n//! Not-so-maniethly.\n"),
            ("README.md", "fine\nTo be had everywhere, into be hadn't.\n"),
            ("CHANGELOG.md", "The so-manieth line.\n"),
            ("a.json", "\"so-manieth\"\n"),
        ]);
        let findings = check(&tree);
        assert_eq!(places(&findings), ["README.md:2", "crates/base/src/lib.rs:1"]);
        assert_eq!(findings[0].text, "\"to be had\" is hard to read; write \"available\"");
    }
}
