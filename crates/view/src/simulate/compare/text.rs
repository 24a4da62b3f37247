//! Tables for a terminal.

use super::model::{SimulatedComparison, SimulatedMetric, SimulatedSelected};
use crate::{
    simulate::text::{CELL, NAME, heads},
    text::{
        Options,
        page::{Page, Style, fit},
    },
    words::{self, compact, percent},
};

/// The measures by metric, and the source lines that the reduced trace ranks first.
pub fn print(page: &mut Page, comparison: &SimulatedComparison, options: &Options) {
    page.heading("The reduced trace beside the full one");
    heads(page, "", &["full", "reduced", "selected", "coverage", "false p."]);
    let (full, reduced) = (&comparison.full, &comparison.reduced);
    for (name, full, reduced) in
        [("loads", full.loads, reduced.loads), ("stores", full.stores, reduced.stores)]
    {
        page.cell(Style::Plain, name, NAME);
        page.plain(&format!("{:>CELL$}{:>CELL$}", compact(full as f64), compact(reduced as f64))).end();
    }
    for metric in &comparison.metrics {
        page.cell(Style::Plain, label(metric), NAME);
        page.plain(&format!(
            "{:>CELL$}{:>CELL$}",
            compact(metric.full as f64),
            compact(metric.reduced as f64)
        ));
        page.plain(&format!("{:>CELL$}", metric.selected.len()));
        let coverage = metric.coverage.map_or_else(|| "-".into(), |coverage| percent(coverage.0));
        page.put(Style::Bold, &format!("{coverage:>CELL$}"));
        page.plain(&format!("{:>CELL$}", metric.false_positives)).end();
    }
    let split = &comparison.split;
    let text = format!(
        "Of all invalidations, the lines selected for false sharing make {} by it in the reduced trace, and {} in the full one: {}.",
        percent(split.reduced.0),
        percent(split.full.0),
        if split.similar { "similar" } else { "not similar" }
    );
    page.paragraph(Style::Dim, &text);
    for metric in comparison.metrics.iter().filter(|metric| !metric.selected.is_empty()) {
        if metric.name == "coherence_load_misses" || metric.name == "invalidations" || options.verbose {
            page.heading(&format!("First by {}", label(metric)));
            heads(page, "", &["full", "reduced"]);
            metric.selected.iter().take(options.lines).for_each(|each| row(page, each));
        }
    }
}

fn row(page: &mut Page, selected: &SimulatedSelected) {
    let at = words::place(selected.file.as_deref(), selected.line);
    let at = at.or_else(|| selected.address.clone()).unwrap_or_default();
    page.cell(Style::Cyan, &fit(&at, NAME - 1), NAME);
    page.plain(&format!(
        "{:>CELL$}{:>CELL$}",
        compact(selected.full as f64),
        compact(selected.reduced as f64)
    ));
    if selected.full == 0 {
        page.put(Style::Orange, "  false positive");
    }
    page.end();
}

fn label(metric: &SimulatedMetric) -> &'static str {
    match metric.name.as_str() {
        "coherence_load_misses" => "coherence misses of loads",
        "invalidations" => "invalidations",
        "true_sharing" => "invalidations by true sharing",
        _ => "invalidations by false sharing",
    }
}
