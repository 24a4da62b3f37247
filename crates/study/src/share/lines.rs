//! Contended lines: their choice, their order, and the findings on each.

use std::collections::{BTreeMap, BTreeSet};

use carom_base::{Addr, Line, ProcessId};
use carom_study_stats::TimeBlocks;

use super::analyse::Roster;
use super::layout::{Cell, cells};
use super::remedy::remedy;
use super::tally::{Exchange, LineKey, LineTally, SiteKey, SiteTally};
use super::volumes::fraction;
use super::{ByteRange, LineFinding, MAX_LINES, MAX_SITES, SharedLine, Site, ThreadPair};
use crate::Estimate;
use crate::recording::Names;

/// The findings, worst first: by share of thread time or of accesses, then by events. `all` are the samples of the
/// whole recording of which these are shares.
pub(super) fn findings(
    lines: BTreeMap<LineKey, LineTally>,
    all: &TimeBlocks,
    roster: Roster<'_>,
    names: &mut dyn Names,
) -> Vec<LineFinding> {
    let mut ranked: Vec<(LineKey, LineTally)> = lines.into_iter().collect();
    let hits = |tally: &LineTally| tally.hits.total().hits;
    ranked.sort_by(|(ka, a), (kb, b)| {
        hits(b).total_cmp(&hits(a)).then(b.events().cmp(&a.events())).then(ka.cmp(kb))
    });
    ranked.truncate(MAX_LINES);
    ranked.into_iter().map(|(key, tally)| finding(key, &tally, all, roster, names)).collect()
}

/// The share of `all` samples that `hits` are.
pub(super) fn share(hits: &TimeBlocks, all: &TimeBlocks) -> Estimate {
    hits.of(all).proportion().map_or(Estimate::UNKNOWN, Estimate::from)
}

fn finding(
    (process, line): LineKey,
    tally: &LineTally,
    all: &TimeBlocks,
    roster: Roster<'_>,
    names: &mut dyn Names,
) -> LineFinding {
    let sites = tally.sites();
    let (found_in, address, shared) = whereabouts(process, line, &sites, roster, names);
    let cells = cells(sites.iter().copied());
    let layout = layout(process, line, &cells, names);
    let name =
        |cell: &Cell| layout.iter().find(|r| r.offset == cell.extent.offset).and_then(|r| r.field.clone());
    let (basis, exchange) = tally.basis();
    let samples = all.total().weight;
    let busiest = sites.first().map_or(0, |(key, _)| key.extent.offset);
    LineFinding {
        process: found_in,
        address,
        shared,
        share: share(&tally.hits, all),
        true_sharing: exchange.volume.true_sharing,
        false_sharing: exchange.volume.false_sharing,
        false_fraction: fraction(&exchange.false_sharing, exchange.events as usize),
        basis,
        events: tally.events(),
        pair: busiest_pair(exchange),
        object: names.object(process, byte(line, busiest)),
        remedy: remedy(exchange.volume, &cells, &tally.exchanged, name),
        layout,
        sites: sites
            .into_iter()
            .take(MAX_SITES)
            .map(|(key, site)| {
                named_site((roster.process(key.thread), process), line, key, site, samples, names)
            })
            .collect(),
    }
}

/// A process that has the line and its address there; where processes share it, what of.
fn whereabouts(
    keeper: ProcessId,
    line: Line,
    sites: &[(SiteKey, &SiteTally)],
    roster: Roster<'_>,
    names: &mut dyn Names,
) -> (ProcessId, Addr, Option<SharedLine>) {
    let start = line.start();
    let Some((segment, offset)) = start.segment() else { return (keeper, start, None) };
    let processes: BTreeSet<ProcessId> = sites.iter().map(|(key, _)| roster.process(key.thread)).collect();
    let places: Vec<_> =
        processes.into_iter().map(|process| (process, names.local(process, start))).collect();
    let known = places.iter().find_map(|(process, address)| address.map(|address| (*process, address)));
    let (process, address) = known.unwrap_or((places.first().map_or(keeper, |place| place.0), start));
    (process, address, Some(SharedLine { segment, offset, places }))
}

fn byte(line: Line, offset: u32) -> Addr {
    Addr(line.start().0.saturating_add(u64::from(offset)))
}

/// The code is that of the first of these processes, the data are kept under the second.
fn named_site(
    (process, keeper): (ProcessId, ProcessId),
    line: Line,
    key: SiteKey,
    tally: &SiteTally,
    samples: f64,
    names: &mut dyn Names,
) -> Site {
    Site {
        thread: key.thread,
        kind: key.kind,
        offset: key.extent.offset,
        width: key.extent.width,
        field: names.field(keeper, byte(line, key.extent.offset), key.extent.width),
        frames: names.call_path(process, key.ip, tally.stack()),
        share: if samples > 0.0 { tally.hits / samples } else { 0.0 },
        seen: tally.seen,
    }
}

/// The cells with their names, and between them what else has a name there, although nobody was seen at it.
fn layout(process: ProcessId, line: Line, cells: &[Cell], names: &mut dyn Names) -> Vec<ByteRange> {
    let mut ranges: Vec<ByteRange> = cells
        .iter()
        .map(|cell| ByteRange {
            offset: cell.extent.offset,
            width: cell.extent.width,
            field: names.field(process, byte(line, cell.extent.offset), cell.extent.width),
            readers: cell.readers(),
            writers: cell.writers(),
        })
        .collect();
    let neighbours = names.layout(process, line).into_iter().filter(|named| {
        let end = named.offset.saturating_add(named.width);
        cells.iter().all(|cell| cell.extent.end() <= named.offset || end <= cell.extent.offset)
    });
    ranges.extend(neighbours.map(|named| ByteRange {
        offset: named.offset,
        width: named.width,
        field: Some(named.name),
        readers: Vec::new(),
        writers: Vec::new(),
    }));
    ranges.sort_by_key(|range| range.offset);
    ranges
}

fn busiest_pair(exchange: &Exchange) -> Option<ThreadPair> {
    let all = exchange.volume.all();
    let ((first, second), volume) =
        exchange.pairs.iter().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)))?;
    (all > 0.0).then(|| ThreadPair { first: *first, second: *second, fraction: volume / all })
}
