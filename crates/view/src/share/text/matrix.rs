//! Who communicates with whom: as a shaded matrix where it fits, else as a list of the busiest pairs.

use std::collections::BTreeSet;

use super::class;
use crate::{
    model::{Cells, Interval, MatrixPattern, Real, Share},
    text::{
        Options,
        page::{Page, SHADES, Style},
    },
    words::{self, ThreadNames},
};

/// More threads than this are summed up as pairs.
const LARGEST: usize = 16;

/// Pairs listed instead of a larger matrix.
const PAIRS: usize = 12;

/// Columns of a cell: a blank, a shade and four characters.
const CELL: usize = 6;

/// Without colours, the shades of a cell.
const GLYPHS: [&str; SHADES] = [" ", "░", "▒", "▓", "█"];

/// The thread matrix and its pattern; in full, also where the two ends ran and how much was exchanged.
pub fn print(page: &mut Page, share: &Share, names: &ThreadNames, options: &Options) {
    let cells = &share.matrix.threads;
    let active = active(cells);
    // The lines have said it all of two threads.
    if active.is_empty() || active.len() <= 2 && !options.verbose {
        return;
    }
    page.heading(if options.directed {
        "Who communicates with whom (from writer, row, to later accessor, column)"
    } else {
        "Who communicates with whom"
    });
    let label =
        |index: usize| cells.labels.get(index).map_or(String::new(), |&id| names.get(id).into_owned());
    let name_width = active.iter().map(|&index| label(index).chars().count()).max().unwrap_or(0).min(20);
    let fits = active.len() <= LARGEST && name_width + 5 + active.len() * CELL <= page.width();
    page.put(Style::Dim, &format!("in {}", share.matrix.unit.describe()));
    if fits {
        page.put(Style::Dim, "; a fuller shade is more");
    }
    if active.len() < cells.labels.len() {
        page.put(
            Style::Dim,
            &format!("; {} shared nothing", words::count(cells.labels.len() - active.len(), "thread")),
        );
    }
    if cells.unlisted.0 > 0.0 {
        page.put(Style::Dim, &format!("; {} of threads not listed", words::compact(cells.unlisted.0)));
    }
    page.end();
    if fits {
        grid(page, cells, &active, &label, name_width, options);
    } else {
        pairs(page, cells, &active, &label, options);
    }
    if let Some(pattern) = &share.pattern {
        page.plain("pattern: ").put(Style::Bold, &describe(pattern, names)).end();
    }
    if !options.verbose {
        return;
    }
    distance(page, share);
    if let Some(text) = volume_text(share) {
        page.paragraph(Style::Plain, &format!("volume: {text}"));
    }
}

/// `3.6 G accesses (±5%) to contended lines; …`
fn volume_text(share: &Share) -> Option<String> {
    let volume = share.communication?;
    let about = |number: &Interval, noun: &str| {
        let (value, half) = (number.estimate.0, (number.high.0 - number.low.0) / 2.0);
        format!("{} {noun} (±{})", words::measure(value.round() as u64), words::percent(half / value))
    };
    let bytes = |number: &Interval| format!("{}B", words::measure(number.estimate.0.round() as u64));
    let contended = volume
        .contended_accesses
        .map_or(String::new(), |number| format!("{} to contended lines; ", about(&number, "accesses")));
    let accesses = format!(
        "{contended}{} that follow another thread's write, upper bound {}",
        about(&volume.accesses, "accesses"),
        bytes(&volume.bytes_at_most)
    );
    Some(match volume.transfers {
        Some(moved) => format!(
            "{accesses}; about {} between cores, {} (model)",
            about(&moved.transfers, "line transfers"),
            bytes(&moved.bytes)
        ),
        None => accesses,
    })
}

/// Row and column numbers with any volume.
fn active(cells: &Cells) -> Vec<usize> {
    let takes_part = |index: usize| {
        let row = cells.all.get(index).is_some_and(|row| row.iter().any(|cell| cell.0 > 0.0));
        row || cells.all.iter().any(|row| at(row, index) > 0.0)
    };
    (0..cells.labels.len()).filter(|&index| takes_part(index)).collect()
}

fn at(row: &[Real], column: usize) -> f64 {
    row.get(column).map_or(0.0, |cell| cell.0)
}

/// The cell as shown: one direction, or both together.
fn volume(matrix: &[Vec<Real>], row: usize, column: usize, directed: bool) -> f64 {
    let one = |row: usize, column: usize| matrix.get(row).map_or(0.0, |cells| at(cells, column));
    if directed || row == column { one(row, column) } else { one(row, column) + one(column, row) }
}

fn grid(
    page: &mut Page,
    cells: &Cells,
    active: &[usize],
    label: &dyn Fn(usize) -> String,
    width: usize,
    options: &Options,
) {
    let heads = heads(active, label);
    page.plain(&" ".repeat(width + 5));
    for head in &heads {
        page.put(Style::Dim, &format!("{head:>CELL$}"));
    }
    page.end();
    let value = |row: usize, column: usize| volume(&cells.all, row, column, options.directed);
    let largest = active
        .iter()
        .flat_map(|&row| active.iter().map(move |&column| value(row, column)))
        .fold(0.0, f64::max);
    for (head, &row) in heads.iter().zip(active) {
        page.put(Style::Dim, &format!("{head:>3}  ")).cell(Style::Plain, &label(row), width);
        for &column in active {
            let value = value(row, column);
            let step = shade(value, largest);
            let text = if value > 0.0 { words::compact(value) } else { "·".into() };
            if options.colour {
                page.plain(" ")
                    .put(if value > 0.0 { Style::Shade(step) } else { Style::Dim }, &format!("{text:>5}"));
            } else {
                page.plain(" ").plain(GLYPHS[step.min(SHADES - 1)]).plain(&format!("{text:>4}"));
            }
        }
        page.end();
    }
}

/// What stands above the columns and before the rows: where all threads have one name and a number, the number; else they are
/// counted.
fn heads(active: &[usize], label: &dyn Fn(usize) -> String) -> Vec<String> {
    let labels: Vec<String> = active.iter().map(|&index| label(index)).collect();
    let parts = |label: &String| {
        let (name, number) = label.split_once('#')?;
        Some((name.to_owned(), number.parse::<u32>().ok()?))
    };
    let parts: BTreeSet<(String, u32)> = labels.iter().filter_map(parts).collect();
    let names: BTreeSet<&str> = parts.iter().map(|(name, _)| name.as_str()).collect();
    if parts.len() == labels.len() && names.len() == 1 {
        return labels.iter().filter_map(|label| Some(label.get(label.find('#')?..)?.to_owned())).collect();
    }
    (1..=labels.len()).map(|number| number.to_string()).collect()
}

/// 0 for nothing, then in equal steps up to the largest.
fn shade(value: f64, largest: f64) -> usize {
    if value <= 0.0 || largest <= 0.0 {
        return 0;
    }
    let steps = (SHADES - 1) as f64;
    ((value / largest * steps).ceil() as usize).clamp(1, SHADES - 1)
}

/// The pairs with the most volume, each with its part of the whole and its class.
fn pairs(
    page: &mut Page,
    cells: &Cells,
    active: &[usize],
    label: &dyn Fn(usize) -> String,
    options: &Options,
) {
    let mut pairs = Vec::new();
    for &row in active {
        for &column in active.iter().filter(|&&column| options.directed || column >= row) {
            let volume = volume(&cells.all, row, column, options.directed);
            if volume > 0.0 {
                pairs.push((volume, row, column));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let total: f64 = pairs.iter().map(|pair| pair.0).sum();
    let shown = pairs.get(..PAIRS).unwrap_or(&pairs);
    let arrow = if options.directed { "→" } else { "↔" };
    let width = shown.iter().map(|pair| label(pair.1).chars().count()).max().unwrap_or(0).min(24);
    let other_width = shown.iter().map(|pair| label(pair.2).chars().count()).max().unwrap_or(0).min(24);
    for &(volume_all, row, column) in shown {
        let of = |matrix: &[Vec<Real>]| volume(matrix, row, column, options.directed);
        page.plain("  ").cell(Style::Plain, &label(row), width).put(Style::Dim, &format!(" {arrow} "));
        page.cell(Style::Plain, &label(column), other_width);
        page.put(Style::Bold, &format!("  {:>5}", words::compact(volume_all)));
        page.plain(&format!("  {:>5}  ", words::percent(volume_all / total)));
        page.put(Style::Dim, &class(of(&cells.true_sharing), of(&cells.false_sharing))).end();
    }
    if pairs.len() > PAIRS {
        let rest = 1.0 - shown.iter().map(|pair| pair.0).sum::<f64>() / total;
        let more = words::count(pairs.len() - PAIRS, "more pair");
        page.put(
            Style::Dim,
            &format!(
                "  … and {more} with {} of the volume; the whole matrix is in --html and --csv",
                words::percent(rest)
            ),
        )
        .end();
    }
}

/// The pattern in words.
pub fn describe(pattern: &MatrixPattern, names: &ThreadNames) -> String {
    match pattern {
        MatrixPattern::MasterWorker { master } => {
            format!("master and workers, {} being the master", names.get(*master))
        }
        MatrixPattern::NearestNeighbour => "nearest neighbour".into(),
        MatrixPattern::Groups { groups } => {
            let listed: Vec<String> = groups.iter().map(|group| format!("({})", names.list(group))).collect();
            format!("{} that keep to themselves: {}", words::count(groups.len(), "group"), listed.join(" "))
        }
        MatrixPattern::AllToAll => "all to all".into(),
    }
}

fn distance(page: &mut Page, share: &Share) {
    let distance = &share.distance;
    let parts = [
        (distance.cross_core.0, "between cores"),
        (distance.smt_siblings.0, "between hardware threads of one core"),
        (distance.same_cpu.0, "while threads shared a CPU, at no cost"),
    ];
    let total: f64 = parts.iter().map(|part| part.0).sum();
    if total > 0.0 {
        let part = |&(volume, place): &(f64, &str)| format!("{} {place}", words::percent(volume / total));
        let text: Vec<String> = parts.iter().filter(|part| part.0 > 0.0).map(part).collect();
        page.paragraph(Style::Plain, &format!("where: {}", text.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::heads;

    fn heads_of(labels: &[&str]) -> Vec<String> {
        heads(&(0..labels.len()).collect::<Vec<_>>(), &|index| labels[index].to_owned())
    }

    #[test]
    fn columns_are_called_by_the_numbers_of_threads_that_have_only_these() {
        assert_eq!(heads_of(&["app #0", "app #2"]), ["#0", "#2"]);
        // Of two programs, of two processes of one, and with names.
        assert_eq!(heads_of(&["app #0", "other #0"]), ["1", "2"]);
        assert_eq!(heads_of(&["app #0", "app #0"]), ["1", "2"]);
        assert_eq!(heads_of(&["app #0", "worker"]), ["1", "2"]);
    }
}
