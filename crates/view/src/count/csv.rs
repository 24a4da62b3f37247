//! The totals, and the counts of every thread.

use crate::{
    csv::Table,
    model::{Counts, Report},
    words::ThreadNames,
};

/// The files of a report.
pub fn tables(report: &Report, counts: &Counts, names: &ThreadNames) -> Vec<(&'static str, String)> {
    vec![("totals.csv", totals(counts)), ("counts.csv", counts_by_thread(report, counts, names))]
}

/// One row per event.
fn totals(counts: &Counts) -> String {
    let mut table = Table::default();
    table.header(&["event", "unit", "total"]);
    for event in &counts.events {
        table.name(&event.name).name(&event.unit).whole(event.total).end();
    }
    table.text
}

/// One row per thread.
fn counts_by_thread(report: &Report, counts: &Counts, names: &ThreadNames) -> String {
    let mut table = Table::default();
    for name in ["thread", "thread_name", "process", "tid", "cpu_ns"] {
        table.name(name);
    }
    for event in &counts.events {
        table.name(&event.name.replace('-', "_"));
    }
    table.end();
    for (index, thread) in report.threads.iter().enumerate() {
        table.whole(Some(thread.id)).name(&names.get(thread.id)).whole(Some(thread.process));
        table.whole(Some(thread.tid)).whole(Some(thread.cpu_ns));
        for event in &counts.events {
            table.whole(event.values.get(index).copied().flatten());
        }
        table.end();
    }
    table.text
}
