//! A miss-ratio curve as a chart: sizes on a logarithmic axis, the machine's caches marked under it.

use super::basis;
use crate::{
    model::{MissRatioPoint, Reuse, ReuseCurve},
    text::page::{Page, Style},
    words,
};

/// Rows of the chart.
const ROWS: usize = 8;

/// Columns before the chart: a percentage and a blank.
const MARGIN: usize = 6;

/// Columns of the chart at most: more would not show more.
const WIDEST: usize = 72;

/// Eighths of a cell, from empty to full.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Columns from one label of the axis to the next at least: a label and blanks.
const LABEL: usize = 9;

pub fn print(page: &mut Page, reuse: &Reuse, curve: &ReuseCurve) {
    let Some(chart) = Chart::of(curve, page.width()) else { return };
    page.heading("Misses by cache size");
    let of = format!("all threads, each in a cache of its own; fully associative, LRU; {}", basis(curve));
    page.paragraph(Style::Dim, &of);
    for row in (0..ROWS).rev() {
        page.put(Style::Dim, &chart.label(row));
        page.put(Style::Blue, &chart.row(row)).end();
    }
    let powers = (0..u64::BITS).map(|power| 1_u64 << power);
    let sizes = powers.filter_map(|size| Some((chart.column(size)?, words::short_size(size))));
    page.put(Style::Dim, &axis(&chart, sizes, LABEL)).end();
    let caches = reuse.caches.iter().filter_map(|cache| {
        let column = chart.column(cache.bytes)?;
        Some((column, format!("↑L{}", cache.level)))
    });
    let marks = axis(&chart, caches, 1);
    if !marks.trim().is_empty() {
        page.put(Style::Bold, &marks).end();
    }
}

/// The curve, one ratio per column.
struct Chart {
    /// log2 of the first column's size, and of what a column adds.
    first: f64,
    step: f64,
    ratios: Vec<f64>,
    /// The ratio at the top.
    top: f64,
}

impl Chart {
    /// `None` without two sizes.
    fn of(curve: &ReuseCurve, width: usize) -> Option<Self> {
        let points = &curve.miss_ratio;
        let (first, last) = (points.first()?, points.last()?);
        let columns = width.saturating_sub(MARGIN + 1).min(WIDEST);
        let log = |bytes: u64| (bytes.max(1) as f64).log2();
        let step = (log(last.bytes) - log(first.bytes)) / columns.saturating_sub(1).max(1) as f64;
        if step <= 0.0 {
            return None;
        }
        let mut chart = Self { first: log(first.bytes), step, ratios: Vec::new(), top: 0.0 };
        chart.ratios = (0..columns).map(|column| ratio(points, chart.size(column))).collect();
        let most = chart.ratios.iter().copied().fold(0.0, f64::max);
        chart.top = round_up(most);
        Some(chart)
    }

    fn size(&self, column: usize) -> u64 {
        // Half a byte more, so that what should be a power of two is not a byte less.
        (self.first + self.step * column as f64).exp2().round() as u64
    }

    /// The column that a size falls into, where it is on the chart.
    fn column(&self, bytes: u64) -> Option<usize> {
        let column = ((bytes.max(1) as f64).log2() - self.first) / self.step;
        (column > -0.5).then(|| column.round() as usize).filter(|column| *column < self.ratios.len())
    }

    /// `  20% `, on the top row and in the middle.
    fn label(&self, row: usize) -> String {
        let part = self.top * (row + 1) as f64 / ROWS as f64;
        let text = if row + 1 == ROWS || row + 1 == ROWS / 2 { words::percent(part) } else { String::new() };
        format!("{text:>width$} ", width = MARGIN - 1)
    }

    fn row(&self, row: usize) -> String {
        let cell = |ratio: &f64| {
            let eighths = (ratio / self.top * (ROWS * 8) as f64).round() - (row * 8) as f64;
            // A value above 0 is always visible.
            let least = if row == 0 && *ratio > 0.0 { 1.0 } else { 0.0 };
            EIGHTHS.get(eighths.clamp(least, 8.0) as usize).copied().unwrap_or(' ')
        };
        self.ratios.iter().map(cell).collect()
    }
}

/// The ratio at the largest size that is not above this one.
pub fn ratio(points: &[MissRatioPoint], bytes: u64) -> f64 {
    let above = points.partition_point(|point| point.bytes <= bytes);
    points.get(above.saturating_sub(1)).map_or(0.0, |point| point.ratio.0)
}

/// The next of 1, 2, 5, 10, 20, 50, 100 percent and so on.
fn round_up(ratio: f64) -> f64 {
    let mut decade = 1e-4;
    while decade < 1.0 {
        for factor in [1.0, 2.0, 5.0] {
            if ratio <= decade * factor {
                return decade * factor;
            }
        }
        decade *= 10.0;
    }
    1.0
}

/// Labels below the chart, each from its column on; one that begins less than `apart` columns behind the one before it,
/// or that does not fit the line, is left out.
fn axis(chart: &Chart, labels: impl Iterator<Item = (usize, String)>, apart: usize) -> String {
    let mut line = " ".repeat(MARGIN);
    let mut free = 0;
    for (column, label) in labels {
        let length = label.chars().count();
        if column < free || column + length > chart.ratios.len() {
            continue;
        }
        line.push_str(&" ".repeat((MARGIN + column).saturating_sub(line.chars().count())));
        line.push_str(&label);
        free = column + (length + 1).max(apart);
    }
    line
}
