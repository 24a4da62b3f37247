//! A report says the same as JSON, as text and as page, and adds up.
//!
//! The JSON is read as data; the text line by line; the page in headless Chromium, by a script that opens all of it. Each
//! number that is shown must be the JSON's, rounded.

mod browser;
mod expected;
mod measured;
mod random;
mod recorded;
#[path = "../../../view/tests/sample/mod.rs"]
mod sample;
mod shown;
#[allow(dead_code)] // Only programs and how they are run.
#[path = "../robust/support.rs"]
mod support;
mod terminal;

use std::collections::BTreeMap;

use carom_view::{model::Report, text, web};
use expected::{Expectations, Expected};
use serde_json::Value;

/// One report in all its forms.
struct Forms {
    name: String,
    json: Value,
    text: String,
    verbose: String,
    page: String,
}

impl Forms {
    fn of(name: &str, report: &Report) -> Self {
        let text = |verbose| {
            let options = text::Options {
                width: terminal::WIDE,
                lines: 1000,
                per_thread: true,
                verbose,
                ..text::Options::default()
            };
            text::render(report, &options)
        };
        Self {
            name: name.to_owned(),
            json: serde_json::from_str(&carom_view::json(report).expect("JSON")).expect("JSON"),
            text: text(false),
            verbose: text(true),
            page: web::html(report).expect("a page"),
        }
    }

    /// Where the texts contradict the JSON.
    fn contradictions_of_text(&self) -> Vec<String> {
        let json = Expectations::of(&self.json);
        let mut found = Vec::new();
        for (form, text, verbose) in [("text", &self.text, false), ("text -v", &self.verbose, true)] {
            let claims = terminal::read(text, verbose);
            found.extend(contradictions(&format!("{} as {form}", self.name), &json, &claims));
        }
        found
    }
}

/// Each claim that the JSON contradicts, or knows nothing of.
fn contradictions(form: &str, json: &Expectations, claims: &[(String, String)]) -> Vec<String> {
    let wrong = claims.iter().filter_map(|(what, shown)| {
        let known = json.0.get(what);
        let right = match known {
            Some(Expected::Number(number)) => shown::number(shown).is_some_and(|shown| shown.is(*number)),
            Some(Expected::Numbers(numbers)) => {
                let shown = shown::numbers(shown);
                shown.len() == numbers.len()
                    && shown.iter().zip(numbers).all(|(shown, number)| shown.is(*number))
            }
            Some(Expected::Words(words)) => shown == words || (words == "-" && shown == "–"),
            // What only some of the forms say of how it was measured.
            None if what.starts_with("row ") => true,
            None => of_class(json, what, shown),
        };
        (!right).then(|| format!("{form}: {what} is shown as {shown:?}, the JSON has {known:?}"))
    });
    wrong.collect()
}

/// What a finding is called: with its part of false sharing, or its number of events, where that is said.
fn of_class(json: &Expectations, what: &str, shown: &str) -> bool {
    let Some(finding) = what.strip_suffix(" class") else { return false };
    let number = |of: &str| match json.0.get(&format!("{finding} {of}")) {
        Some(Expected::Number(number)) => *number,
        _ => f64::NAN,
    };
    let part = shown.split_once("% false sharing").and_then(|(part, _)| shown::number(&format!("{part}%")));
    let events = shown.split_once(", ").and_then(|(_, events)| shown::number(events));
    part.is_none_or(|part| part.is(number("false part")))
        && events.is_none_or(|events| events.is(number("events")))
        && (!shown.starts_with("false sharing") || number("false part") == 1.0)
        && (!shown.starts_with("true sharing") || number("false part") == 0.0)
}

/// Asserts that pages say what the JSON of their reports says, and, by number of kinds of claims, that they were read.
fn pages_agree(forms: &[Forms]) {
    let pages: Vec<(String, String)> =
        forms.iter().map(|each| (each.name.clone(), each.page.clone())).collect();
    let Some(read) = browser::read(&pages, &[1400], false) else { return };
    let by_name: BTreeMap<&str, &Forms> = forms.iter().map(|each| (each.name.as_str(), each)).collect();
    let mut wrong = Vec::new();
    for page in read {
        let name = page.name.trim_end_matches(" 1400");
        let json = Expectations::of(&by_name[name].json);
        let known = |(what, _): &&(String, String)| json.0.contains_key(what) || what.ends_with(" class");
        let claims: Vec<_> = page.claims.iter().filter(known).cloned().collect();
        assert!(!claims.is_empty(), "{name}: {:?} was read; {:?}", page.claims, page.problems);
        wrong.extend(contradictions(&format!("{name} as page"), &json, &claims));
        wrong.extend(page.problems.into_iter().map(|problem| format!("{name}: {problem}")));
    }
    none(&wrong);
}

#[track_caller]
fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} contradictions\n{}", wrong.len(), wrong[..wrong.len().min(30)].join("\n"));
}
