//! Several runs of one command: how large each quantity is, and how much runs differ.

use carom_study::count::{EventLimit, InRuns, Quantity};

use super::model::{CountSeries, SeriesEvent};
use crate::{
    diff::{
        count::{
            basis, gate,
            words::{amount, label, legend, marked},
        },
        verdict::capitalised,
    },
    model::Real,
    text::page::{Page, Style},
    words,
};

const NAME: usize = 24;
const VALUE: usize = 12;

/// Quantities as the model has them.
pub fn series(runs: &[InRuns], limits: &[EventLimit]) -> CountSeries {
    let event = |InRuns { quantity, values, moments }: &InRuns| SeriesEvent {
        name: quantity.name().into(),
        unit: quantity.unit().into(),
        basis: basis(*quantity),
        values: values.iter().copied().map(Real).collect(),
        mean: Real(moments.mean),
        deviation: Real(moments.deviation()),
    };
    let judged = |limit: &EventLimit| {
        let values =
            runs.iter().find(|run| run.quantity == limit.quantity).map_or(&[][..], |run| &run.values);
        gate::condition(limit, limit.of_values(values))
    };
    CountSeries { events: runs.iter().map(event).collect(), conditions: limits.iter().map(judged).collect() }
}

/// `Time 12.1 ms (±2.1%), instructions 412 M (<0.1%) and loads 98.1 M (<0.1%) in 7 runs.`
pub fn verdict(series: &CountSeries) -> String {
    let told = |name: &&str| {
        let event = series.events.iter().find(|event| event.name == **name)?;
        Some(format!("{} {}{}", label(name), amount(event.mean.0, &event.unit), spread(event)))
    };
    let mut items: Vec<String> =
        ["time", "instructions", "loads", "stores"].iter().filter_map(told).collect();
    if items.is_empty() {
        // Others were asked for.
        let first = series.events.iter().map(|event| event.name.as_str()).take(4);
        items = first.filter_map(|name| told(&name)).collect();
    }
    if items.is_empty() {
        return "Nothing was counted.".into();
    }
    let runs = series.events.iter().map(|event| event.values.len()).max().unwrap_or_default();
    capitalised(&format!("{} in {}.", words::sentence_list(&items), words::count(runs, "run")))
}

/// ` (±2.1%)`: the standard deviation as a part of the mean.
fn spread(event: &SeriesEvent) -> String {
    if event.deviation.0 == 0.0 || event.mean.0 == 0.0 {
        return String::new();
    }
    format!(" ({})", relative(event))
}

/// `±2.1%`, `<0.1%`
fn relative(event: &SeriesEvent) -> String {
    let percent = words::percent(event.deviation.0 / event.mean.0);
    if percent.starts_with('<') { percent } else { format!("±{percent}") }
}

/// The limits that are broken, and those that could not be judged, in a sentence each.
pub fn judged(series: &CountSeries) -> [Vec<String>; 2] {
    let unit = |name: &str| Quantity::from_name(name).map_or("", Quantity::unit);
    let failed = series.conditions.iter().filter_map(|each| gate::failure(each, unit(&each.event)));
    [failed.collect(), series.conditions.iter().filter_map(gate::unknown).collect()]
}

/// The table. Quantities that are 0 in every run are named in one line.
pub fn print(page: &mut Page, series: &CountSeries, verbose: bool) {
    page.heading(&format!("Runs {}", legend(series.events.iter().map(|event| event.basis))));
    page.plain("  ").cell(Style::Dim, "", NAME);
    for head in ["mean", "deviation", "least", "most"] {
        page.put(Style::Dim, &format!("{head:>VALUE$}"));
    }
    page.end();
    let zero = |event: &&SeriesEvent| event.values.iter().all(|value| value.0 == 0.0);
    let (folded, told): (Vec<_>, Vec<_>) = series.events.iter().partition(|event| !verbose && zero(event));
    for event in told {
        row(page, event);
    }
    if !folded.is_empty() {
        let names: Vec<String> = folded.iter().map(|event| label(&event.name)).collect();
        page.indented(Style::Dim, 2, "", &format!("0 in all runs: {}", words::sentence_list(&names)));
    }
    let [failed, unknown] = judged(series);
    for (lead, text) in
        failed.iter().map(|text| ("failed: ", text)).chain(unknown.iter().map(|text| ("", text)))
    {
        page.indented(Style::Orange, 2, lead, text);
    }
}

fn row(page: &mut Page, event: &SeriesEvent) {
    page.plain("  ").cell(Style::Cyan, &marked(&event.name, event.basis), NAME - 1).plain(" ");
    page.put(Style::Bold, &format!("{:>VALUE$}", amount(event.mean.0, &event.unit)));
    let values = || event.values.iter().map(|value| value.0);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    if least == most {
        let spread = if event.values.len() == 1 { "one run" } else { "constant" };
        page.put(Style::Dim, &format!("{spread:>VALUE$}")).end();
        return;
    }
    page.plain(&format!("{:>VALUE$}", relative(event)));
    for value in [least, most] {
        page.plain(&format!("{:>VALUE$}", amount(value, &event.unit)));
    }
    page.end();
}
