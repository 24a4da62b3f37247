//! The totals, and the counts of every thread.

use crate::{
    count::{places, prediction::model::CountPrediction},
    csv::Table,
    model::{CountRegression, CountSeries, Counts, Real, Report},
    words::ThreadNames,
};

/// The files of a report.
pub fn tables(report: &Report, counts: &Counts, names: &ThreadNames) -> Vec<(&'static str, String)> {
    let runs = counts.series.as_ref().map(|series| ("runs.csv", by_run(series)));
    let tables = [("totals.csv", totals(counts)), ("counts.csv", counts_by_thread(report, counts, names))];
    let laws = counts.regression.as_ref().map(|regression| ("laws.csv", laws(regression)));
    let predicted = counts.prediction.as_ref().map(|found| ("prediction.csv", predicted(found)));
    let places = counts.places.as_ref().map(|found| ("places.csv", places::table(found)));
    tables.into_iter().chain(runs).chain(places).chain(laws).chain(predicted).collect()
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

/// One row per value: which run of those that know the event, the event, the value.
fn by_run(series: &CountSeries) -> String {
    let mut table = Table::default();
    table.header(&["event", "unit", "run", "value"]);
    for event in &series.events {
        for (run, value) in (1..).zip(&event.values) {
            table.name(&event.name).name(&event.unit).whole(Some(run)).number(*value).end();
        }
    }
    table.text
}

/// The run time and each indicator at the size that was asked for.
fn predicted(found: &CountPrediction) -> String {
    let mut table = Table::default();
    table.header(&[
        "event",
        "unit",
        "parameter",
        "parameter_value",
        "value",
        "low",
        "high",
        "law",
        "cost_s",
        "like",
    ]);
    let none = Real(f64::NAN);
    if let Some(time) = found.time_s {
        table.name("time").name("s").name(&found.parameter).number(found.at);
        table.number(time.estimate).number(time.low).number(time.high).name("").number(none).name("").end();
    }
    for each in &found.indicators {
        table.name(&each.name).name(&each.unit).name(&found.parameter).number(found.at);
        table.number(each.there.estimate).number(each.there.low).number(each.there.high).name(&each.formula);
        table.number(each.cost_s.unwrap_or(none)).name(each.like.as_deref().unwrap_or_default()).end();
    }
    table.text
}

/// One row per run of each event and parameter.
fn laws(regression: &CountRegression) -> String {
    let mut table = Table::default();
    table.header(&[
        "event",
        "unit",
        "parameter",
        "parameter_value",
        "value",
        "depends",
        "law",
        "r_squared",
        "p_adjusted",
    ]);
    for law in &regression.laws {
        for [x, y] in &law.points {
            table.name(&law.name).name(&law.unit).name(&law.parameter).number(*x).number(*y);
            table
                .name(if law.depends { "yes" } else { "no" })
                .name(law.formula.as_deref().unwrap_or_default());
            table.number(law.r_squared.unwrap_or(Real(f64::NAN))).number(law.p_adjusted).end();
        }
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
