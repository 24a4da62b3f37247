//! What a check has found.

use std::fmt;

/// One place that breaks a rule, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    severity: Severity,
    path: String,
    /// From 1.
    line: usize,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Severity {
    /// Tidy fails.
    Error,
    /// Worth a second look.
    Warning,
}

impl Finding {
    /// A finding that makes tidy fail.
    pub fn error(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { severity: Severity::Error, path: path.to_owned(), line, text: text.into() }
    }

    /// A finding that deserves a second look.
    pub fn warning(path: &str, line: usize, text: impl Into<String>) -> Self {
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
pub fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// Where each finding stands, as `path:line`, for the checks' tests.
#[cfg(test)]
pub fn places(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| format!("{}:{}", finding.path, finding.line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_as_a_compiler_message() {
        let finding = Finding::warning("crates/base/src/lib.rs", 401, "split it by idea");
        assert_eq!(finding.to_string(), "crates/base/src/lib.rs:401: warning: split it by idea");
        assert!(!finding.is_error());
    }
}
