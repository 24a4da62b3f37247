//! The invariants of `ARCHITECTURE.md`: each names what holds it, and what it names exists.
//!
//! A paragraph begins with a crate's name and contains *Invariant*. Code spans follow *Held by*: a file of the crate or a
//! check of this folder, and the things in it that hold the invariant, such as a test's name or a lint's key.

use super::finding::{Finding, numbered};
use super::sizes::is_test_file;
use crate::tree::{Tree, extension_of};

const DOCUMENT: &str = "ARCHITECTURE.md";
const HELD: &str = "*Held by*";

/// Every invariant that names nothing, and everything named that does not exist.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let text = tree.get(DOCUMENT).unwrap_or_default();
    paragraphs(text).iter().flat_map(|paragraph| check_one(tree, paragraph)).collect()
}

/// An item of a list, from the line where it begins.
struct Paragraph {
    line: usize,
    text: String,
}

fn paragraphs(text: &str) -> Vec<Paragraph> {
    let mut found: Vec<Paragraph> = Vec::new();
    let mut is_open = false;
    for (line, text) in numbered(text) {
        if text.starts_with("- **") {
            found.push(Paragraph { line, text: text.to_owned() });
            is_open = true;
        } else if let Some(last) = found.last_mut().filter(|_| is_open && text.starts_with(' ')) {
            last.text = format!("{} {}", last.text, text.trim());
        } else {
            is_open = false;
        }
    }
    found.retain(|paragraph| paragraph.text.contains("*Invariant*"));
    found
}

fn check_one(tree: &Tree, paragraph: &Paragraph) -> Vec<Finding> {
    let error = |text: String| Finding::error(DOCUMENT, paragraph.line, text);
    let name = paragraph.text.split("**").nth(1).unwrap_or_default();
    let Some((_, held)) = paragraph.text.split_once(HELD) else {
        return vec![error(format!("the invariant of `{name}` names nothing that holds it; add {HELD}"))];
    };
    let mut findings = Vec::new();
    // The file that was named last, and whether anything in it was.
    let mut file: Option<(String, bool)> = None;
    for span in held.split('`').skip(1).step_by(2) {
        if is_file(span) {
            if let Some((path, false)) = file {
                findings.push(error(format!("say what in {path} holds the invariant of `{name}`")));
            }
            let path = [format!("crates/{name}/{span}"), format!("xtask/src/tidy/{span}")]
                .into_iter()
                .find(|path| tree.has(path));
            findings.extend(path.is_none().then(|| error(format!("`{span}` does not exist"))));
            file = path.map(|path| (path, false));
        } else if let Some((path, is_used)) = &mut file {
            *is_used = true;
            if !tree.get(path).is_some_and(|text| holds(path, text, span)) {
                findings.push(error(format!("`{span}` is not in {path}")));
            }
        }
    }
    if !file.is_some_and(|(_, is_used)| is_used) && findings.is_empty() {
        findings.push(error(format!("say which file holds the invariant of `{name}`, and what in it")));
    }
    findings
}

fn is_file(span: &str) -> bool {
    extension_of(span).is_some_and(|extension| matches!(extension, "rs" | "toml"))
}

/// Whether a file has the thing outside of comments. In a file of tests a function must be a test: a function that is
/// not run holds nothing.
fn holds(path: &str, text: &str, thing: &str) -> bool {
    let code: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.starts_with("//")).collect();
    let defines = format!("fn {thing}(");
    match code.iter().position(|line| line.contains(&defines)) {
        Some(at) if is_test_file(path) => {
            code[..at].iter().rev().take_while(|line| !line.ends_with('}')).any(|line| *line == "#[test]")
        }
        _ => code.iter().any(|line| names(line, thing)),
    }
}

/// Whether a line has the thing as words of its own.
fn names(line: &str, thing: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(thing)
        .any(|(at, _)| !line[..at].ends_with(is_word) && !line[at + thing.len()..].starts_with(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::places;

    fn tree(held: &str) -> Tree {
        let text =
            format!("# Crates\n\n- **base**: words. *Invariant*: no\n  allocation. {held}\n\nThe end.\n");
        Tree::from([
            (DOCUMENT, text.as_str()),
            ("crates/base/src/lib.rs", "#![no_std]\n"),
            ("crates/base/tests/a.rs", "#[test]\n#[cfg(unix)]\nfn stays() {\n}\n\nfn helper() {\n}\n"),
            ("xtask/src/tidy/b.rs", "const A: &str = \"crates/base/src\";\n// gone\n"),
        ])
    }

    #[test]
    fn what_holds_an_invariant_exists() {
        for held in [
            "*Held by* `src/lib.rs` (`no_std`).",
            "*Held by* `tests/a.rs`: `stays`,\n  `b.rs` (`crates/base/src`)",
        ] {
            assert_eq!(check(&tree(held)), [], "{held}");
        }
    }

    #[test]
    fn what_holds_nothing_is_found_with_its_line() {
        for (held, complaint) in [
            ("", "names nothing"),
            ("*Held by* care.", "say which file"),
            ("*Held by* `src/lib.rs`.", "say which file"),
            ("*Held by* `src/lib.rs`, `tests/a.rs` (`stays`).", "say what in crates/base/src/lib.rs"),
            ("*Held by* `src/gone.rs` (`no_std`).", "`src/gone.rs` does not exist"),
            ("*Held by* `src/lib.rs` (`no_st`).", "`no_st` is not in crates/base/src/lib.rs"),
            ("*Held by* `tests/a.rs` (`helper`).", "`helper` is not in"),
            ("*Held by* `b.rs` (`gone`).", "`gone` is not in"),
        ] {
            let findings = check(&tree(held));
            assert_eq!(places(&findings), ["ARCHITECTURE.md:3"], "{held}");
            assert!(findings[0].text.contains(complaint), "{held}: {}", findings[0].text);
        }
    }
}
