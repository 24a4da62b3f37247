//! The comparison for a terminal.

use super::model::{Change, Diff, Fate, ObjectDiff, ReuseDiff, ShareDiff, Spread, SpreadBasis};
use super::verdict::{became, difference, object, pair, rows_of_reuse, rows_of_share, value};
use super::{count, not_judged};
use crate::{
    text::{
        Options,
        page::{Page, Style},
    },
    words,
};

/// Columns of the fate, and of a value.
const FATE: usize = 11;
const VALUE: usize = 16;
const DIFFERENCE: usize = 30;

/// The whole comparison, ending in a newline.
pub fn text(diff: &Diff, options: &Options) -> String {
    let mut page = Page::new(options);
    page.paragraph(Style::Bold, &diff.verdict);
    if let Some(compared) = &diff.share {
        share(&mut page, compared, options.lines);
    }
    if let Some(compared) = &diff.reuse {
        reuse(&mut page, compared, options.lines);
    }
    if let Some(compared) = &diff.count {
        count::text::print(&mut page, compared, options.verbose);
    }
    page.heading("How far to trust it");
    page.indented(Style::Plain, 2, "", &trust(diff));
    for warning in &diff.warnings {
        page.indented(Style::Orange, 2, "", &warning.text);
    }
    for text in not_judged(diff) {
        page.indented(Style::Orange, 2, "", &text);
    }
    for reason in &diff.gate.reasons {
        page.indented(Style::Orange, 2, "failed: ", reason);
    }
    page.finish()
}

fn share(page: &mut Page, share: &ShareDiff, lines: usize) {
    heading(page, &format!("Sharing, in shares of {}", share.unit.whole()));
    rows(page, rows_of_share(share));
    for found in share.findings.iter().take(lines) {
        finding(page, found.fate, &found.share, &object(&found.object));
        if let Some(note) = of_false_sharing(found) {
            page.indented(Style::Dim, FATE + 2, "", &note);
        }
    }
    rest(page, share.findings.len(), lines);
    if share.too_small > 0 {
        let findings = words::count(share.too_small, "smaller finding");
        note(
            page,
            &format!("{findings}, below {} on both sides: not compared", words::percent(share.smallest.0)),
        );
    }
}

fn reuse(page: &mut Page, reuse: &ReuseDiff, lines: usize) {
    heading(
        page,
        &format!("Misses in a cache of {}, in shares of all accesses", words::size(reuse.cache_bytes)),
    );
    rows(page, rows_of_reuse(reuse));
    for found in reuse.findings.iter().take(lines) {
        finding(page, found.fate, &found.misses, &pair(found));
    }
    rest(page, reuse.findings.len(), lines);
    if reuse.too_small > 0 {
        let pairs = words::count(reuse.too_small, "pair");
        note(page, &format!("{pairs} of code places with few of the misses on both sides: not compared"));
    }
}

fn note(page: &mut Page, text: &str) {
    page.indented(Style::Dim, 2, "", text);
}

fn heading(page: &mut Page, text: &str) {
    page.heading(text);
    page.plain("  ").cell(Style::Dim, "", FATE);
    page.cell(Style::Dim, "before", VALUE).cell(Style::Dim, "after", VALUE);
    page.put(Style::Dim, "change (95% interval)").end();
}

fn rows(page: &mut Page, rows: Vec<(String, &Change)>) {
    for (name, change) in rows {
        line(page, Style::Plain, became(change), change, &name);
    }
}

fn finding(page: &mut Page, fate: Fate, change: &Change, name: &str) {
    let style = match fate {
        Fate::Gone | Fate::Smaller => Style::Green,
        Fate::New | Fate::Larger => Style::Orange,
        Fate::Left | Fate::Undecided => Style::Plain,
    };
    line(page, style, fate.name(), change, name);
}

fn line(page: &mut Page, style: Style, fate: &str, change: &Change, name: &str) {
    page.plain("  ").cell(style, fate, FATE);
    page.cell(Style::Plain, &value(&change.before), VALUE);
    page.cell(Style::Plain, &value(&change.after), VALUE);
    page.cell(Style::Plain, &difference(change), DIFFERENCE).put(Style::Cyan, name).end();
}

/// `false sharing gone: 12k accesses before, 0 after; true sharing: 3k before, 3k after`
fn of_false_sharing(found: &ObjectDiff) -> Option<String> {
    let fate = found.false_sharing_fate?;
    let volume = |of: fn(&super::model::Volumes) -> f64| {
        format!("{} before, {} after", words::compact(of(&found.before)), words::compact(of(&found.after)))
    };
    Some(format!(
        "false sharing {}: {}; true sharing: {}",
        fate.name(),
        volume(|v| v.false_sharing.0),
        volume(|v| v.true_sharing.0)
    ))
}

fn rest(page: &mut Page, all: usize, printed: usize) {
    if all > printed {
        note(page, &format!("{} more in the JSON", words::count(all - printed, "finding")));
    }
}

/// What the intervals have in them.
pub(super) fn trust(diff: &Diff) -> String {
    let (before, after) = (words::count(diff.before.runs, "run"), words::count(diff.after.runs, "run"));
    let sides = format!("{before} before, {after} after.");
    let mut said = vec![sides];
    if diff.share.is_some() || diff.reuse.is_some() {
        said.push(of_findings(&diff.spread));
    }
    said.extend(diff.count.as_ref().map(count::text::trust));
    said.join(" ")
}

fn of_findings(spread: &Spread) -> String {
    let Spread { basis, assumed } = *spread;
    let spread = match (basis, assumed) {
        (SpreadBasis::Assumed, Some(part)) => format!(
            "One run each does not tell how much runs of one program differ: a standard deviation of {:.1} \
             of the logarithm of the odds is assumed. Record several with --runs to measure it.",
            part.0
        ),
        _ => "The intervals have the differences between runs in them.".to_owned(),
    };
    format!(
        "{spread} A change is called one where runs of an unchanged program would show it in fewer than 5% of comparisons."
    )
}
