//! Which finding comes first, and the sentence about it.
//!
//! The time that sharing and misses cost depends on the machine; the number of accesses that they concern does not. So findings
//! are ranked by that: accesses to lines that bounce between threads, and accesses that the chosen cache misses.

use crate::model::{Finding, Real, Report};

/// A smaller share of the accesses is no problem.
const NEGLIGIBLE: f64 = 0.005;

impl Finding {
    /// What a question found, which its report says in words. `share`: the part of the accesses that it concerns, where
    /// that is known. The remedy is left out where there is no problem.
    pub(crate) fn new(
        question: &str,
        kind: &str,
        share: Option<Real>,
        report: &Report,
        remedy: Option<&str>,
    ) -> Self {
        let matters = share.is_some_and(|share| share.0 >= NEGLIGIBLE);
        Self {
            question: question.into(),
            kind: kind.into(),
            share_of_accesses: share,
            matters,
            text: report.verdict.clone(),
            remedy: remedy.filter(|_| matters).map(str::to_owned),
        }
    }
}

/// The worst first.
pub fn rank(findings: &mut [Finding]) {
    let size = |finding: &Finding| finding.share_of_accesses.map_or(0.0, |share| share.0);
    findings.sort_by(|one, other| other.matters.cmp(&one.matters).then(size(other).total_cmp(&size(one))));
}

/// The worst finding; where none matters, what each question says.
pub fn verdict(findings: &[Finding], parts: &[Report]) -> String {
    let all = |texts: &mut dyn Iterator<Item = &str>| texts.collect::<Vec<_>>().join(" ");
    match findings {
        [] if parts.is_empty() => "Nothing was observed.".into(),
        [] => all(&mut parts.iter().map(|part| part.verdict.as_str())),
        [worst, ..] if worst.matters => match &worst.remedy {
            Some(remedy) => format!("{} {remedy}", worst.text),
            None => worst.text.clone(),
        },
        // Each question says how sure it is that there is no problem.
        findings => all(&mut findings.iter().map(|finding| finding.text.as_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(question: &str, share: Option<f64>) -> Finding {
        Finding {
            question: question.into(),
            kind: question.into(),
            share_of_accesses: share.map(Real),
            matters: share.is_some_and(|share| share >= NEGLIGIBLE),
            text: format!("found by {question}"),
            remedy: None,
        }
    }

    fn ranked(mut findings: Vec<Finding>) -> Vec<String> {
        rank(&mut findings);
        findings.into_iter().map(|finding| finding.question).collect()
    }

    #[test]
    fn what_concerns_more_accesses_comes_first() {
        assert_eq!(
            ranked(vec![finding("share", Some(0.1)), finding("reuse", Some(0.2))]),
            ["reuse", "share"]
        );
        assert_eq!(
            ranked(vec![finding("share", Some(0.2)), finding("reuse", Some(0.1))]),
            ["share", "reuse"]
        );
    }

    /// An unknown finding ranks below a known one.
    #[test]
    fn what_is_known_to_matter_comes_before_what_is_not_known() {
        assert_eq!(ranked(vec![finding("reuse", None), finding("share", Some(0.01))]), ["share", "reuse"]);
    }
}
