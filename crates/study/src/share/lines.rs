//! Contended lines: their choice, their order, and the findings on each.

use std::collections::{BTreeMap, BTreeSet};

use carom_base::{Addr, Line, ProcessId};
use carom_study_stats::TimeBlocks;

use super::analyse::Roster;
use super::extent::Extent;
use super::layout::{Cell, Part};
use super::primitive;
use super::ranges;
use super::remedy::{Elements, remedy};
use super::tally::{Exchange, LineKey, LineTally, SiteKey, SiteTally};
use super::volumes::fraction;
use super::{
    Contended, Handed, LineFinding, MAX_LINES, MAX_SITES, MAX_USERS, Parts, Primitive, Remedy, SharedLine,
    Site, ThreadPair,
};
use crate::Estimate;
use crate::recording::Names;
use crate::symbols::{DataObject, Frame, ObjectKind};

/// The lines in the order of the report: by share of thread time or of accesses, then by events.
pub(super) fn ranked(lines: BTreeMap<LineKey, LineTally>) -> Vec<(LineKey, LineTally)> {
    let mut ranked: Vec<(LineKey, LineTally)> = lines.into_iter().collect();
    let hits = |tally: &LineTally| tally.hits.total().hits;
    ranked.sort_by(|(ka, a), (kb, b)| {
        hits(b).total_cmp(&hits(a)).then(b.events().cmp(&a.events())).then(ka.cmp(kb))
    });
    ranked
}

/// The findings on the first of these lines. `all` are the samples of the whole recording of which these are shares.
pub(super) fn findings(
    ranked: &[(LineKey, LineTally)],
    all: &TimeBlocks,
    roster: Roster<'_>,
    names: &mut dyn Names,
) -> Vec<LineFinding> {
    ranked.iter().take(MAX_LINES).map(|(key, tally)| finding(*key, tally, all, roster, names)).collect()
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
    let cells = &tally.cells;
    let layout = ranges::layout(process, line, cells, names);
    let name =
        |cell: &Cell| layout.iter().find(|r| r.offset == cell.extent.offset).and_then(|r| r.field.clone());
    let (basis, exchange) = tally.basis();
    let samples = all.total().weight;
    let busiest = tally.busiest().map_or(0, |extent| extent.offset);
    let named: Vec<Site> = sites
        .into_iter()
        .take(MAX_SITES)
        .map(|(key, site)| named_site((roster.process(key.thread), process), line, key, site, samples, names))
        .collect();
    let contention = |cell: &Cell, part: &Part| Contended {
        primitive: part.of,
        name: match part.of {
            Primitive::LibraryState => called(&named, cell.extent),
            of if of.is_of_library() => None,
            _ => part.whole.clone().or_else(|| Some(primitive::whole(&name(cell)?).to_owned())),
        },
        users: users_of(&named, part.of, cell.extent),
        elsewhere: false,
        several: false,
    };
    let array = names.array(process, byte(line, busiest)).map(|of| Elements { of, line });
    let mut remedy = remedy(exchange, &tally.exchanged, cells, tally.alike, name, array, contention);
    if let Remedy::ShareLess { offset, handed, .. } = &mut remedy
        && let Some(cell) = cells.iter().find(|cell| cell.extent.offset == *offset)
        && let Some(by_one) = tally.handed.get(&cell.array)
    {
        *handed = Some(Handed { array: cell.array.clone(), by_one: *by_one });
    }
    if let Remedy::Pad(padding) | Remedy::PadThenShareLess { padding, .. } = &mut remedy
        && padding.of == Parts::Fields
    {
        let first = cells.first().map(|cell| cell.extent.offset);
        let begins = first.iter().chain(&padding.at_line_offsets);
        padding.of =
            parts(&begins.map(|offset| names.object(process, byte(line, *offset))).collect::<Vec<_>>());
    }
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
        remedy,
        layout: ranges::with_whole_locks(layout, cells),
        sites: named,
    }
}

/// What parts are that lie in these objects.
fn parts(objects: &[DataObject]) -> Parts {
    let is_block = |object: &DataObject| object.kind == ObjectKind::Heap && object.size.is_some();
    // The object begins so many bytes before the line.
    let one = objects.iter().all(|object| objects.first().is_some_and(|first| first.offset == object.offset));
    let is_again =
        |(index, object): (usize, &DataObject)| objects.iter().take(index).any(|o| o.offset == object.offset);
    let of_heap = objects.iter().all(|object| object.kind == ObjectKind::Heap);
    match objects {
        _ if one => Parts::Fields,
        // Blocks would go on to be shared, each by itself.
        heap if of_heap && heap.iter().enumerate().any(is_again) => Parts::Fields,
        blocks if blocks.iter().all(is_block) => Parts::Blocks,
        _ => Parts::Variables,
    }
}

/// The functions of the program that use a primitive, most samples first, each with the line where most of them take it.
pub(super) fn users<'a>(sites: impl Iterator<Item = &'a Site>, of: Primitive) -> Vec<Frame> {
    let mut sites: Vec<&Site> = sites.filter(|site| primitive::of_path(&site.frames) == Some(of)).collect();
    // A function that ends by giving a lock back is left already: its caller would seem to take it.
    if sites.iter().any(|site| !primitive::gives_back(&site.frames)) {
        sites.retain(|site| !primitive::gives_back(&site.frames));
    }
    let mut found: Vec<(Frame, u64)> = Vec::new();
    for site in sites {
        let Some(user) = primitive::user(&site.frames) else { continue };
        // A generic function has a name for each type that it is used with, and one place.
        let same = |known: &Frame| {
            known.file == user.file
                && (known.function == user.function || known.line.is_some() && known.line == user.line)
        };
        let known = found.iter_mut().find(|(known, _)| same(known));
        match known {
            // Sites come with most samples first.
            Some((_, seen)) => *seen += site.seen,
            None => found.push((user.clone(), site.seen)),
        }
    }
    found.sort_by_key(|(_, seen)| std::cmp::Reverse(*seen));
    found.into_iter().map(|(frame, _)| frame).take(MAX_USERS).collect()
}

/// The same for a primitive with these bytes: where only its field tells what it is, those that touch it.
fn users_of(sites: &[Site], of: Primitive, extent: Extent) -> Vec<Frame> {
    let known = users(sites.iter(), of);
    if !known.is_empty() {
        return known;
    }
    let touching = sites
        .iter()
        .filter(|site| Extent { offset: site.offset, width: site.width }.common(extent).is_some());
    let mut found: Vec<Frame> = Vec::new();
    for user in touching.filter_map(|site| primitive::user(&site.frames)) {
        if found.iter().all(|known| known.function != user.function) {
            found.push(user.clone());
        }
    }
    found.truncate(MAX_USERS);
    found
}

/// The function of a library that most of those call who touch these bytes.
fn called(sites: &[Site], extent: Extent) -> Option<String> {
    let touching = sites
        .iter()
        .filter(|site| Extent { offset: site.offset, width: site.width }.common(extent).is_some());
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    for site in touching {
        if let Some(function) = primitive::called(&site.frames) {
            *seen.entry(function).or_default() += site.seen;
        }
    }
    seen.into_iter().max_by_key(|(_, seen)| *seen).map(|(function, _)| function.to_owned())
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
        splits_line: key.splits_line,
        field: names.field(keeper, byte(line, key.extent.offset), key.extent.width),
        frames: names.call_path(process, key.ip, tally.stack()),
        share: if samples > 0.0 { tally.hits / samples } else { 0.0 },
        seen: tally.seen,
    }
}

fn busiest_pair(exchange: &Exchange) -> Option<ThreadPair> {
    let all = exchange.volume.all();
    let ((first, second), volume) =
        exchange.pairs.iter().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)))?;
    (all > 0.0).then(|| ThreadPair { first: *first, second: *second, fraction: volume / all })
}
