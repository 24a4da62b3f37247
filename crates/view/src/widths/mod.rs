//! From the findings of `carom widths` to its report: the example of `docs/adding-a-study.md`.

pub(crate) mod model;
#[cfg(test)]
mod tests;

use carom_study::widths::WidthsFindings;

use crate::{
    RunInfo,
    csv::Table,
    model::{AccessWidth, AccessWidths, Command, Quality, Real, Report},
    recording,
    section::{Row, Section},
    text::{
        Options,
        page::{Page, Style},
    },
    words::{self, ThreadNames},
};

/// Columns of a width's name in the text.
const NAME: usize = 10;

/// The report of one recording, or of several as one.
pub fn report(run: &RunInfo, findings: &WidthsFindings) -> Report {
    let samples: u64 = findings.samples.values().sum();
    let quality = Quality { samples, step: samples, ..recording::quality(run, &findings.losses) };
    let mut report = Report::new(Command::Widths, run, quality);
    let widths = AccessWidths {
        samples,
        by_width: findings
            .samples
            .iter()
            .map(|(&bytes, &number)| AccessWidth {
                bytes,
                samples: number,
                share: Real(number as f64 / samples as f64),
            })
            .collect(),
    };
    report.verdict = verdict(&report, &widths);
    report.widths = Some(widths);
    report
}

/// `75% of the 40,000 sampled accesses are 8 bytes wide, more than of any other width.`
fn verdict(report: &Report, widths: &AccessWidths) -> String {
    let most = widths.by_width.iter().max_by_key(|width| width.samples);
    match most {
        Some(most) => format!(
            "{} of the {} sampled accesses are {} wide, more than of any other width.",
            words::percent(most.share.0),
            words::thousands(widths.samples),
            words::count(most.bytes as usize, "byte"),
        ),
        None if report.processes.iter().all(|each| !each.coverage.profiled) => recording::unprofiled(report),
        None => "No access was sampled: the program made too few for this period.".into(),
    }
}

impl Section for AccessWidths {
    fn print(&self, page: &mut Page, _: &Report, _: &ThreadNames, _: &Options) {
        page.heading("Accesses by width");
        for width in &self.by_width {
            page.cell(Style::Plain, &words::count(width.bytes as usize, "byte"), NAME);
            page.put(Style::Bold, &words::percent(width.share.0)).end();
        }
    }

    fn measured(&self, report: &Report) -> Vec<Row> {
        let dropped = words::count(report.quality.dropped as usize, "record");
        vec![("samples", format!("{} accesses; {dropped} dropped", words::thousands(self.samples)))]
    }

    fn in_brief(&self, _: &Report) -> Vec<String> {
        vec![words::count(self.samples as usize, "sample")]
    }

    fn tables(&self, _: &Report, _: &ThreadNames) -> Vec<Row> {
        let mut table = Table::default();
        table.header(&["bytes", "samples", "share"]);
        for width in &self.by_width {
            table.whole(Some(width.bytes)).whole(Some(width.samples)).number(width.share).end();
        }
        vec![("widths.csv", table.text)]
    }

    fn scripts(&self) -> &'static [&'static str] {
        &[include_str!("page.js")]
    }
}
