//! Counts before and after in a few sentences: what changed most first.

use super::{
    model::{CountDiff, EventDiff, EventOutcome},
    words::{amount, change, label, mean, probability},
};
use crate::words;

/// Changes below this part of what was before are named only where there is none above.
const NOTABLE: f64 = 0.01;

/// Intervals that are wider than this part of what was before say little.
const TELLING: f64 = 0.5;

/// More changes than these are counted.
const NAMED: usize = 4;

/// What a reader asks for first, changed or not.
const KEY: [&str; 4] = ["time", "instructions", "loads", "stores"];

/// `time 4.6 times, instructions 7.2 times and loads 5.1 times (p ≤ 0.008). Stores did not change measurably.`
pub fn sentences(diff: &CountDiff) -> Vec<String> {
    let untested: Vec<&EventDiff> =
        diff.events.iter().filter(|event| event.outcome == EventOutcome::Untested).collect();
    if !untested.is_empty() {
        return one_run(&untested);
    }
    let mut changed: Vec<&EventDiff> = diff.events.iter().filter(|event| event.outcome.is_change()).collect();
    if changed.is_empty() {
        return vec![nothing(diff)];
    }
    changed.sort_by_key(|event| rank(event));
    let (notable, small): (Vec<_>, Vec<_>) =
        changed.iter().partition(|event| event.relative_change.is_none_or(|by| by.0.abs() >= NOTABLE));
    let told = if notable.is_empty() { &small } else { &notable };
    let mut text = listed(told);
    let worst = told.iter().take(NAMED).filter_map(|event| event.p_adjusted).map(|p| p.0).fold(0.0, f64::max);
    text.push_str(&format!(" (p {})", at_most(worst)));
    let mut sentences = vec![format!("{text}.")];
    sentences.extend(unchanged(diff));
    if !notable.is_empty() && !small.is_empty() {
        sentences.push(format!("{} by less than 1%.", counted(small.len(), "changes", "change")));
    }
    sentences
}

/// How long it takes and how much it executes come first, then the largest changes, last what follows from others.
fn rank(event: &EventDiff) -> u32 {
    match event.name.as_str() {
        "time" => 0,
        "instructions" => 1,
        "user-time" | "system-time" | "voluntary-switches" | "involuntary-switches" => 3,
        _ => 2,
    }
}

/// `< 0.001`, `≤ 0.03`
fn at_most(p: f64) -> String {
    let text = probability(p);
    text.strip_prefix('<').map_or_else(|| format!("≤ {text}"), |limit| format!("< {limit}"))
}

fn counted(number: usize, one: &str, several: &str) -> String {
    format!("{} {}", words::count(number, "other event"), if number == 1 { one } else { several })
}

/// `time 4.6 times, loads +12% and 3 more`
fn listed(events: &[&EventDiff]) -> String {
    let mut items: Vec<String> = events.iter().take(NAMED).map(|event| told(event)).collect();
    if events.len() > NAMED {
        items.push(format!("{} more", events.len() - NAMED));
    }
    words::sentence_list(&items)
}

/// `instructions 3.1 times`, `major faults 12 instead of 0`
fn told(event: &EventDiff) -> String {
    let name = label(&event.name);
    match event.relative_change {
        Some(by) => format!("{name} {}", change(by.0)),
        None => {
            let after = mean(&event.after).map(|value| amount(value, &event.unit)).unwrap_or_default();
            format!("{name} {after} instead of 0")
        }
    }
}

/// `Instructions and loads did not change measurably.`
fn unchanged(diff: &CountDiff) -> Option<String> {
    let steady = |event: &&EventDiff| {
        KEY.contains(&event.name.as_str())
            && matches!(event.outcome, EventOutcome::Steady | EventOutcome::Constant)
    };
    let names: Vec<String> = diff.events.iter().filter(steady).map(|event| label(&event.name)).collect();
    (!names.is_empty()).then(|| format!("{} did not change measurably.", words::sentence_list(&names)))
}

/// `No event changed measurably; a change of time by 3% or more would have shown.`
fn nothing(diff: &CountDiff) -> String {
    let shown = KEY.iter().find_map(|name| {
        let event = diff.events.iter().find(|event| event.name == *name)?;
        let widest = event.low?.0.abs().max(event.high?.0.abs());
        (widest > 0.0 && widest < TELLING)
            .then(|| format!("; the change of {} lies within ±{}", label(name), words::percent(widest)))
    });
    format!("No event changed measurably{}.", shown.unwrap_or_default())
}

fn one_run(untested: &[&EventDiff]) -> Vec<String> {
    let mut sorted = untested.to_vec();
    sorted.sort_by_key(|event| rank(event));
    vec![
        format!("{}.", listed(&sorted)),
        "One run on a side does not tell how much runs differ: count several with `carom count -r 7`.".into(),
    ]
}
