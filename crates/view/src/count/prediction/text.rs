//! The prediction in words, and its tables for a terminal.

use super::model::{CountPrediction, PredictedIndicator};
use crate::{
    diff::count::words::{amount, label, legend, marked},
    text::page::{Page, Style},
    words,
};

const NAME: usize = 20;
const VALUE: usize = 11;
const INTERVAL: usize = 22;
const LAW: usize = 37;

/// ``At `n` = 8000000, 8 times the largest size that ran, it takes 1.31 s (95% of runs: 1.21 s to 1.44 s), of which instructions
/// explain 92%.``
pub fn verdict(found: &CountPrediction) -> String {
    let largest = found.sizes.last().map_or(f64::NAN, |size| size.0);
    let times = found.at.0 / largest;
    let beyond = match times {
        inside if inside <= 1.0 => "which is within the sizes that ran,".to_owned(),
        times => format!("{} times the largest size that ran,", number(times)),
    };
    let at = format!("At `{}` = {}, {beyond}", found.parameter, found.at.0);
    let doubts: Vec<&str> = found.doubts.iter().map(|doubt| doubt.text.as_str()).collect();
    let doubts = if doubts.is_empty() { String::new() } else { format!(" But {}.", doubts.join("; ")) };
    let Some(time) = found.time_s else {
        return format!(
            "{at} no run time can be told: that of the larger sizes does not follow from the smaller ones. Larger sizes \
             or more runs (-r) may tell.{}",
            doubts.replacen(" But ", " Also, ", 1)
        );
    };
    let parts: Vec<String> = used(found).map(part).collect();
    let explained =
        if parts.is_empty() { String::new() } else { format!(": {}", words::sentence_list(&parts)) };
    format!(
        "{at} it takes {} (95% of runs: {} to {}){explained}.{doubts}",
        amount(time.estimate.0, "s"),
        amount(time.low.0, "s"),
        amount(time.high.0, "s"),
    )
}

fn used(found: &CountPrediction) -> impl Iterator<Item = &PredictedIndicator> {
    found.indicators.iter().filter(|each| each.cost_s.is_some())
}

/// `92% for 3.2 G instructions`
fn part(each: &PredictedIndicator) -> String {
    let part = each.part_of_time.map_or(f64::NAN, |part| part.0);
    let many = amount(each.there.estimate.0, &each.unit);
    let of = if each.unit == "bytes" {
        format!("{many} of {}", label(&each.name))
    } else {
        format!("{many} {}", label(&each.name))
    };
    format!("{} for {of}", words::percent(part))
}

/// `8`, `2.5`
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What it is made of, how well larger sizes were predicted, and what was left out.
pub fn print(page: &mut Page, found: &CountPrediction) {
    let fixed: Vec<String> =
        found.fixed.iter().map(|each| format!(", {} = {}", each.name, each.value.0)).collect();
    page.heading(&format!(
        "At {} = {}{} {}",
        found.parameter,
        found.at.0,
        fixed.concat(),
        legend(found.indicators.iter().map(|each| each.basis))
    ));
    page.plain("  ").cell(Style::Dim, "", NAME).cell(Style::Dim, "value", VALUE);
    page.cell(Style::Dim, "95% interval", INTERVAL)
        .cell(Style::Dim, "law", LAW)
        .put(Style::Dim, "cost of one")
        .end();
    for each in found.indicators.iter().filter(|each| each.like.is_none()) {
        row(page, each);
    }
    page.plain("  ").cell(Style::Dim, "always", NAME + VALUE + INTERVAL + LAW);
    page.plain(&amount(found.constant_s.0, "s")).end();
    notes(page, found);
    if !found.held_out.is_empty() {
        held_out(page, found);
    }
}

fn row(page: &mut Page, each: &PredictedIndicator) {
    let value = |value: f64| amount(value, &each.unit);
    page.plain("  ").cell(Style::Cyan, &marked(&each.name, each.basis), NAME);
    page.cell(Style::Bold, &value(each.there.estimate.0), VALUE);
    page.cell(
        Style::Plain,
        &format!("{} to {}", value(each.there.low.0), value(each.there.high.0)),
        INTERVAL,
    );
    page.cell(Style::Plain, &each.formula, LAW - 1).plain(" ");
    match each.cost_s {
        Some(cost) => page.put(Style::Bold, &small_time(cost.0)).end(),
        None => page.put(Style::Dim, "-").end(),
    };
}

/// `0.41 ns`, `212 ns`
fn small_time(seconds: f64) -> String {
    if seconds < 1e-8 { format!("{:.3} ns", seconds * 1e9) } else { amount(seconds, "s") }
}

/// What tells nothing that another does not.
fn notes(page: &mut Page, found: &CountPrediction) {
    let list = |names: Vec<&str>| words::sentence_list(&names.into_iter().map(label).collect::<Vec<_>>());
    let mut note = |lead: &str, names: Vec<&str>| {
        if !names.is_empty() {
            page.indented(Style::Dim, 2, "", &format!("{lead}{}", list(names)));
        }
    };
    for each in &found.indicators {
        let alike: Vec<&str> = found
            .indicators
            .iter()
            .filter(|other| other.like.as_ref() == Some(&each.name))
            .map(|other| other.name.as_str())
            .collect();
        note(&format!("tell the same as {}: ", label(&each.name)), alike);
    }
    note("0 in all runs: ", found.zero.iter().map(String::as_str).collect());
    note(
        "constant, 0 at some sizes, or not known at all of them: ",
        found.left_out.iter().map(String::as_str).collect(),
    );
    let parts: Vec<String> = found
        .principal_components
        .iter()
        .take_while(|part| part.0 >= 0.001)
        .map(|part| words::percent(part.0))
        .collect();
    if !parts.is_empty() {
        let text = format!("principal components of all that vary: {}", parts.join(", "));
        page.indented(Style::Dim, 2, "", &text);
    }
    if let Some(direct) = found.direct_s {
        let text =
            format!("the growth of the run time alone, without indicators, tells {}", amount(direct.0, "s"));
        page.indented(Style::Dim, 2, "", &text);
    }
}

/// The same two steps from the smaller sizes alone.
fn held_out(page: &mut Page, found: &CountPrediction) {
    page.heading("The larger sizes, predicted from the smaller ones");
    page.plain("  ").cell(Style::Dim, "known up to", NAME).cell(Style::Dim, &found.parameter, VALUE);
    page.cell(Style::Dim, "predicted", VALUE)
        .cell(Style::Dim, "measured", VALUE)
        .put(Style::Dim, "off by")
        .end();
    for each in &found.held_out {
        page.plain("  ").cell(Style::Plain, &each.known_to.0.to_string(), NAME);
        page.cell(Style::Plain, &each.size.0.to_string(), VALUE);
        page.cell(Style::Plain, &amount(each.predicted_s.0, "s"), VALUE);
        page.cell(Style::Plain, &amount(each.measured_s.0, "s"), VALUE);
        page.plain(&format!("{:+.1}%", (each.predicted_s.0 / each.measured_s.0 - 1.0) * 100.0)).end();
    }
}
