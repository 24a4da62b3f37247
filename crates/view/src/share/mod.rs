//! From the findings of `carom share` to its report.

mod lines;
mod remedy;

use carom_study::share::{ENOUGH_EVENTS, Estimate, Matrix, Pattern, ShareFindings};

use crate::{
    RunInfo,
    model::{
        Cells, Command, CommunicationMatrix, Interval, MatrixPattern, MatrixUnit, NotEnoughData, Real,
        Report, Share, SharingDistance, SharingKinds,
    },
    recording, verdict,
    words::ThreadNames,
};

/// The report of one recording.
pub fn report(run: &RunInfo, findings: &ShareFindings) -> Report {
    let mut report = recording::report(Command::Share, run, &findings.quality);
    let names = ThreadNames::new(&report.threads);
    let share = Share {
        false_fraction: findings.false_fraction.map(interval),
        contended_share: interval(findings.contended_share),
        not_enough: findings.not_enough.map(|few| NotEnoughData {
            events: few.events,
            needed: ENOUGH_EVENTS,
            run_s: few.run_seconds.or_else(|| verdict::seconds_to_rule_out(run, &findings.quality)).map(Real),
        }),
        matrix: CommunicationMatrix {
            unit: MatrixUnit::Samples,
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
        lines: findings.lines.iter().map(|line| lines::line(line, &names)).collect(),
        other_lines: findings.other_lines,
    };
    report.verdict = verdict::share(&report, &share);
    report.share = Some(share);
    report
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
