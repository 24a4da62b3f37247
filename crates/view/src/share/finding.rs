//! What `carom profile` says of sharing.

use crate::model::{Finding, Real, RemedyKind, Report, Share};

/// From this fraction of false sharing on, sharing is called false; up to one minus this, true.
const NEARLY_ALL: f64 = 0.9;

/// The accesses to lines that bounce.
pub fn finding(share: &Share, report: &Report) -> Finding {
    let worst = share.findings.first();
    let part = if worst.is_some() { share.contended_share.estimate } else { Real(0.0) };
    let kind = match share.false_fraction {
        _ if worst.is_none() => "sharing",
        _ if worst.is_some_and(|finding| finding.remedy.kind == RemedyKind::Contend) => "contention",
        Some(fraction) if fraction.estimate.0 >= NEARLY_ALL => "false sharing",
        Some(fraction) if fraction.estimate.0 <= 1.0 - NEARLY_ALL => "true sharing",
        Some(_) => "true and false sharing",
        None => "sharing",
    };
    Finding::new("share", kind, Some(part), report, worst.map(|finding| finding.remedy.text.as_str()))
}
