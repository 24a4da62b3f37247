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

/// An event that had a counter for this part of the time had one all the time.
const WHOLE: f64 = 0.995;

/// Quantities as the model has them.
pub fn series(runs: &[InRuns], limits: &[EventLimit]) -> CountSeries {
    let event = |InRuns { quantity, values, moments, time_share }: &InRuns| SeriesEvent {
        name: quantity.name().into(),
        unit: quantity.unit().into(),
        basis: basis(*quantity),
        values: values.iter().copied().map(Real).collect(),
        mean: Real(moments.mean),
        deviation: Real(moments.deviation()),
        time_share: time_share.map(Real),
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

/// The table. Quantities that are 0 in every run are named in one line, and those of one value in another.
pub fn print(page: &mut Page, series: &CountSeries, verbose: bool) {
    page.heading(&format!("Runs {}", legend(series.events.iter().map(|event| event.basis))));
    let [zero, constant, told] = folded(&series.events, verbose);
    let columns = Columns::of(&told);
    page.plain("  ").cell(Style::Dim, "", columns.name);
    for head in ["mean", "deviation", "least", "most"] {
        page.put(Style::Dim, &format!("{head:>VALUE$}"));
    }
    page.put(Style::Dim, &if columns.shares { format!("{:>VALUE$}", "counted") } else { String::new() })
        .end();
    told.iter().for_each(|event| row(page, event, &columns));
    let named = |event: &&SeriesEvent| label(&event.name);
    let valued =
        |event: &&SeriesEvent| format!("{} {}", label(&event.name), amount(event.mean.0, &event.unit));
    line(page, "0 in all runs", zero.iter().map(named).collect());
    line(page, "the same in all runs", constant.iter().map(valued).collect());
    if columns.shares {
        let text = "counted: the part of the time for which an event had a counter; its values are estimates for all of the time";
        page.indented(Style::Dim, 2, "", text);
    }
    let [failed, unknown] = judged(series);
    for (lead, text) in
        failed.iter().map(|text| ("failed: ", text)).chain(unknown.iter().map(|text| ("", text)))
    {
        page.indented(Style::Orange, 2, lead, text);
    }
}

/// Those that are 0, those of one value in several runs, and the others, which alone have a row of their own.
fn folded(events: &[SeriesEvent], verbose: bool) -> [Vec<&SeriesEvent>; 3] {
    let mut parts = [Vec::new(), Vec::new(), Vec::new()];
    let [zero, constant, told] = &mut parts;
    for event in events {
        let first = event.values.first().map_or(0.0, |value| value.0);
        match event.values.iter().all(|value| value.0 == first) {
            true if !verbose && first == 0.0 => zero.push(event),
            true if !verbose && event.values.len() > 1 => constant.push(event),
            _ => told.push(event),
        }
    }
    parts
}

/// `0 in all runs (2): major faults and bytes read`
fn line(page: &mut Page, what: &str, names: Vec<String>) {
    if !names.is_empty() {
        page.indented(
            Style::Dim,
            2,
            "",
            &format!("{what} ({}): {}", names.len(), words::sentence_list(&names)),
        );
    }
}

/// What the table needs for its events.
struct Columns {
    name: usize,
    /// Whether an event had no counter at times.
    shares: bool,
}

impl Columns {
    fn of(events: &[&SeriesEvent]) -> Self {
        /// Longer names are cut.
        const LONGEST: usize = 48;
        let longest = events.iter().map(|event| marked(&event.name, event.basis).chars().count() + 1).max();
        Self {
            name: longest.unwrap_or_default().clamp(NAME, LONGEST),
            shares: events.iter().filter_map(|event| event.time_share).any(|share| share.0 < WHOLE),
        }
    }
}

fn row(page: &mut Page, event: &SeriesEvent, columns: &Columns) {
    page.plain("  ").cell(Style::Cyan, &marked(&event.name, event.basis), columns.name - 1).plain(" ");
    page.put(Style::Bold, &format!("{:>VALUE$}", amount(event.mean.0, &event.unit)));
    let values = || event.values.iter().map(|value| value.0);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    if least == most {
        let spread = if event.values.len() == 1 { "one run" } else { "constant" };
        page.put(Style::Dim, &format!("{spread:>VALUE$}{:2$}{:2$}", "", "", VALUE));
    } else {
        page.plain(&format!("{:>VALUE$}", relative(event)));
        for value in [least, most] {
            page.plain(&format!("{:>VALUE$}", amount(value, &event.unit)));
        }
    }
    if let Some(share) = event.time_share.filter(|_| columns.shares) {
        page.plain(&format!("{:>VALUE$}", words::percent(share.0)));
    }
    page.end();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::model::EventBasis;

    fn event(name: &str, values: &[f64], time_share: Option<f64>) -> SeriesEvent {
        let basis = if name.starts_with("power/") { EventBasis::Machine } else { EventBasis::Native };
        SeriesEvent {
            name: name.into(),
            unit: if basis == EventBasis::Machine { "J" } else { "events" }.into(),
            basis,
            values: values.iter().copied().map(Real).collect(),
            mean: Real(values.iter().sum::<f64>() / values.len() as f64),
            deviation: Real(if values.iter().all(|value| *value == values[0]) { 0.0 } else { 1.0 }),
            time_share: time_share.map(Real),
        }
    }

    fn printed(events: Vec<SeriesEvent>, verbose: bool) -> String {
        let mut page = Page::new(&crate::text::Options::default());
        print(&mut page, &CountSeries { events, conditions: Vec::new() }, verbose);
        page.finish()
    }

    #[test]
    fn zero_and_constant_events_are_folded_away() {
        let events = || {
            vec![
                event("calls", &[812.0, 812.0], None),
                event("major-faults", &[0.0, 0.0], None),
                event("bytes-read", &[0.0], None),
                event("loads", &[9.0, 11.0], None),
                event("once", &[5.0], None),
            ]
        };
        let text = printed(events(), false);
        assert!(text.contains("0 in all runs (2): major faults and bytes read"), "{text}");
        assert!(text.contains("the same in all runs (1): calls 812"), "{text}");
        let rows =
            |text: &str| text.lines().filter(|line| line.contains("one run") || line.contains("±")).count();
        assert_eq!(rows(&text), 2, "{text}");
        let all = printed(events(), true);
        assert!(!all.contains("in all runs") && all.contains("constant"), "{all}");
    }

    #[test]
    fn events_that_took_turns_say_for_how_long_they_were_counted() {
        let whole = printed(vec![event("cpu/a/", &[9.0, 11.0], Some(1.0))], false);
        assert!(!whole.contains("counted:"), "{whole}");
        let text = printed(
            vec![
                event("cpu/a/", &[9.0, 11.0], Some(0.33)),
                event("power/energy-pkg/", &[1.0, 2.0], Some(1.0)),
            ],
            false,
        );
        assert!(text.contains("m: of the whole machine") && text.contains("power/energy-pkg/ m"), "{text}");
        let row = text.lines().find(|line| line.contains("cpu/a/")).unwrap();
        assert!(row.ends_with(" 33%"), "{text}");
        assert!(text.contains("counted: the part of the time"), "{text}");
    }
}
