//! The repository's rules that the compiler does not check, one module each.
//!
//! A check is a function of a [`Tree`]; it neither reads files nor prints.

mod crates;
mod documents;
mod edges;
mod printing;
mod sizes;
mod unsafety;
mod words;

use std::fmt;

use crate::tree::Tree;

/// Runs every check.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let checks = [
        edges::check,
        sizes::check,
        unsafety::check,
        printing::check,
        documents::links,
        documents::index,
        words::check,
    ];
    checks.iter().flat_map(|check| check(tree)).collect()
}

/// One place that breaks a rule, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    severity: Severity,
    path: String,
    /// From 1.
    line: usize,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Severity {
    /// Tidy fails.
    Error,
    /// Worth a second look.
    Warning,
}

impl Finding {
    fn error(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { severity: Severity::Error, path: path.to_owned(), line, text: text.into() }
    }

    fn warning(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(path, line, text) }
    }

    /// Whether tidy fails because of this.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{}:{}: {severity}: {}", self.path, self.line, self.text)
    }
}

/// A file's lines with their numbers, from 1.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// Where each finding stands, as `path:line`, for the checks' tests.
#[cfg(test)]
fn places(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| format!("{}:{}", finding.path, finding.line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_is_tidy() {
        let tree = Tree::read(&crate::repository()).expect("a readable repository");
        assert!(tree.has("xtask/src/tidy/mod.rs"), "the tree is not this repository");
        let errors: Vec<String> =
            check(&tree).iter().filter(|finding| finding.is_error()).map(Finding::to_string).collect();
        assert!(errors.is_empty(), "\n{}\n", errors.join("\n"));
    }

    #[test]
    fn a_finding_reads_as_a_compiler_message() {
        let finding = Finding::warning("crates/base/src/lib.rs", 401, "split it by idea");
        assert_eq!(finding.to_string(), "crates/base/src/lib.rs:401: warning: split it by idea");
        assert!(!finding.is_error());
    }
}
