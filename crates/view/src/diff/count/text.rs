//! Counts before and after for a terminal, and as Markdown.

use std::fmt::Write;

use super::{
    model::{CountDiff, DecidedBy, EventBasis, EventDiff, EventOutcome},
    words::{amount, label, legend, marked, mean, probability, with_interval},
};
use crate::text::page::{Page, Style};
use crate::words;

const OUTCOME: usize = 10;
const NAME: usize = 22;
const VALUE: usize = 12;
const CHANGE: usize = 32;

/// The tables: what was measured natively, and what was counted.
pub fn print(page: &mut Page, diff: &CountDiff, verbose: bool) {
    page.heading(&format!("Counts {}", legend(diff.events.iter().map(|event| event.basis))));
    page.plain("  ").cell(Style::Dim, "", OUTCOME).cell(Style::Dim, "", NAME);
    page.cell(Style::Dim, "before", VALUE).cell(Style::Dim, "after", VALUE);
    page.cell(Style::Dim, "change (95% interval)", CHANGE).put(Style::Dim, "p").end();
    let (told, folded): (Vec<_>, Vec<_>) =
        diff.events.iter().partition(|event| verbose || event.outcome != EventOutcome::Constant);
    for event in told {
        row(page, event);
    }
    if !folded.is_empty() {
        page.indented(Style::Dim, 2, "", &format!("{}: {}", folded_title(folded.len()), constants(&folded)));
    }
}

fn folded_title(number: usize) -> String {
    format!("the same in all runs ({})", words::thousands(number as u64))
}

/// `calls 812, atomics 0`
fn constants(events: &[&EventDiff]) -> String {
    let told = |event: &&EventDiff| {
        let value = event.before.first().map(|value| amount(value.0, &event.unit)).unwrap_or_default();
        format!("{} {value}", label(&event.name))
    };
    events.iter().map(told).collect::<Vec<_>>().join(", ")
}

fn row(page: &mut Page, event: &EventDiff) {
    let style = match event.outcome {
        EventOutcome::More => Style::Orange,
        EventOutcome::Less => Style::Green,
        _ => Style::Plain,
    };
    page.plain("  ").cell(style, event.outcome.name(), OUTCOME);
    page.cell(Style::Cyan, &marked(&event.name, event.basis), NAME - 1).plain(" ");
    for value in [value(event, &event.before), value(event, &event.after)] {
        page.cell(Style::Plain, &value, VALUE);
    }
    page.cell(Style::Plain, &with_interval(event), CHANGE);
    page.plain(&event.p_adjusted.map_or_else(String::new, |p| probability(p.0))).end();
}

fn value(event: &EventDiff, side: &[crate::model::Real]) -> String {
    mean(side).map_or_else(|| "not known".into(), |value| amount(value, &event.unit))
}

/// How changes are told from chance.
pub fn trust(diff: &CountDiff) -> String {
    let tests = match diff.decided_by {
        DecidedBy::WelchAndRanks => "Welch's test and the rank-sum test both must find it",
        DecidedBy::Welch => {
            "Welch's test must find it, which assumes that values are distributed normally (with seven runs a side, ranks would \
             decide too)"
        }
    };
    format!(
        "A change is called one where runs of one program would show it in fewer than 5% of comparisons: {tests}, and p is \
         corrected for the number of events (Holm). Intervals are for each event by itself."
    )
}

/// Without marks, but modelled values are called so.
fn named(event: &EventDiff) -> String {
    let modelled = if event.basis == EventBasis::Simulated { " (simulated)" } else { "" };
    format!("{}{modelled}", label(&event.name))
}

/// GitHub's dialect.
pub fn markdown(text: &mut String, diff: &CountDiff) {
    text.push_str("\n**Counts**\n\n| | | before | after | change (95% interval) | p |\n| --- | --- | ---: | ---: | ---: | ---: |\n");
    for event in diff.events.iter().filter(|event| event.outcome != EventOutcome::Constant) {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            event.outcome.name(),
            named(event),
            value(event, &event.before),
            value(event, &event.after),
            with_interval(event),
            event.p_adjusted.map_or_else(String::new, |p| probability(p.0)).replace('<', "&lt;")
        );
    }
}
