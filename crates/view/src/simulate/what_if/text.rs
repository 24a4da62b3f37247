//! Tables for a terminal.

use super::{change, model::SimulatedWhatIf, shown};
use crate::{
    model::{SimulatedCounts, SimulatedReference, Simulation},
    simulate::{
        text::{CELL, NAME, heads, name},
        verdict::times,
    },
    text::{
        Options,
        page::{Page, Style},
    },
    words::{self, compact, percent},
};

/// Lines of source of which anything changes.
const MOST_ROWS: usize = 5;

/// What the change does: all accesses, the objects, the source lines that it concerns most.
pub fn print(page: &mut Page, simulation: &Simulation, what_if: &SimulatedWhatIf, options: &Options) {
    page.heading("What the changed layout would do");
    heads(page, "", &["before", "after", "change"]);
    for (name, before, after) in rows(&simulation.total, &what_if.total) {
        page.cell(Style::Plain, name, NAME);
        page.plain(&format!("{:>CELL$}{:>CELL$}", compact(before), compact(after)));
        page.put(Style::Bold, &format!("{:>CELL$}", signed(change(before, after)))).end();
    }
    for change in &what_if.changes {
        let text = format!(
            "{}, its lines were taken {}, and would be {}",
            words::count(change.objects, "object"),
            times(change.before.total()),
            times(change.after.total()),
        );
        page.indented(Style::Dim, 2, &format!("{}: ", change.change), &text);
    }
    references(page, simulation, what_if, options);
}

fn rows(before: &SimulatedCounts, after: &SimulatedCounts) -> [(&'static str, f64, f64); 6] {
    let row = |name, of: &dyn Fn(&SimulatedCounts) -> u64| (name, of(before) as f64, of(after) as f64);
    [
        row("Lines taken by false sharing", &|counts| counts.caused.false_sharing),
        row("Lines taken by true sharing", &|counts| counts.caused.true_sharing),
        row("Coherence misses", &|counts| counts.l1.coherence),
        row("Misses of L1", &|counts| counts.l1.total),
        row("Misses of L2", &|counts| counts.l2.total),
        ("Cycles (model)", before.cycles.0, after.cycles.0),
    ]
}

/// The lines of source whose cycles change most.
fn references(page: &mut Page, simulation: &Simulation, what_if: &SimulatedWhatIf, options: &Options) {
    let pairs = simulation.references.iter().zip(&what_if.references);
    let mut changed: Vec<(&SimulatedReference, &SimulatedCounts)> =
        pairs.filter(|(one, after)| shown(&one.counts) != shown(after)).collect();
    let size =
        |(one, after): &(&SimulatedReference, &SimulatedCounts)| (one.counts.cycles.0 - after.cycles.0).abs();
    changed.sort_by(|one, other| size(other).total_cmp(&size(one)));
    if changed.is_empty() {
        return;
    }
    heads(page, "", &["coher.", "after", "inval.", "after", "miss L1", "after"]);
    for (reference, after) in changed.iter().take(MOST_ROWS.min(options.lines)) {
        name(page, reference);
        for (before, after) in shown(&reference.counts).into_iter().zip(shown(after)) {
            page.plain(&format!("{:>CELL$}", compact(before as f64)));
            page.put(Style::Bold, &format!("{:>CELL$}", compact(after as f64)));
        }
        page.end();
    }
}

/// `-83%`, `+5%`, `0%`.
fn signed(change: f64) -> String {
    let rounded = (change * 1000.0).round() / 1000.0;
    if rounded > 0.0 { format!("+{}", percent(rounded)) } else { percent(rounded) }
}
