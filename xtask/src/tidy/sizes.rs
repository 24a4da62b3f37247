//! How long a source file may be, without its tests.

use super::finding::{Finding, numbered};
use crate::tree::{Tree, extension_of};

/// Longer files are refused, in lines.
const LONGEST: usize = 700;
/// Longer files deserve a second look, in lines.
const LONG: usize = 400;

/// What people write and read as code.
const SOURCE: [&str; 9] = ["rs", "c", "cc", "cpp", "h", "s", "S", "js", "py"];

/// Every source file that is too long.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .filter(|(path, _)| extension_of(path).is_some_and(|extension| SOURCE.contains(&extension)))
        .filter(|(path, _)| !is_test_file(path))
        .filter_map(|(path, text)| {
            let lines = lines_without_tests(text);
            let advice = format!("{lines} lines without tests; split it by idea into modules");
            match lines {
                _ if lines > LONGEST => {
                    Some(Finding::error(path, LONGEST + 1, format!("{advice} (at most {LONGEST})")))
                }
                _ if lines > LONG => Some(Finding::warning(path, LONG + 1, advice)),
                _ => None,
            }
        })
        .collect()
}

/// Whether a file holds nothing but tests: `tests/…` beside `src`, or a `tests` module in a file of its own.
pub fn is_test_file(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// The lines before the first `#[cfg(test)]` that opens a module in this file. The attribute on an import, a
/// function or a module in another file hides nothing of what follows it.
pub fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let opens_tests = |at: usize| {
        let item = lines[at + 1..].iter().find(|line| !line.starts_with("#[") && !line.is_empty());
        lines[at] == "#[cfg(test)]"
            && item.is_some_and(|item| item.split(' ').any(|word| word == "mod") && item.ends_with('{'))
    };
    (0..lines.len()).find(|&at| opens_tests(at)).unwrap_or(lines.len())
}

/// A Rust file's lines before its tests, numbered from 1.
pub fn numbered_without_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    numbered(text).take(lines_without_tests(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::places;

    fn code(lines: usize) -> String {
        "let x = 1;\n".repeat(lines)
    }

    #[test]
    fn the_limits_are_the_last_lengths_allowed() {
        let tests = "#[cfg(test)]\nmod tests {\n}\n";
        let findings = check(&Tree::from([
            ("a.rs", &code(400)),
            ("b.rs", &code(401)),
            ("c.rs", &code(700)),
            ("d.rs", &code(701)),
            // 400 lines of code and 1,000 of tests.
            ("e.rs", &format!("{}{tests}{}", code(400), code(1000))),
            ("crates/app/tests/f.rs", &code(1000)),
            ("g/tests.rs", &code(1000)),
            ("data.csv", &code(1000)),
        ]));
        assert_eq!(places(&findings), ["b.rs:401", "c.rs:401", "d.rs:701"]);
        assert_eq!(findings.iter().map(Finding::is_error).collect::<Vec<_>>(), [false, false, true]);
    }

    #[test]
    fn only_a_module_in_the_file_ends_the_count() {
        assert_eq!(lines_without_tests("a\nb\n#[cfg(test)]\n#[allow(x)]\npub(crate) mod tests {\nc\n}\n"), 2);
        // Two lines of attribute and import, one of code.
        assert_eq!(lines_without_tests("#[cfg(test)]\nuse x;\na\n"), 3);
        assert_eq!(lines_without_tests("#[cfg(test)]\nmod fake;\na\n"), 3);
        assert_eq!(lines_without_tests("#[cfg(test)]"), 1);
    }
}
