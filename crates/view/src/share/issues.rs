//! Contended data as SARIF has it.

use std::collections::HashSet;

use super::{same_code::same_code, text::class_of, verdict::NEARLY_ALL};
use crate::{
    issue::{Issue, Rule},
    model::{Line, Primitive, Real, RemedyKind, Share, SharingFinding},
    words,
};

/// Places in the code of a finding.
const SITES: usize = 2;

/// One for each finding.
pub fn issues(share: &Share) -> Vec<Issue<'_>> {
    share.findings.iter().filter_map(|finding| issue(share, finding)).collect()
}

fn issue<'a>(share: &'a Share, finding: &'a SharingFinding) -> Option<Issue<'a>> {
    let line = share.lines.get(*finding.lines.first()?)?;
    let taken = finding.share_interval.estimate.0;
    let following = finding.following.filter(|_| finding.spread).map_or(0.0, |part| part.0);
    let mut places = HashSet::new();
    let sites = same_code([line]).into_iter().filter_map(|code| words::place_in(&code.site.call_path));
    Some(Issue {
        rule: rule(finding),
        share: taken.max(following),
        text: text(share, finding, line),
        sites: sites.filter(|frame| places.insert((&frame.file, frame.line))).take(SITES).collect(),
        declared: finding.object.declared.as_ref(),
        name: finding.object.name.clone(),
    })
}

fn rule(finding: &SharingFinding) -> Rule {
    let of = finding.remedy.of.as_ref().filter(|_| finding.remedy.kind == RemedyKind::Contend);
    match of.map(|of| of.primitive) {
        Some(Primitive::ReferenceCount) => Rule::ReferenceCounting,
        Some(_) => Rule::Contention,
        None => rule_of(finding.true_sharing, finding.false_sharing),
    }
}

/// By the volumes of both kinds of sharing.
pub fn rule_of(true_sharing: Real, false_sharing: Real) -> Rule {
    match false_sharing.0 / (true_sharing.0 + false_sharing.0) {
        part if part >= NEARLY_ALL => Rule::FalseSharing,
        part if part <= 1.0 - NEARLY_ALL => Rule::TrueSharing,
        _ => Rule::MixedSharing,
    }
}

/// `` `stats`: false sharing; 17% (±1.3) of memory accesses on its cache line. Start …``
fn text(share: &Share, finding: &SharingFinding, line: &Line) -> String {
    let lines = match finding.lines.len() + finding.other_lines {
        1 => "cache line".to_owned(),
        many => words::count(many, "cache line"),
    };
    format!(
        "`{}`: {}; {} of {} on its {lines}. {}",
        finding.object.name,
        class_of(finding, line),
        words::percent_with_error(&finding.share_interval),
        share.matrix.unit.whole(),
        finding.remedy.text
    )
}
