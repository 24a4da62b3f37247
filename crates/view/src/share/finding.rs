//! What `carom profile` says of sharing.

use super::verdict::{NEARLY_ALL, false_part};
use crate::model::{Finding, Real, RemedyKind, Report, Share};

/// The accesses to lines that bounce. Where the worst of it is spread over many lines, more than were seen to: then those that
/// follow another thread's write.
pub fn finding(share: &Share, report: &Report) -> Finding {
    let worst = share.findings.first();
    let following = worst.filter(|finding| finding.spread).and_then(|finding| finding.following);
    let part = match worst {
        Some(_) => Some(Real(share.contended_share.estimate.0.max(following.map_or(0.0, |part| part.0)))),
        // Without a sample nothing is known.
        None => (report.quality.samples > 0).then_some(Real(0.0)),
    };
    let kind = match false_part(share) {
        _ if worst.is_none() => "sharing",
        _ if worst.is_some_and(|finding| finding.remedy.kind == RemedyKind::Contend) => "contention",
        Some(part) if part >= NEARLY_ALL => "false sharing",
        Some(part) if part <= 1.0 - NEARLY_ALL => "true sharing",
        Some(_) => "true and false sharing",
        None => "sharing",
    };
    Finding::new("share", kind, part, report, worst.map(|finding| finding.remedy.text.as_str()))
}
