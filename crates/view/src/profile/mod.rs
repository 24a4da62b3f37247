//! From the reports of several questions on one run to one report: what limits the program's use of memory, ranked.

pub(crate) mod model;
mod rank;

use carom_study::{count::CountFindings, recording::Losses};

use crate::{
    RunInfo, count,
    model::{Command, Findings, Report},
    recording,
    section::{Row, Section},
    text::{
        Options,
        page::{Page, Style},
    },
    words::{self, ThreadNames},
};

/// One report with the findings of each question that was asked.
pub fn report(
    run: &RunInfo,
    share: Option<Report>,
    reuse: Option<Report>,
    counts: Option<&CountFindings>,
) -> Report {
    let reports = || [&share, &reuse].into_iter().flatten();
    let findings = rank::findings(share.as_ref(), reuse.as_ref());
    let quality = match reports().next() {
        Some(report) => report.quality.clone(),
        None => recording::quality(run, &Losses::default()),
    };
    let mut whole = Report::new(Command::Profile, run, quality);
    for report in reports().skip(1) {
        for warning in &report.quality.warnings {
            if !whole.quality.warnings.iter().any(|known| known.code == warning.code) {
                whole.quality.warnings.push(warning.clone());
            }
        }
    }
    whole.share = share.and_then(|report| report.share);
    whole.reuse = reuse.and_then(|report| report.reuse);
    if let Some(counts) = counts {
        count::add(&mut whole, counts);
    }
    whole.verdict = rank::verdict(&findings, &whole);
    whole.findings = (!findings.is_empty()).then_some(Findings(findings));
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

    fn tables(&self, _: &Report, _: &ThreadNames) -> Vec<Row> {
        Vec::new()
    }

    fn scripts(&self) -> &'static [&'static str] {
        &[include_str!("page.js")]
    }
}
