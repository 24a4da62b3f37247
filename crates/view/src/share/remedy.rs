//! The remedy in words, with the evidence for it.

use carom_base::{LINE_BYTES, ThreadId};
use carom_study::{
    share::{ByteRange, LineFinding, Remedy as Advice},
    symbols::ObjectKind,
};

use crate::{
    model::{Remedy, RemedyKind},
    words::{self, ThreadNames},
};

/// More parts than this are summed up instead of listed.
const LISTED: usize = 3;

/// What to do about one line.
pub fn remedy(finding: &LineFinding, names: &ThreadNames) -> Remedy {
    let (kind, offsets, text) = match &finding.remedy {
        Advice::Pad { at_line_offsets, fields } => {
            (RemedyKind::Pad, at_line_offsets.clone(), pad(finding, at_line_offsets, fields))
        }
        Advice::ShareLess { offset, width } => {
            (RemedyKind::ShareLess, Vec::new(), share_less(finding, *offset, *width))
        }
        Advice::PadThenShareLess { at_line_offsets } => (
            RemedyKind::PadThenShareLess,
            at_line_offsets.clone(),
            format!(
                "First {}; then measure again, for some bytes are exchanged for real.",
                pad(finding, at_line_offsets, &[]).trim_end_matches('.').replacen("Put", "put", 1)
            ),
        ),
    };
    Remedy { kind, at_line_offsets_bytes: offsets, text, evidence: evidence(finding, names) }
}

/// `Put a on a line of its own: alignas(64) at offset 8 of `stats`.`
fn pad(finding: &LineFinding, offsets: &[u32], fields: &[String]) -> String {
    if finding.object.kind == ObjectKind::Heap && finding.object.allocation.is_empty() {
        return format!(
            "Give each thread's part a line of its own: alignas({LINE_BYTES}). Record with --objects to see which \
             allocation this is."
        );
    }
    let object = &finding.object.name;
    // The first field may stay where it is; the others go to the offsets, in order.
    let part = |index: usize, offset: u32| {
        let name = fields.get(index + 1).filter(|name| !name.is_empty()).map(String::as_str);
        let name = name.or_else(|| range_at(finding, offset).and_then(|range| range.field.as_deref()));
        let bytes = range_at(finding, offset).map_or_else(
            || format!("what begins at byte {offset} of the line"),
            |range| words::bytes(range.offset, range.width),
        );
        name.map_or(bytes, |name| format!("`{name}`"))
    };
    let parts: Vec<String> = offsets.iter().enumerate().map(|(index, &offset)| part(index, offset)).collect();
    match (parts.as_slice(), offsets) {
        ([only], [offset]) => {
            let at = finding.object.offset.saturating_add(i64::from(*offset));
            format!("Put {only} on a line of its own: alignas({LINE_BYTES}) at offset {at} of `{object}`.")
        }
        ([], _) => format!("Give each thread's part of `{object}` a line of its own: alignas({LINE_BYTES})."),
        (parts, _) if parts.len() <= LISTED => {
            format!(
                "Put {} on lines of their own: alignas({LINE_BYTES}) on each.",
                words::sentence_list(parts)
            )
        }
        (parts, _) => format!(
            "Give each of the {} parts of `{object}` on this line a line of its own: alignas({LINE_BYTES}) on each.",
            parts.len() + 1
        ),
    }
}

fn range_at(finding: &LineFinding, offset: u32) -> Option<&ByteRange> {
    finding.layout.iter().find(|range| range.offset == offset)
}

fn share_less(finding: &LineFinding, offset: u32, width: u32) -> String {
    let what =
        range_at(finding, offset).and_then(|range| range.field.as_deref()).unwrap_or(&finding.object.name);
    format!(
        "Exchange `{what}` ({}) less often: give each thread its own copy and combine them at the end, or batch \
         the updates. Padding does not help: the threads touch the same bytes.",
        words::bytes(offset, width)
    )
}

/// Who does what to which bytes, and how much of the sharing is false.
fn evidence(finding: &LineFinding, names: &ThreadNames) -> String {
    let ids = |threads: &[ThreadId]| threads.iter().map(|thread| thread.0).collect::<Vec<_>>();
    let clause = |range: &ByteRange| {
        let bytes = words::bytes(range.offset, range.width);
        let (writers, readers) = (ids(&range.writers), ids(&range.readers));
        let verb = |threads: &[u32], one: &str, many: &str| {
            format!("{} {}", names.list(threads), if threads.len() == 1 { one } else { many })
        };
        match (writers.is_empty(), readers.is_empty()) {
            (false, true) => Some(format!("{} {bytes}", verb(&writers, "writes", "write"))),
            (true, false) => Some(format!("{} {bytes}", verb(&readers, "reads", "read"))),
            (false, false) if writers == readers => {
                Some(format!("{} {bytes}", verb(&writers, "reads and writes", "read and write")))
            }
            (false, false) => Some(format!(
                "{} {bytes}, which {}",
                verb(&writers, "writes", "write"),
                verb(&readers, "reads", "read")
            )),
            (true, true) => None,
        }
    };
    let mut clauses: Vec<String> = finding.layout.iter().filter_map(clause).collect();
    if clauses.len() > LISTED {
        let more = clauses.split_off(LISTED).len();
        clauses.push(format!("and so on for {}", words::count(more, "more range")));
    }
    let sharing = finding.true_sharing + finding.false_sharing;
    if sharing > 0.0 {
        let part = match finding.false_sharing / sharing {
            none if none <= 0.0 => "all sharing seen is true".into(),
            all if all >= 1.0 => "all sharing seen is false".into(),
            part => format!("{} of the sharing seen is false", words::percent(part)),
        };
        clauses.push(part);
    }
    clauses.join("; ")
}
