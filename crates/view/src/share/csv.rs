//! The matrices with labels in natural order, the lines, the sites.

use crate::{
    csv::Table,
    model::{Cells, Real, RemedyKind, Share},
    words::ThreadNames,
};

/// The files of a report.
pub fn tables(share: &Share, names: &ThreadNames) -> Vec<(&'static str, String)> {
    let thread = |id: u32| names.get(id).into_owned();
    let cpu = |number: u32| format!("cpu {number}");
    let threads = &share.matrix.threads;
    let cores = &share.matrix.cores;
    let matrices = [
        ("matrix-all.csv", matrix(threads, &threads.all, &thread)),
        ("matrix-true.csv", matrix(threads, &threads.true_sharing, &thread)),
        ("matrix-false.csv", matrix(threads, &threads.false_sharing, &thread)),
        ("cores-all.csv", matrix(cores, &cores.all, &cpu)),
        ("cores-true.csv", matrix(cores, &cores.true_sharing, &cpu)),
        ("cores-false.csv", matrix(cores, &cores.false_sharing, &cpu)),
    ];
    let tables = [("lines.csv", lines(share)), ("sites.csv", sites(share, names))];
    matrices.into_iter().chain(tables).collect()
}

/// Directed: rows are earlier writers, columns later accessors.
fn matrix(cells: &Cells, values: &[Vec<Real>], label: &dyn Fn(u32) -> String) -> String {
    let mut table = Table::default();
    table.name("earlier writer \\ later accessor");
    for &column in &cells.labels {
        table.name(&label(column));
    }
    table.end();
    for (&row, values) in cells.labels.iter().zip(values) {
        table.name(&label(row));
        for &value in values {
            table.number(value);
        }
        table.end();
    }
    table.text
}

fn lines(share: &Share) -> String {
    let mut table = Table::default();
    let unit = share.matrix.unit.name();
    table.header(&[
        "rank",
        "process",
        "address",
        "share_of_samples",
        "share_low",
        "share_high",
        &format!("true_{unit}"),
        &format!("false_{unit}"),
        "false_fraction",
        "events",
        "object_kind",
        "object",
        "object_offset_bytes",
        "object_size_bytes",
        "declared_file",
        "declared_line",
        "remedy",
        "remedy_text",
    ]);
    for (rank, line) in (1_u32..).zip(&share.lines) {
        let declared = line.object.declared.as_ref();
        table.whole(Some(rank)).whole(Some(line.process)).name(&line.address);
        table.number(line.share_of_samples).number(line.share_interval.low).number(line.share_interval.high);
        table.number(line.true_sharing).number(line.false_sharing);
        let fraction = line.false_fraction.map_or(f64::NAN, |fraction| fraction.estimate.0);
        table.number(Real(fraction)).whole(Some(line.events));
        table.name(line.object.kind.name()).name(&line.object.name);
        table.whole(Some(line.object.offset_bytes)).whole(line.object.size_bytes);
        table.name(declared.and_then(|frame| frame.file.as_deref()).unwrap_or(""));
        table.whole(declared.and_then(|frame| frame.line));
        table.name(match line.remedy.kind {
            RemedyKind::Pad => "pad",
            RemedyKind::ShareLess => "share-less",
            RemedyKind::PadThenShareLess => "pad-then-share-less",
            RemedyKind::PadElements => "pad-elements",
            RemedyKind::AlignBlocks => "align-blocks",
            RemedyKind::LargerPieces => "larger-pieces",
            RemedyKind::Contend => "contend",
            RemedyKind::None => "none",
        });
        table.name(&line.remedy.text).end();
    }
    table.text
}

fn sites(share: &Share, names: &ThreadNames) -> String {
    let mut table = Table::default();
    table.header(&[
        "line_rank",
        "line_address",
        "thread",
        "thread_name",
        "kind",
        "offset_bytes",
        "width_bytes",
        "field",
        "function",
        "file",
        "line",
        "share_of_samples",
        "seen",
        "call_path",
    ]);
    for (rank, line) in (1_u32..).zip(&share.lines) {
        for site in &line.sites {
            let path: Vec<&str> = site
                .call_path
                .iter()
                .map(|frame| frame.function.as_deref().unwrap_or(&frame.address))
                .collect();
            table
                .whole(Some(rank))
                .name(&line.address)
                .whole(Some(site.thread))
                .name(&names.get(site.thread));
            table.name(site.kind.name()).whole(Some(site.offset_bytes)).whole(Some(site.width_bytes));
            table.name(site.field.as_deref().unwrap_or("")).name(site.function.as_deref().unwrap_or(""));
            table.name(site.file.as_deref().unwrap_or("")).whole(site.line);
            table.number(site.share_of_samples).whole(Some(site.seen)).name(&path.join(" < ")).end();
        }
    }
    table.text
}
