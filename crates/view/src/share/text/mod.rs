//! The lines and the matrix for a terminal.

mod lines;
mod matrix;
mod picture;
mod trust;

use crate::{
    model::{Basis, Line, RemedyKind, Share, SharingFinding},
    text::{Options, page::Page},
    words::{self, ThreadNames},
};

pub use trust::{in_brief, measured, precision};

/// The contended lines, and who communicates with whom where enough was seen.
pub fn print(page: &mut Page, share: &Share, names: &ThreadNames, options: &Options) {
    lines::print(page, share, names, options);
    if share.not_enough.is_none() {
        matrix::print(page, share, names, options);
    }
}

/// True and false sharing of a line as `false sharing`, `true sharing`, `62% false sharing`.
fn class(true_sharing: f64, false_sharing: f64) -> String {
    let total = true_sharing + false_sharing;
    if !total.is_finite() || total <= 0.0 {
        "class not known".into()
    } else if true_sharing <= 0.0 {
        "false sharing".into()
    } else if false_sharing <= 0.0 {
        "true sharing".into()
    } else {
        format!("{} false sharing", words::percent(false_sharing / total))
    }
}

/// The same for a finding with its worst line, with what weakens the claim: few events, or events weighted by time. What
/// threads contend for is named instead.
pub fn class_of(finding: &SharingFinding, line: &Line) -> String {
    if let Some(of) = finding.remedy.of.as_ref().filter(|_| finding.remedy.kind == RemedyKind::Contend) {
        return format!("contention for a {}", of.primitive.noun());
    }
    let class = class(finding.true_sharing.0, finding.false_sharing.0);
    match (&line.false_fraction, line.basis) {
        (None, _) => format!("{class}, {}", words::count(finding.events as usize, "event")),
        (_, Basis::LastInstruction) => format!("{class} by time"),
        (Some(_), Basis::Step) => class,
    }
}

/// ``34% (±2)  false sharing  `stats` (app.c:12)`` of each finding.
pub fn summary(share: &Share) -> Vec<String> {
    let row = |finding: &SharingFinding| {
        let line = share.lines.get(*finding.lines.first()?)?;
        let part = words::percent_with_error(&finding.share_interval);
        let declared = finding.object.declared.as_ref();
        let at = declared.and_then(|frame| words::place(frame.file.as_deref(), frame.line));
        let at = at.map_or_else(String::new, |at| format!(" ({at})"));
        Some(format!("{part}  {}  `{}`{at}", class_of(finding, line), finding.object.name))
    };
    share.findings.iter().filter_map(row).collect()
}

/// How many findings are not printed.
fn left_out(share: &Share, options: &Options) -> usize {
    share.findings.len().saturating_sub(options.lines)
}

#[cfg(test)]
mod tests;
