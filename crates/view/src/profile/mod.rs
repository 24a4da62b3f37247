//! From the reports of several questions on one run to one report: what limits the program's use of memory, ranked.

pub(crate) mod model;
mod rank;

use carom_study::recording::Losses;

use crate::{
    RunInfo, count,
    model::{Command, Finding, Findings, Report},
    recording,
    section::{Row, Section},
    text::{
        Options,
        page::{Page, Style},
    },
    words::{self, ThreadNames},
};

/// One report with the answers of `parts`, the reports of single questions on the same run. The first says how well it was
/// observed; the others add their warnings.
pub fn report(run: &RunInfo, mut parts: Vec<Report>) -> Report {
    for part in &mut parts {
        part.verdict = count::end_of_verdict(part).to_owned();
    }
    let quality = match parts.first() {
        Some(first) => first.quality.clone(),
        None => recording::quality(run, &Losses::default()),
    };
    let mut whole = Report::new(Command::Profile, run, quality);
    for part in parts.iter().skip(1) {
        for warning in &part.quality.warnings {
            if !whole.quality.warnings.contains(warning) {
                whole.quality.warnings.push(warning.clone());
            }
        }
    }
    let found = |part: &Report| -> Vec<Finding> {
        part.sections().into_iter().filter_map(|section| section.finding(part)).collect()
    };
    let mut findings: Vec<Finding> = parts.iter().flat_map(found).collect();
    rank::rank(&mut findings);
    whole.verdict = rank::verdict(&findings, &parts);
    whole.findings = (!findings.is_empty()).then_some(Findings(findings));
    parts.into_iter().for_each(|part| whole.adopt(part));
    count::begin_with_what_is_missing(&mut whole);
    whole
}

impl Section for Findings {
    fn print(&self, page: &mut Page, _: &Report, _: &ThreadNames, _: &Options) {
        // The verdict is the first finding, or, where none matters, all of them.
        let Some((_, others)) =
            self.0.split_first().filter(|(first, others)| first.matters && !others.is_empty())
        else {
            return;
        };
        page.heading("Besides, by the share of accesses that it concerns");
        for finding in others {
            let share =
                finding.share_of_accesses.map_or("unknown".to_owned(), |share| words::percent(share.0));
            page.indented(Style::Plain, 0, &format!("{share}  {}: ", finding.kind), &finding.text);
            if let Some(remedy) = &finding.remedy {
                page.indented(Style::Plain, 4, "", remedy);
            }
        }
    }

    fn measured(&self, _: &Report) -> Vec<Row> {
        Vec::new()
    }

    fn in_brief(&self, _: &Report) -> Vec<String> {
        Vec::new()
    }

    fn tables(&self, _: &Report, _: &ThreadNames) -> Vec<Row> {
        Vec::new()
    }

    fn scripts(&self) -> &'static [&'static str] {
        &[include_str!("page.js")]
    }
}
