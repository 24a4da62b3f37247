//! What is contended, ranked, each with its worst line.

use std::collections::HashSet;

use super::{class_of, left_out, picture};
use crate::{
    model::{CheckOutcome, Line, ObjectKind, Share, SharedPlace, SharingFinding},
    share::same_code::{OVER_TWO_LINES, SameCode, same_code},
    text::{
        Options,
        page::{Page, Style, fit_function, path},
    },
    words::{self, ThreadNames},
};

/// Sites printed per line: those of different source lines that have most of the samples, and in full.
const TELLING_SITES: usize = 2;

/// Accesses that take less than this part are not told of, unless there are no others.
const HARDLY_ANY: f64 = 0.001;

/// Columns of a list of threads.
const THREADS_WIDTH: usize = 24;
const SITES: usize = 8;

/// More processes than this are counted instead of listed.
const PLACES: usize = 3;

/// The findings with the pictures, sites and remedies of their worst lines.
pub fn print(page: &mut Page, share: &Share, names: &ThreadNames, options: &Options) {
    if share.lines.is_empty() {
        return;
    }
    page.heading("Contended data");
    for (rank, finding) in share.findings.iter().take(options.lines).enumerate() {
        let Some(line) = finding.lines.first().and_then(|&number| share.lines.get(number)) else { continue };
        page.end();
        head(page, rank + 1, finding, line);
        picture::print(page, line, names, options.verbose);
        let lines = finding.lines.iter().filter_map(|&number| share.lines.get(number));
        sites(page, &same_code(lines), names, options);
        page.indented(Style::Green, 5, "remedy    ", &finding.remedy.text);
        // A withdrawn remedy says so itself.
        if let Some(check) =
            finding.remedy.check.as_ref().filter(|check| check.outcome != CheckOutcome::Withdrawn)
        {
            page.indented(Style::Plain, 5, "checked   ", &check.text);
        }
        if options.verbose && !finding.remedy.evidence.is_empty() {
            page.indented(Style::Plain, 5, "evidence  ", &finding.remedy.evidence);
        }
    }
    let more = left_out(share, options);
    if more > 0 {
        page.end().put(Style::Dim, &format!("… and {}.", words::count(more, "more finding"))).end();
    }
    if share.other_lines > 0 {
        let text = format!("{} with too few events to judge.", words::count(share.other_lines, "more line"));
        page.end().put(Style::Dim, &text).end();
    }
}

/// ` 1.  17% (±1.3)  96% false sharing  global `stats` (app.c:12)`, and where in it the worst line lies.
fn head(page: &mut Page, rank: usize, finding: &SharingFinding, line: &Line) {
    let class = class_of(finding, line);
    let colour = if finding.false_sharing > finding.true_sharing { Style::Orange } else { Style::Blue };
    // Lines that were not seen to be shared are not in it.
    let least = if finding.spread && finding.share_interval.estimate.0 > 0.0 { "at least " } else { "" };
    let share = words::percent_with_error(&finding.share_interval);
    page.put(Style::Bold, &format!("{rank:>2}.  {least}{share}"));
    page.plain("  ").put(colour, &class).plain("  ");
    let object = &finding.object;
    if !object.name.starts_with(object.kind.name()) {
        page.plain(object.kind.name()).plain(" ");
    }
    page.put(Style::Cyan, &object.name);
    if let Some(place) =
        object.declared.as_ref().and_then(|frame| words::place(frame.file.as_deref(), frame.line))
    {
        page.put(Style::Dim, &format!("  {place}"));
    }
    page.end();
    let lines = finding.lines.len() + finding.other_lines;
    if lines > 1 {
        page.put(Style::Dim, &format!("     {}, the worst:", words::count(lines, "cache line"))).end();
    }
    let (offset, size) = (line.object.offset_bytes, line.object.size_bytes);
    let position = match offset {
        // Of the heap as a whole.
        _ if line.object.kind == ObjectKind::Heap && size.is_none() => String::new(),
        0 => ", the object begins with it".to_owned(),
        1.. => format!(", it begins at byte {offset} of the object"),
        _ => format!(", the object begins at byte {} of the line", offset.unsigned_abs()),
    };
    let size = size.map(|size| format!(" ({} bytes)", words::thousands(size))).unwrap_or_default();
    if let Some(shared) = &line.shared {
        let place = |place: &SharedPlace| match &place.address {
            Some(address) => format!("process {} at {address}", place.process),
            None => format!("process {}", place.process),
        };
        let places: Vec<String> = shared.processes.iter().map(place).collect();
        let places = match places.len() {
            many if many > PLACES => format!("{many} processes"),
            _ => words::sentence_list(&places),
        };
        let text = format!("     line at offset {:#x}{size}: {places}", shared.offset_bytes);
        page.put(Style::Dim, &text).end();
        return;
    }
    let process = if line.process == 0 { String::new() } else { format!(" of process {}", line.process) };
    page.put(Style::Dim, &format!("     line {}{process}{position}{size}", line.address)).end();
    if !line.object.allocation.is_empty() {
        page.indented(Style::Dim, 5, "allocated ", &path(&line.object.allocation));
    }
}

/// Those that are printed, of `groups`.
fn chosen<'a, 'b>(groups: &'b [SameCode<'a>], options: &Options) -> Vec<&'b SameCode<'a>> {
    if options.verbose {
        return groups.iter().take(SITES).collect();
    }
    let (mut places, first) = (HashSet::new(), groups.first().map(|group| group.share));
    let telling = groups.iter().take_while(|group| group.share >= HARDLY_ANY || Some(group.share) == first);
    telling.filter(|group| places.insert(group.place())).take(TELLING_SITES).collect()
}

/// The names of threads, or their number where these have no room.
fn threads(ids: &[u32], names: &ThreadNames) -> String {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    match names.list(&sorted) {
        long if ids.len() > 1 && long.chars().count() > THREADS_WIDTH => format!("{} threads", ids.len()),
        list => list,
    }
}

/// The code that accesses the lines of a finding: the shares add up to the finding's.
fn sites(page: &mut Page, groups: &[SameCode<'_>], names: &ThreadNames, options: &Options) {
    let chosen = chosen(groups, options);
    let places = |group: &SameCode<'_>| match group.touched.as_slice() {
        _ if group.lines > 1 => words::count(group.lines, "cache line"),
        [only] => only.clone(),
        many if many.iter().any(|range| range.ends_with(OVER_TWO_LINES)) => {
            format!("{} ranges, some{OVER_TWO_LINES}", many.len())
        }
        many => format!("{} ranges", many.len()),
    };
    let shown: Vec<(String, String, &SameCode<'_>)> =
        chosen.iter().map(|group| (threads(&group.threads, names), places(group), *group)).collect();
    let thread_width = shown.iter().map(|row| row.0.chars().count()).max().unwrap_or(0).min(THREADS_WIDTH);
    let field_width = shown.iter().map(|row| row.1.chars().count()).max().unwrap_or(0).min(32);
    for (threads, touched, group) in &shown {
        let site = group.site;
        page.put(Style::Bold, &format!("     {:>6}  ", words::percent(group.share)));
        page.cell(Style::Plain, threads, thread_width).plain("  ");
        page.cell(Style::Plain, site.kind.name(), 5).plain("  ");
        page.cell(Style::Plain, touched, field_width).plain("  ");
        let used = 5 + 8 + thread_width + 2 + 7 + field_width + 2;
        let (function, at) = group.place();
        let at = at.map(|at| format!("  {at}")).unwrap_or_default();
        let room = page.width().saturating_sub(used + at.chars().count()).max(12);
        page.put(Style::Cyan, &fit_function(function.unwrap_or("(no symbol)"), room));
        page.put(Style::Dim, &at).end();
        if !group.callers().is_empty() {
            page.indented(Style::Dim, 13, "← ", &path(group.callers()));
        }
    }
    let printed: HashSet<_> = chosen.iter().map(|group| group.place()).collect();
    let elsewhere: f64 =
        groups.iter().filter(|group| !printed.contains(&group.place())).map(|group| group.share).sum();
    if !options.verbose && elsewhere >= HARDLY_ANY {
        let text = format!("             … and {} elsewhere", words::percent(elsewhere));
        page.put(Style::Dim, &text).end();
    }
    if options.verbose && groups.len() > SITES {
        let more = words::count(groups.len() - SITES, "more site");
        page.put(Style::Dim, &format!("             … and {more}")).end();
    }
}
