//! A histogram of distances on a logarithmic axis, a row per doubling.

use super::{basis, whose};
use crate::{
    model::{DataCache, Reuse, ReuseBin, ReuseCurve, ReuseDistance, ReuseKinds, ReuseUnit, ReusedBy},
    text::page::{Page, Style},
    words::{self, ThreadNames},
};

/// Rows at most; with more doublings, each row has several.
const ROWS: u32 = 16;

/// Columns of a row's bounds, of its part, and of the note on a cache behind the bar.
const BOUNDS: usize = 22;
const PART: usize = 7;
const NOTE: usize = 6;

/// Columns of the longest bar at most.
const WIDEST: usize = 50;

pub fn print(page: &mut Page, reuse: &Reuse, curve: &ReuseCurve) {
    let rows = rows(&curve.histogram);
    let most = rows.iter().map(|row| row.part).fold(0.0, f64::max);
    if most <= 0.0 {
        return;
    }
    page.heading(&title(curve));
    page.paragraph(Style::Dim, &subtitle(reuse, curve));
    let room = page.width().saturating_sub(BOUNDS + PART + NOTE + 2).clamp(1, WIDEST);
    let mut gap: Vec<&Row> = Vec::new();
    for row in &rows {
        if row.part <= 0.0 {
            gap.push(row);
            continue;
        }
        empty(page, &gap, curve, &reuse.caches);
        gap.clear();
        page.put(Style::Plain, &format!("{:>BOUNDS$}", bounds(row, curve)));
        page.put(Style::Bold, &format!("{:>PART$}", words::percent(row.part))).plain(" ");
        page.put(Style::Blue, &bar(row.part / most, room));
        if let Some(cache) = cache_in(row, curve, &reuse.caches) {
            page.put(Style::Dim, &format!(" ←L{}", cache.level));
        }
        page.end();
    }
}

/// Doublings without a reuse, as one line, with the caches whose sizes lie there.
fn empty(page: &mut Page, gap: &[&Row], curve: &ReuseCurve, caches: &[DataCache]) {
    if gap.is_empty() {
        return;
    }
    page.put(Style::Dim, &format!("{:>BOUNDS$}", "⋮"));
    let inside = gap.iter().filter_map(|row| cache_in(row, curve, caches));
    let levels: Vec<String> = inside.map(|cache| format!("L{}", cache.level)).collect();
    if !levels.is_empty() {
        page.put(Style::Dim, &format!("{:>width$}", format!("←{}", levels.join(", ")), width = PART + 5));
    }
    page.end();
}

fn title(curve: &ReuseCurve) -> String {
    let which = match curve.distance {
        ReuseDistance::Stack => "Stack distances",
        ReuseDistance::Time => "Time distances",
    };
    let by = match curve.reused_by {
        ReusedBy::SameThread => "",
        ReusedBy::OtherThread => " of reuses by another thread",
        ReusedBy::AnyThread => " in the shared cache",
    };
    format!("{which}{by}")
}

/// `all threads, 64-byte lines, exact; 93% reused, …`
fn subtitle(reuse: &Reuse, curve: &ReuseCurve) -> String {
    let who = whose(reuse, (curve.scope, curve.thread, curve.domain), &ThreadNames::new(&[]));
    let what = match (curve.kind, curve.granularity_bytes) {
        (ReuseKinds::Temporal, _) => "the same bytes".into(),
        (ReuseKinds::Spatial, bytes) => format!("other bytes of the {bytes}-byte line"),
        (ReuseKinds::Any, bytes) => format!("{bytes}-byte lines"),
    };
    format!(
        "{who}, {what}, {}; {} reused, {} invalidated, {} never reused",
        basis(curve),
        words::percent(curve.reused.0),
        words::percent(curve.invalidated.0),
        words::percent(curve.once.0)
    )
}

/// Distances from `low` on, below `high`.
struct Row {
    low: u64,
    high: Option<u64>,
    part: f64,
}

/// Bins of the histogram by doublings, from the first that has reuses to the last.
fn rows(bins: &[ReuseBin]) -> Vec<Row> {
    let octave = |bin: &ReuseBin| bin.low.checked_ilog2().map_or(0, |log| log + 1);
    let (Some(first), Some(last)) = (bins.first().map(octave), bins.last().map(octave)) else {
        return Vec::new();
    };
    let step = (last - first + 1).div_ceil(ROWS).max(1);
    let low = |index: u32| if index == 0 { 0 } else { 1_u64.checked_shl(index - 1).unwrap_or(u64::MAX) };
    (first..=last)
        .step_by(step as usize)
        .map(|from| {
            let mine = bins.iter().filter(|bin| (from..from + step).contains(&octave(bin)));
            let high = Some(low(from + step)).filter(|high| *high < u64::MAX);
            // The sum of nothing is -0.
            let part = mine.fold(0.0, |sum, bin| sum + bin.fraction.0);
            Row { low: low(from), high, part }
        })
        .collect()
}

/// `128 KiB to 256 KiB`, `1.02 k to 2.05 k`.
fn bounds(row: &Row, curve: &ReuseCurve) -> String {
    let text = |distance: u64| match curve.unit {
        ReuseUnit::Places => words::short_size(distance.saturating_mul(u64::from(curve.granularity_bytes))),
        ReuseUnit::Accesses => words::measure(distance),
        ReuseUnit::Ns => words::nanoseconds(distance),
    };
    match row.high {
        Some(high) if row.low == 0 && high <= 1 => "0".into(),
        Some(high) => format!("{} to {}", text(row.low), text(high)),
        None => format!("from {}", text(row.low)),
    }
}

fn bar(part: f64, room: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (part.clamp(0.0, 1.0) * (room * 8) as f64).round() as usize;
    let least = if part > 0.0 && eighths == 0 { 1 } else { eighths };
    "█".repeat(least / 8) + EIGHTHS.get(least % 8).copied().unwrap_or("")
}

/// The largest cache whose size lies in a row of stack distances.
fn cache_in<'a>(row: &Row, curve: &ReuseCurve, caches: &'a [DataCache]) -> Option<&'a DataCache> {
    let place = u64::from(curve.granularity_bytes).max(1);
    let lies = |cache: &&DataCache| {
        let places = cache.bytes / place;
        curve.unit == ReuseUnit::Places && row.low <= places && row.high.is_none_or(|high| places < high)
    };
    caches.iter().rev().find(lies)
}
