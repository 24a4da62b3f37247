//! From the findings of `carom share` to its report.

mod communication;
mod csv;
mod finding;
mod issues;
mod lines;
pub(crate) mod model;
mod page;
mod remedy;
mod same_code;
mod text;
mod verdict;
mod warnings;
mod withhold;

pub(crate) use issues::rule_of;
pub(crate) use page::{sparse, without_cells};

use carom_base::LINE_BYTES;
use carom_study::{
    Estimate,
    share::{self, ENOUGH_EVENTS, Matrix, Pattern, ShareFindings, Unit},
};

use crate::{
    RunInfo,
    issue::Issue,
    model::{
        Cells, Command, Communication, CommunicationMatrix, EstimateBasis, Finding, Interval, MatrixPattern,
        MatrixUnit, NotEnoughData, Real, Report, Share, SharingDistance, SharingKinds, Transfers,
    },
    recording,
    section::{Row, Section},
    text::{Options, page::Page},
    words::ThreadNames,
};

/// The report of one recording.
pub fn report(run: &RunInfo, findings: &ShareFindings) -> Report {
    let quality = recording::sampled(run, &findings.quality);
    let mut report = Report::new(Command::Share, run, quality);
    if let Some(range) = recording::range_of_accesses(&report.quality.periods) {
        report.engine.sample_means = range;
    }
    let names = ThreadNames::new(&report.threads);
    let mut share = Share {
        false_fraction: findings.false_fraction.map(interval),
        contended_share: interval(findings.contended_share),
        not_enough: findings.not_enough.map(|few| NotEnoughData {
            events: few.events,
            needed: ENOUGH_EVENTS,
            run_s: few.run_seconds.or_else(|| verdict::seconds_to_rule_out(run, findings)).map(Real),
            moving: few.moving.map(Real),
            negligible: verdict::is_negligible(&report, findings, few),
        }),
        communication: findings.communication.as_ref().map(communication),
        matrix: CommunicationMatrix {
            unit: match findings.unit {
                Unit::Samples => MatrixUnit::Samples,
                Unit::Accesses => MatrixUnit::Accesses,
            },
            rows: "earlier writer".into(),
            columns: "later accessor".into(),
            threads: cells(&findings.threads, |thread| thread.0),
            cores: cells(&findings.cpus, |cpu| cpu.0),
            last_writer: cells(&findings.last_writer, |thread| thread.0),
        },
        pattern: findings.pattern.as_ref().map(pattern),
        kinds: SharingKinds {
            raw: Real(findings.kinds.read_after_write),
            waw: Real(findings.kinds.write_after_write),
        },
        distance: SharingDistance {
            cross_core: Real(findings.distance.cross_core),
            smt_siblings: Real(findings.distance.smt_siblings),
            same_cpu: Real(findings.distance.same_cpu),
        },
        findings: findings
            .objects
            .iter()
            .filter_map(|each| lines::finding(each, &findings.lines, &names))
            .collect(),
        lines: (0..)
            .zip(&findings.lines)
            .map(|(n, line)| lines::line(line, check(findings, n), &names))
            .collect(),
        other_lines: findings.other_lines,
    };
    withhold::withhold(&mut share);
    report.quality.warnings.extend(warnings::of(run, findings));
    report.verdict = verdict::verdict(&report, &share);
    report.share = Some(share);
    report
}

impl Section for Share {
    fn print(&self, page: &mut Page, _: &Report, names: &ThreadNames, options: &Options) {
        text::print(page, self, names, options);
    }

    fn measured(&self, report: &Report) -> Vec<Row> {
        text::measured(report)
    }

    fn in_brief(&self, report: &Report) -> Vec<String> {
        text::in_brief(report)
    }

    fn finding(&self, report: &Report) -> Option<Finding> {
        Some(finding::finding(self, report))
    }

    fn summary(&self) -> Vec<String> {
        text::summary(self)
    }

    fn issues(&self) -> Vec<Issue<'_>> {
        issues::issues(self)
    }

    fn precision(&self) -> Vec<Row> {
        text::precision(self)
    }

    fn tables(&self, _: &Report, names: &ThreadNames) -> Vec<Row> {
        csv::tables(self, names)
    }

    fn scripts(&self) -> &'static [&'static str] {
        &[
            include_str!("page/words.js"),
            include_str!("page/bytes.js"),
            include_str!("page/sites.js"),
            include_str!("page/lines.js"),
            include_str!("page/findings.js"),
            include_str!("page/matrix.js"),
            include_str!("page/heat.js"),
            include_str!("page/share.js"),
        ]
    }
}

/// What was simulated for the remedy of this line: that of a finding with the same remedy, which this line is the first of.
fn check(findings: &ShareFindings, number: usize) -> Option<&share::Check> {
    let finding = findings.objects.iter().find(|finding| finding.lines.first() == Some(&number))?;
    let line = findings.lines.get(number)?;
    finding.check.as_ref().filter(|_| finding.remedy == line.remedy)
}

fn communication(found: &share::Communication) -> Communication {
    let bytes = |number: Estimate| interval(scaled(number, LINE_BYTES as f64));
    Communication {
        basis: EstimateBasis::Estimated,
        contended_accesses: found.contended.map(interval),
        accesses: interval(found.accesses),
        bytes_at_most: bytes(found.accesses),
        transfers: found.transfers.map(|transfers| Transfers {
            basis: EstimateBasis::Modelled,
            transfers: interval(transfers),
            bytes: bytes(transfers),
        }),
    }
}

fn scaled(estimate: Estimate, by: f64) -> Estimate {
    Estimate { value: estimate.value * by, low: estimate.low * by, high: estimate.high * by }
}

fn interval(estimate: Estimate) -> Interval {
    Interval { estimate: Real(estimate.value), low: Real(estimate.low), high: Real(estimate.high) }
}

fn cells<L: Copy>(matrix: &Matrix<L>, label: impl Fn(L) -> u32) -> Cells {
    let square = |rows: &[Vec<f64>]| rows.iter().map(|row| row.iter().copied().map(Real).collect()).collect();
    Cells {
        labels: matrix.labels.iter().map(|&each| label(each)).collect(),
        all: square(&matrix.all),
        true_sharing: square(&matrix.true_sharing),
        false_sharing: square(&matrix.false_sharing),
        unlisted: Real(matrix.unlisted),
    }
}

fn pattern(pattern: &Pattern) -> MatrixPattern {
    match pattern {
        Pattern::MasterWorker { master } => MatrixPattern::MasterWorker { master: master.0 },
        Pattern::NearestNeighbour => MatrixPattern::NearestNeighbour,
        Pattern::Groups(groups) => MatrixPattern::Groups {
            groups: groups.iter().map(|group| group.iter().map(|thread| thread.0).collect()).collect(),
        },
        Pattern::AllToAll => MatrixPattern::AllToAll,
    }
}
