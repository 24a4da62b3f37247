//! Miss ratios at the machine's caches, and the cache size needed.

use carom_study::reuse::ENOUGH_USES;

use super::whose;
use crate::{
    model::{Interval, MissRatioPoint, Reuse, ReuseBasis, ReuseCurve, ReuseFit, ReuseScope},
    reuse::verdict,
    text::{
        Options,
        page::{Page, Style},
    },
    words::{self, ThreadNames},
};

/// Columns of a name, and of a ratio with its error.
const WHO: usize = 26;
const CELL: usize = 13;

pub fn print(page: &mut Page, reuse: &Reuse, names: &ThreadNames, options: &Options) {
    if reuse.fits.is_empty() {
        return;
    }
    let mut sizes: Vec<u64> =
        reuse.caches.iter().map(|cache| cache.bytes).chain([reuse.cache_bytes]).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let room = (page.width().saturating_sub(WHO + 2 * CELL) / CELL).max(1);
    // Where there is no room for all, small caches go first.
    while let Some(out) =
        sizes.iter().position(|bytes| *bytes != reuse.cache_bytes).filter(|_| sizes.len() > room)
    {
        sizes.remove(out);
    }
    page.heading("Misses in this machine's caches, and the cache size needed");
    page.cell(Style::Dim, "", WHO);
    for bytes in &sizes {
        page.put(Style::Dim, &format!("{:>CELL$}", head(reuse, *bytes)));
    }
    page.put(Style::Dim, &format!("{:>CELL$}{:>CELL$}", "unavoidable", "size needed")).end();
    let (few, told): (Vec<&ReuseFit>, Vec<_>) =
        reuse.fits.iter().partition(|fit| hardly_followed(reuse, fit));
    for fit in told.iter().take(options.lines) {
        row(page, reuse, fit, &sizes, names);
        if fit.scope == ReuseScope::All {
            by_geometry(page, fit, &sizes);
            cost(page, reuse, &sizes);
        }
    }
    let more = told.len().saturating_sub(options.lines);
    if more > 0 {
        page.put(Style::Dim, &format!("… and {}", words::count(more, "more thread"))).end();
    }
    if !few.is_empty() {
        let threads = words::count(few.len(), "more thread");
        page.put(Style::Dim, &format!("… and {threads} with fewer than {ENOUGH_USES} uses")).end();
    }
}

/// Whether too few uses of a thread were followed for its ratios to mean anything.
fn hardly_followed(reuse: &Reuse, fit: &ReuseFit) -> bool {
    let few = |curve: &ReuseCurve| curve.basis != ReuseBasis::Exact && curve.observations < ENOUGH_USES;
    fit.scope == ReuseScope::Thread && curve_of(reuse, fit).is_some_and(few)
}

fn curve_of<'a>(reuse: &'a Reuse, fit: &ReuseFit) -> Option<&'a ReuseCurve> {
    reuse.curves.iter().find(|curve| {
        (curve.scope, curve.thread, curve.domain) == (fit.scope, fit.thread, fit.domain)
            && verdict::is_main(curve)
    })
}

/// `L2 1 MiB`
fn head(reuse: &Reuse, bytes: u64) -> String {
    let level =
        reuse.caches.iter().find(|cache| cache.bytes == bytes).map(|cache| format!("L{} ", cache.level));
    format!("{}{}", level.unwrap_or_default(), words::size(bytes))
}

fn row(page: &mut Page, reuse: &Reuse, fit: &ReuseFit, sizes: &[u64], names: &ThreadNames) {
    page.cell(Style::Plain, &whose(reuse, (fit.scope, fit.thread, fit.domain), names), WHO);
    let curve = curve_of(reuse, fit);
    for bytes in sizes {
        let text = curve.and_then(|curve| at(curve, *bytes)).map_or("-".into(), ratio);
        let style = if *bytes == reuse.cache_bytes { Style::Bold } else { Style::Plain };
        page.put(style, &format!("{text:>CELL$}"));
    }
    let enough = fit.enough_bytes.map_or("-".into(), words::size);
    page.plain(&format!("{:>CELL$}", words::percent(fit.compulsory.0)));
    page.put(Style::Green, &format!("{enough:>CELL$}")).end();
}

/// Misses of the caches with their sets.
fn by_geometry(page: &mut Page, fit: &ReuseFit, sizes: &[u64]) {
    let of = |bytes: &u64| fit.by_geometry.iter().find(|found| found.bytes == *bytes);
    let cells: Vec<String> = sizes
        .iter()
        .map(|bytes| of(bytes).map_or(String::new(), |found| words::percent(found.ratio.0)))
        .collect();
    beneath(page, "  set-associative (model)", &cells);
}

/// What misses cost.
fn cost(page: &mut Page, reuse: &Reuse, sizes: &[u64]) {
    let of = |bytes: &u64| reuse.caches.iter().find(|cache| cache.bytes == *bytes)?.miss_cycles;
    let cell = |bytes: &u64| of(bytes).map_or(String::new(), |cycles| format!("{:.1}", cycles.0));
    beneath(page, "  cycles/access (model)", &sizes.iter().map(cell).collect::<Vec<_>>());
}

/// A row about the row above.
fn beneath(page: &mut Page, what: &str, cells: &[String]) {
    if cells.iter().all(String::is_empty) {
        return;
    }
    page.cell(Style::Dim, what, WHO);
    let cells: String = cells.iter().map(|cell| format!("{cell:>CELL$}")).collect();
    page.put(Style::Dim, cells.trim_end()).end();
}

fn at(curve: &ReuseCurve, bytes: u64) -> Option<&MissRatioPoint> {
    curve.miss_ratio.iter().find(|point| point.bytes == bytes)
}

/// With its error, where it has one.
fn ratio(point: &MissRatioPoint) -> String {
    if point.low == point.high {
        return words::percent(point.ratio.0);
    }
    words::percent_with_error(&Interval { estimate: point.ratio, low: point.low, high: point.high })
}
