//! Findings in SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format), in which code hosts and editors take them to show
//! them at a line of source.

mod model;
mod place;

use std::collections::BTreeMap;
use std::path::Path;

use crate::{
    diff,
    issue::{Issue, Rule},
    model::Report,
    words,
};
use model::{Described, Driver, Invocation, Level, Location, Log, Message, Notification, Outcome, Run, Tool};

/// From this share of the accesses or of the time on, a finding is a warning.
const TELLING: f64 = 0.05;

/// The findings of a report, with a newline at the end. Files below `root` are relative to it.
///
/// # Errors
/// None in practice: the model has string keys only and no fallible serialiser.
pub fn sarif(report: &Report, root: &Path) -> Result<String, serde_json::Error> {
    let sections = report.sections();
    log(sections.iter().flat_map(|section| section.issues()).collect(), root)
}

/// The new findings of a comparison.
///
/// # Errors
/// As [`sarif`].
pub fn new_findings(compared: &diff::model::Diff, root: &Path) -> Result<String, serde_json::Error> {
    log(diff::issues(compared), root)
}

fn log(issues: Vec<Issue<'_>>, root: &Path) -> Result<String, serde_json::Error> {
    let (placed, elsewhere): (Vec<_>, Vec<_>) = issues.into_iter().partition(|issue| !issue.sites.is_empty());
    let run = Run {
        tool: Tool {
            driver: Driver {
                name: "carom",
                version: env!("CARGO_PKG_VERSION"),
                information_uri: env!("CARGO_PKG_REPOSITORY"),
                rules: Rule::ALL.map(described).into(),
            },
        },
        invocations: [Invocation {
            execution_successful: true,
            tool_execution_notifications: unplaced(elsewhere.len()).into_iter().collect(),
        }],
        original_uri_base_ids: BTreeMap::from([(place::ROOT, place::base(root))]),
        results: placed.iter().map(|issue| outcome(issue, root)).collect(),
    };
    crate::json::indented(&Log { schema: model::SCHEMA, version: "2.1.0", runs: [run] })
}

fn described(rule: Rule) -> Described {
    let [name, short, full] = rule.words();
    let text = |text: &str| Message { text: text.to_owned() };
    let page = if rule == Rule::CacheMisses { "reuse" } else { "sharing" };
    Described {
        id: rule.id(),
        name,
        short_description: text(short),
        full_description: text(full),
        help_uri: format!("{}/blob/main/docs/{page}.md", env!("CARGO_PKG_REPOSITORY")),
    }
}

/// What a reader should know of the findings that no line of source can show.
fn unplaced(findings: usize) -> Option<Notification> {
    let text = format!(
        "{} no place in the source: compile the program with -g to see them here.",
        match findings {
            0 => return None,
            1 => "1 finding has".to_owned(),
            many => format!("{} have", words::count(many, "finding")),
        }
    );
    Some(Notification { level: Level::Note, message: Message { text } })
}

fn outcome(issue: &Issue<'_>, root: &Path) -> Outcome {
    let sites = issue.sites.iter();
    let mut related: Vec<Location> =
        sites.clone().skip(1).filter_map(|frame| place::location(frame, root, "and here")).collect();
    related.extend(issue.declared.and_then(|frame| place::location(frame, root, "the data")));
    Outcome {
        rule_id: issue.rule.id(),
        rule_index: Rule::ALL.iter().position(|rule| *rule == issue.rule).unwrap_or(0),
        level: if issue.share >= TELLING { Level::Warning } else { Level::Note },
        rank: (issue.share * 100.0).clamp(0.0, 100.0).into(),
        message: Message { text: issue.text.clone() },
        locations: sites.take(1).filter_map(|frame| place::location(frame, root, "")).collect(),
        related_locations: related,
        partial_fingerprints: BTreeMap::from([(
            "caromFinding/v1",
            format!("{} {}", issue.rule.id(), issue.name),
        )]),
    }
}

#[cfg(test)]
mod tests;
