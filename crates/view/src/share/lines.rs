//! Contended lines, laid out.

use carom_base::{AccessKind, Addr, Population, ProcessId, ThreadId};
use carom_study::{
    share::{ByteRange, Check, LineFinding, ObjectFinding, SharedLine},
    symbols::DataObject,
};

use super::{interval, remedy};
use crate::{
    model::{
        Basis, Bytes, Line, Real, SharedMemory, SharedPlace, SharingFinding, Site, SiteKind, ThreadPair,
    },
    named::{frame, hexadecimal, object},
    words::ThreadNames,
};

/// One line with its sites, its bytes and what to do about it. `check`: what a simulation said of that.
pub fn line(finding: &LineFinding, check: Option<&Check>, names: &ThreadNames) -> Line {
    Line {
        process: finding.process.0,
        address: hexadecimal(finding.address.0),
        shared: finding.shared.as_ref().map(|line| shared(line, &finding.object)),
        share_of_samples: Real(finding.share.value),
        share_interval: interval(finding.share),
        true_sharing: Real(finding.true_sharing),
        false_sharing: Real(finding.false_sharing),
        false_fraction: finding.false_fraction.map(interval),
        basis: match finding.basis {
            Population::Step => Basis::Step,
            Population::LastInstruction => Basis::LastInstruction,
        },
        events: finding.events,
        pair: finding
            .pair
            .map(|pair| ThreadPair { threads: [pair.first.0, pair.second.0], fraction: Real(pair.fraction) }),
        object: object(&finding.object),
        sites: finding.sites.iter().map(site).collect(),
        layout: finding.layout.iter().map(bytes).collect(),
        remedy: remedy::remedy(finding, check, names),
    }
}

/// What is contended. `lines`: those of the report.
pub fn finding(found: &ObjectFinding, lines: &[LineFinding], names: &ThreadNames) -> Option<SharingFinding> {
    let worst = lines.get(*found.lines.first()?)?;
    Some(SharingFinding {
        object: object(&found.object),
        share_interval: interval(found.share),
        following: found.following.map(Real),
        spread: found.spread,
        true_sharing: Real(found.true_sharing),
        false_sharing: Real(found.false_sharing),
        events: found.events,
        lines: found.lines.clone(),
        other_lines: found.other_lines,
        remedy: remedy::remedy_for(&found.object, &found.remedy, worst, found.check.as_ref(), names),
    })
}

fn shared(line: &SharedLine, object: &DataObject) -> SharedMemory {
    let place = |(process, address): &(ProcessId, Option<Addr>)| SharedPlace {
        process: process.0,
        address: address.map(|address| hexadecimal(address.0)),
    };
    SharedMemory {
        segment: object.name.clone(),
        offset_bytes: line.offset,
        processes: line.places.iter().map(place).collect(),
    }
}

fn site(site: &carom_study::share::Site) -> Site {
    let innermost = site.frames.first();
    Site {
        thread: site.thread.0,
        kind: match site.kind {
            AccessKind::Load => SiteKind::Load,
            AccessKind::Store => SiteKind::Store,
            AccessKind::ReadModifyWrite => SiteKind::Rmw,
        },
        offset_bytes: site.offset,
        width_bytes: site.width,
        splits_line: site.splits_line,
        field: site.field.clone(),
        function: innermost.and_then(|frame| frame.function.clone()),
        file: innermost.and_then(|frame| frame.file.clone()),
        line: innermost.and_then(|frame| frame.line),
        share_of_samples: Real(site.share),
        seen: site.seen,
        call_path: site.frames.iter().map(frame).collect(),
    }
}

fn bytes(range: &ByteRange) -> Bytes {
    let ids = |threads: &[ThreadId]| threads.iter().map(|thread| thread.0).collect();
    Bytes {
        offset_bytes: range.offset,
        width_bytes: range.width,
        field: range.field.clone(),
        readers: ids(&range.readers),
        writers: ids(&range.writers),
    }
}
