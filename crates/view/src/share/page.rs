//! What the page needs of the matrices: the cells that are not zero, apart from the rest of the report.

use serde::Serialize;

use crate::model::{Cells, Real, Report, Share};

/// The matrices of a page: row, column, true and false sharing of each cell that is not zero. A thousand
/// threads have a million cells and a few thousand that matter.
#[derive(Serialize)]
pub struct Sparse {
    threads: Vec<(usize, usize, Real, Real)>,
    cores: Vec<(usize, usize, Real, Real)>,
}

/// The cells of both matrices that are not zero.
pub fn sparse(share: &Share) -> Sparse {
    Sparse { threads: cells(&share.matrix.threads), cores: cells(&share.matrix.cores) }
}

fn cells(dense: &Cells) -> Vec<(usize, usize, Real, Real)> {
    let rows = dense.true_sharing.iter().zip(&dense.false_sharing).enumerate();
    rows.flat_map(|(row, (true_row, false_row))| {
        let columns = true_row.iter().zip(false_row).enumerate();
        columns
            .map(move |(column, (&true_sharing, &false_sharing))| (row, column, true_sharing, false_sharing))
    })
    .filter(|cell| cell.2.0 > 0.0 || cell.3.0 > 0.0)
    .collect()
}

/// The report with the labels of the matrices and without their cells.
pub fn without_cells(report: &Report) -> Report {
    let labels =
        |cells: &Cells| Cells { labels: cells.labels.clone(), unlisted: cells.unlisted, ..Cells::default() };
    let mut report = report.clone();
    let of_phases = report.per_phase.iter_mut().flat_map(|answers| &mut answers.0);
    let of_phases = of_phases.filter_map(|answer| answer.share.as_mut());
    for Share { matrix, .. } in report.share.iter_mut().chain(of_phases) {
        matrix.threads = labels(&matrix.threads);
        matrix.cores = labels(&matrix.cores);
        matrix.last_writer = Cells::default();
    }
    report
}
