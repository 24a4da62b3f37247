//! The kernel's counters by phase.

use carom_study::phases;

use super::{POINTS, duration};
use crate::{
    csv::Table,
    model::{CounterPoint, Phase, PhaseCount, PhaseCounter, Phases, Real},
    text::page::{self, Page, Style},
    words,
};

/// Columns of a counter: its count, and that of a second.
const COUNT: usize = 10;
const RATE: usize = 14;

/// A phase with at least this part of what was counted is worth a sentence.
const MOST: f64 = 0.5;

/// As the model has them.
pub fn counters(found: &[phases::Counter], phases: &[Phase]) -> Vec<PhaseCounter> {
    found.iter().map(|counter| one(counter, phases)).collect()
}

fn one(counter: &phases::Counter, phases: &[Phase]) -> PhaseCounter {
    let (unit, counts) = counter.unit();
    let value = |count: u64| Real(count as f64 / counts);
    let of_phase = |(count, phase): (&u64, &Phase)| PhaseCount {
        total: value(*count),
        per_second: Real(*count as f64 / counts / (phase.end_s.0 - phase.start_s.0)),
    };
    let step = counter.trace.len().div_ceil(POINTS).max(1);
    // From the end on, so that the last moment is there.
    let mut trace: Vec<CounterPoint> = counter
        .trace
        .iter()
        .rev()
        .step_by(step)
        .map(|&(at_s, count)| CounterPoint { at_s: Real(at_s), count: value(count) })
        .collect();
    trace.reverse();
    PhaseCounter {
        name: counter.name.clone(),
        unit: unit.into(),
        total: value(counter.trace.last().map_or(0, |(_, count)| *count)),
        by_phase: counter.by_phase.iter().zip(phases).map(of_phase).collect(),
        trace,
    }
}

/// `Phase 2 has 98% of the page faults and 60% of the context switches.`, for counters of which one of several phases has most.
pub fn told(phases: &Phases) -> String {
    if phases.phases.len() < 2 {
        return String::new();
    }
    let share = |counter: &PhaseCounter, phase: usize| {
        let share = counter.by_phase.get(phase)?.total.0 / counter.total.0;
        (share >= MOST).then(|| format!("{} of the {}", words::percent(share), name(counter)))
    };
    let of_phase = |phase: usize| {
        let most: Vec<String> = phases.counters.iter().filter_map(|counter| share(counter, phase)).collect();
        (!most.is_empty()).then(|| format!(" Phase {} has {}.", phase + 1, words::sentence_list(&most)))
    };
    (0..phases.phases.len()).filter_map(of_phase).collect()
}

/// `page-faults` as `page faults`; tracepoints as they are.
fn name(counter: &PhaseCounter) -> String {
    if counter.name.contains(':') { counter.name.clone() } else { counter.name.replace('-', " ") }
}

/// A row for each phase; with as many counters as fit.
pub fn print(page: &mut Page, phases: &Phases) {
    let room = (page.width().saturating_sub(4) / (COUNT + RATE)).max(1);
    let shown = phases.counters.get(..room).unwrap_or(&phases.counters);
    if shown.is_empty() {
        return;
    }
    page.heading("What the kernel counted in them, in all and in each second");
    page.cell(Style::Dim, "", 4);
    for counter in shown {
        page.put(
            Style::Dim,
            &format!("{:>width$}", page::fit(&name(counter), COUNT + RATE - 2), width = COUNT + RATE),
        );
    }
    page.end();
    for index in 0..phases.phases.len() {
        page.cell(Style::Bold, &(index + 1).to_string(), 4);
        for counter in shown {
            let Some(count) = counter.by_phase.get(index) else { continue };
            let (total, rate) =
                (value(counter, count.total), format!("{}/s", value(counter, count.per_second)));
            page.plain(&format!("{total:>COUNT$}{rate:>RATE$}"));
        }
        page.end();
    }
    let more: Vec<String> = phases.counters.iter().skip(room).map(name).collect();
    if !more.is_empty() {
        page.indented(Style::Dim, 2, "", &format!("and in the files: {}", words::sentence_list(&more)));
    }
}

fn value(counter: &PhaseCounter, value: Real) -> String {
    match counter.unit.as_str() {
        _ if !value.0.is_finite() => "?".into(),
        "s" => duration(value.0),
        _ if value.0 < 10.0 && value.0.fract() != 0.0 => format!("{:.2}", value.0),
        _ => words::measure(value.0.round() as u64),
    }
}

/// One row per counter and phase.
pub fn table(phases: &Phases) -> String {
    let mut table = Table::default();
    table.header(&["event", "unit", "phase", "total", "per_second"]);
    for counter in &phases.counters {
        for (number, count) in (1..).zip(&counter.by_phase) {
            table.name(&counter.name).name(&counter.unit).whole(Some(number));
            table.number(count.total).number(count.per_second).end();
        }
    }
    table.text
}
