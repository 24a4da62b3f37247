//! Which finding comes first, and the sentence about it.
//!
//! The time that sharing and misses cost depends on the machine; the number of accesses that they concern does not. So findings
//! are ranked by that: accesses to lines that bounce between threads, and accesses that the chosen cache misses.

use crate::{
    model::{Finding, Real, Report, Reuse, ReuseFit, ReuseScope, Share},
    reuse::verdict::remedy,
};

/// A smaller share of the accesses is no problem.
const NEGLIGIBLE: f64 = 0.005;

/// From this fraction of false sharing on, sharing is called false; up to one minus this, true.
const NEARLY_ALL: f64 = 0.9;

/// The remedy for a pair of instructions is given where the pair makes at least this part of the misses.
const TELLING: f64 = 0.2;

/// All findings, the worst first.
pub fn findings(share: Option<&Report>, reuse: Option<&Report>) -> Vec<Finding> {
    let sharing = share.and_then(|report| Some(sharing(report, report.share.as_ref()?)));
    let misses = reuse.and_then(|report| Some(misses(report, report.reuse.as_ref()?)));
    let mut all: Vec<Finding> = sharing.into_iter().chain(misses).collect();
    rank(&mut all);
    all
}

fn rank(findings: &mut [Finding]) {
    let size = |finding: &Finding| finding.share_of_accesses.map_or(0.0, |share| share.0);
    findings.sort_by(|one, other| other.matters.cmp(&one.matters).then(size(other).total_cmp(&size(one))));
}

fn sharing(report: &Report, share: &Share) -> Finding {
    let worst = share.lines.first();
    let part = if worst.is_some() { share.contended_share.estimate } else { Real(0.0) };
    Finding {
        question: "share".into(),
        kind: match share.false_fraction {
            _ if worst.is_none() => "sharing",
            Some(fraction) if fraction.estimate.0 >= NEARLY_ALL => "false sharing",
            Some(fraction) if fraction.estimate.0 <= 1.0 - NEARLY_ALL => "true sharing",
            Some(_) => "true and false sharing",
            None => "sharing",
        }
        .into(),
        share_of_accesses: Some(part),
        matters: part.0 >= NEGLIGIBLE,
        text: report.verdict.clone(),
        remedy: worst.filter(|_| part.0 >= NEGLIGIBLE).map(|line| line.remedy.text.clone()),
    }
}

fn misses(report: &Report, reuse: &Reuse) -> Finding {
    let known = of_program(&reuse.fits).filter(|_| reuse.not_enough.is_none());
    Finding {
        question: "reuse".into(),
        kind: "cache misses".into(),
        share_of_accesses: known,
        matters: known.is_some_and(|ratio| ratio.0 >= NEGLIGIBLE),
        text: report.verdict.clone(),
        remedy: known
            .filter(|ratio| ratio.0 >= NEGLIGIBLE)
            .and_then(|_| remedy(reuse, TELLING))
            .map(str::to_owned),
    }
}

/// The miss ratio of all threads: that of one thread, or of a shared cache, is about other accesses than the program's.
fn of_program(fits: &[ReuseFit]) -> Option<Real> {
    fits.iter().find(|fit| fit.scope == ReuseScope::All).map(|fit| fit.miss_ratio.estimate)
}

/// The worst finding; where none matters, what each question says.
pub fn verdict(findings: &[Finding], report: &Report) -> String {
    match findings {
        [] => match &report.count {
            Some(_) => "Only counts were asked for.".into(),
            None => "Nothing was observed.".into(),
        },
        [worst, ..] if worst.matters => match &worst.remedy {
            Some(remedy) => format!("{} {remedy}", worst.text),
            None => worst.text.clone(),
        },
        // Each question says how sure it is that there is no problem.
        all => all.iter().map(|finding| finding.text.as_str()).collect::<Vec<_>>().join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Interval;

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

    /// The first fit is the worst, which may be that of a cache with few accesses.
    #[test]
    fn misses_are_those_of_all_threads() {
        let fit = |scope, ratio| {
            let ratio = Real(ratio);
            ReuseFit {
                scope,
                thread: None,
                domain: None,
                miss_ratio: Interval { estimate: ratio, low: ratio, high: ratio },
                compulsory: Real(0.0),
                enough_bytes: None,
                worst_pair: None,
                worst_share: Real(0.0),
                by_geometry: Vec::new(),
            }
        };
        let fits = [fit(ReuseScope::Shared, 0.9), fit(ReuseScope::Thread, 0.5), fit(ReuseScope::All, 0.1)];
        assert_eq!(of_program(&fits).map(|ratio| ratio.0), Some(0.1));
        assert!(of_program(&fits[..2]).is_none());
    }

    /// An unknown finding ranks below a known one.
    #[test]
    fn what_is_known_to_matter_comes_before_what_is_not_known() {
        assert_eq!(ranked(vec![finding("reuse", None), finding("share", Some(0.01))]), ["share", "reuse"]);
    }
}
