//! The comparison for a pull request.

use std::fmt::Write;

use super::count;
use super::model::{Change, Diff};
use super::text::trust;
use super::verdict::{became, difference, object, pair, rows_of_reuse, rows_of_share, value};

/// GitHub's dialect: the verdict, a table for each question, and how far to trust it.
pub fn markdown(diff: &Diff) -> String {
    let mut text = format!("### carom diff\n\n{}\n", diff.verdict);
    if let Some(share) = &diff.share {
        let findings = share.findings.iter().map(|f| (f.fate.name(), object(&f.object), &f.share)).collect();
        table(
            &mut text,
            &format!("Sharing: shares of {}", share.unit.whole()),
            rows_of_share(share),
            findings,
        );
    }
    if let Some(reuse) = &diff.reuse {
        let findings = reuse.findings.iter().map(|f| (f.fate.name(), pair(f), &f.misses)).collect();
        table(&mut text, "Misses: shares of all accesses", rows_of_reuse(reuse), findings);
    }
    if let Some(compared) = &diff.count {
        count::text::markdown(&mut text, compared);
    }
    let _ = write!(text, "\n{}\n", trust(diff));
    for warning in &diff.warnings {
        let _ = write!(text, "\n> {}\n", escaped(&warning.text));
    }
    for reason in &diff.gate.reasons {
        let _ = write!(text, "\n**Failed:** {reason}\n");
    }
    text
}

fn table(
    text: &mut String,
    title: &str,
    totals: Vec<(String, &Change)>,
    findings: Vec<(&str, String, &Change)>,
) {
    let _ = write!(
        text,
        "\n**{title}**\n\n| | | before | after | change (95% interval) |\n| --- | --- | ---: | ---: | ---: |\n"
    );
    let totals = totals.into_iter().map(|(name, change)| (became(change), name, change));
    for (fate, name, change) in totals.chain(findings) {
        let _ = writeln!(
            text,
            "| {fate} | {} | {} | {} | {} |",
            escaped(&name),
            value(&change.before),
            value(&change.after),
            difference(change)
        );
    }
}

/// Names from strangers neither end a cell nor begin a tag.
fn escaped(name: &str) -> String {
    name.replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " ")
}
