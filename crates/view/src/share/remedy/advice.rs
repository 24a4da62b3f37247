//! What to do about data that threads share, in words.

use std::ops::Range;

use carom_base::LINE_BYTES;
use carom_study::{
    share::{ByteRange, Handed, LineFinding, Padding, Parts},
    symbols::{self, ArrayObject, DataObject, ObjectKind},
};

use super::language::Language;
use crate::words;

/// More parts than this are summed up instead of listed.
const LISTED: usize = 3;

/// More false sharing than this part asks for a reason why padding does not help.
pub const SOME_FALSE: f64 = 0.2;

/// False sharing: ``Start `q.tail` on its own cache line: `alignas(64)`.``
pub fn part(finding: &LineFinding, object: &DataObject, padding: &Padding) -> String {
    match &padding.of {
        Parts::Elements(array) => elements(finding, array),
        Parts::Pieces => pieces(finding, object),
        _ if is_unnamed(object) => {
            "Start each thread's part on its own cache line. Which allocation this is was not recorded."
                .into()
        }
        Parts::Repeated(bytes) => repeated(finding, object, *bytes),
        Parts::Fields if object.kind == ObjectKind::Heap && padding.fields.iter().all(String::is_empty) => {
            format!(
                "Different threads use neighbouring parts of `{}`. Let each thread work on a variable of its own and store it once \
             at the end, or start each part on its own cache line.",
                object.name
            )
        }
        Parts::Fields => fields(finding, &object.name, padding),
        Parts::Variables => variables(finding, padding),
        Parts::Blocks => blocks(finding, padding),
    }
}

/// A heap block of which nobody knows the allocation.
pub(super) fn is_unnamed(object: &DataObject) -> bool {
    object.kind == ObjectKind::Heap && object.allocation.is_empty()
}

/// The first field may stay where it is; the others go to the offsets, in order.
fn fields(finding: &LineFinding, object: &str, padding: &Padding) -> String {
    let parts = names(finding, &padding.at_line_offsets, padding.fields.get(1..).unwrap_or_default());
    let align = Language::of(finding).align_field();
    match parts.as_slice() {
        [] => format!("Start each thread's part of `{object}` on its own cache line: {align}."),
        [only] => format!("Start {only} on its own cache line: {align}."),
        parts if parts.len() <= LISTED => {
            format!("Start {} on cache lines of their own: {align} for each.", words::sentence_list(parts))
        }
        parts => format!(
            "Different threads use the {} parts of `{object}` on this line. Start each on its own cache line: {align} for \
             each.",
            parts.len() + 1
        ),
    }
}

/// Variables may be put in any order: each has to begin a line.
fn variables(finding: &LineFinding, padding: &Padding) -> String {
    let language = Language::of(finding);
    let align = language.align_field();
    let all = all(finding, padding);
    let parts = match all.len() {
        0..=LISTED => words::sentence_list(&all),
        many => format!("the {many} variables on this line"),
    };
    match language {
        Language::Fortran => format!("Declare {LINE_BYTES} unused bytes between {parts}."),
        _ => format!("Start {parts} on cache lines of their own: {align} for each."),
    }
}

fn blocks(finding: &LineFinding, padding: &Padding) -> String {
    let number = padding.at_line_offsets.len() + 1;
    let allocate = Language::of(finding).allocate();
    format!(
        "The allocator has put {number} blocks on this line, and different threads use them. Begin each at a \
         {LINE_BYTES}-byte boundary ({allocate}), or let each thread allocate its own."
    )
}

/// All parts by name.
fn all(finding: &LineFinding, padding: &Padding) -> Vec<String> {
    let first = finding.layout.iter().find(|range| !range.readers.is_empty() || !range.writers.is_empty());
    let offsets: Vec<u32> =
        first.map(|range| range.offset).into_iter().chain(padding.at_line_offsets.iter().copied()).collect();
    names(finding, &offsets, &padding.fields)
}

/// What begins at these offsets, by these names where they are known.
fn names(finding: &LineFinding, offsets: &[u32], names: &[String]) -> Vec<String> {
    let name = |(index, &offset): (usize, &u32)| {
        let name = names.get(index).filter(|name| !name.is_empty()).map(String::as_str);
        let name = name.or_else(|| range_at(finding, offset)?.field.as_deref()).map(declared);
        let next = offsets.get(index + 1).copied().unwrap_or(u32::MAX);
        name.map_or_else(|| bytes(finding, offset..next), |name| format!("`{name}`"))
    };
    offsets.iter().enumerate().map(name).collect()
}

/// The name up to the first part that is reserved for a library: what the program's author has declared and can move.
fn declared(name: &str) -> &str {
    let mut components = name.match_indices('.').map(|(at, _)| at);
    let reserved = components.find(|at| name.get(at + 1..).is_some_and(symbols::is_reserved));
    reserved.and_then(|at| name.get(..at)).unwrap_or(name)
}

/// The bytes that threads touch in this part of the line.
fn bytes(finding: &LineFinding, part: Range<u32>) -> String {
    let ends = finding
        .layout
        .iter()
        .filter(|range| part.contains(&range.offset))
        .map(|range| range.offset + range.width);
    match ends.max() {
        Some(end) => words::bytes(part.start, end - part.start),
        None => format!("what begins at byte {}", part.start),
    }
}

/// False sharing between the elements of an array.
fn elements(finding: &LineFinding, array: &ArrayObject) -> String {
    let whole = array.name.as_ref().map_or("The block".to_owned(), |name| format!("`{name}`"));
    let ArrayObject { element, element_bytes: bytes, .. } = array;
    let language = Language::of(finding);
    let head = format!(
        "{whole} is an array of `{element}`, {} each, and different threads use neighbours",
        words::count(*bytes as usize, "byte")
    );
    match array.is_of_records() {
        _ if bytes % LINE_BYTES == 0 => format!(
            "{head}; it does not begin with a cache line. Allocate it at a {LINE_BYTES}-byte boundary ({}).",
            language.allocate()
        ),
        true => format!("{head}. Align the type to {LINE_BYTES} bytes: {}.", language.align_type()),
        false if array.is_of_library_records() => {
            format!("{head}. Give each element a cache line ({}).", language.spread_elements())
        }
        false => format!(
            "{head}. Let each thread work on a variable of its own and store it once at the end{}, or give each element a \
             cache line ({}).",
            in_openmp(finding, " (in OpenMP: `reduction`)"),
            language.spread_elements()
        ),
    }
}

/// False sharing between parts of an object that are elements, though no type tells so.
fn repeated(finding: &LineFinding, object: &DataObject, bytes: u64) -> String {
    let language = Language::of(finding);
    format!(
        "Different threads use neighbouring parts of `{}`, {bytes} bytes each. Start each of them on its own cache line: {}; or let each \
         thread work on a variable of its own and store it once at the end.",
        object.name,
        language.align_type()
    )
}

/// False sharing of an array all along.
fn pieces(finding: &LineFinding, object: &DataObject) -> String {
    let schedule = in_openmp(finding, ", in OpenMP by `schedule(static)` without a chunk size");
    if let Some(columns) = matrix(finding) {
        let (whole, index) = if columns { ("columns", "last") } else { ("rows", "first") };
        return format!(
            "Neighbouring elements of `{}` belong to different threads, on many lines. Run the parallel loop over the {index} \
             index, so that each thread has whole {whole}.",
            object.name
        );
    }
    let otherwise = match is_unnamed(object) {
        true => " If these are many objects, start each thread's on cache lines of their own.",
        false => "",
    };
    format!(
        "Neighbouring elements of {} belong to different threads, on many lines. Let each thread take a contiguous \
         piece{schedule}.{otherwise}",
        if is_unnamed(object) { "this memory".to_owned() } else { format!("`{}`", object.name) }
    )
}

/// Whether the elements of a line are of a matrix, by their subscripts; if so, whether its columns lie in one piece.
fn matrix(finding: &LineFinding) -> Option<bool> {
    let mut fields = finding.layout.iter().filter_map(|range| range.field.as_deref());
    fields.find_map(|field| match field.rsplit_once('(') {
        Some((_, subscripts)) if subscripts.contains(',') => Some(true),
        _ => field.contains("][").then_some(false),
    })
}

/// What to say of threads that OpenMP has made; nothing of others.
fn in_openmp(finding: &LineFinding, text: &'static str) -> &'static str {
    const RUNTIMES: [&str; 3] = ["libgomp", "libomp", "libiomp"];
    let runs = |frame: &symbols::Frame| {
        let module = frame.module.as_ref().and_then(|path| path.file_name());
        module.is_some_and(|name| RUNTIMES.iter().any(|runtime| name.to_string_lossy().starts_with(runtime)))
    };
    if finding.sites.iter().flat_map(|site| &site.frames).any(runs) { text } else { "" }
}

/// True sharing of what threads write for each other.
pub fn hand_over(object: &DataObject, handed: &Handed) -> String {
    let what = match &handed.array {
        Some(array) => format!("`{array}`"),
        None if is_unnamed(object) => "this memory".to_owned(),
        None => format!("`{}`", object.name),
    };
    let how = match handed.by_one {
        true => format!(
            "One thread writes {what} for others, and its lines move to them with that. Hand over several elements at a time, \
             so that each line moves once."
        ),
        false => format!(
            "Threads write {what} for each other, and its lines move between them with that. Let the thread that has a piece \
             go on with it, or hand over less."
        ),
    };
    format!("{how} Padding does not help: it would make more lines of them.")
}

/// True sharing of data.
pub fn share_less(finding: &LineFinding, object: &DataObject, offset: u32, width: u32) -> String {
    let range = range_at(finding, offset);
    let field = range.and_then(|range| range.field.as_deref());
    let bytes = words::bytes(offset, width);
    let what = match field {
        None if is_unnamed(object) => format!("{bytes} of this line"),
        name => format!("`{}` ({bytes})", name.map_or(object.name.as_str(), declared)),
    };
    let why = if is_partly_false(finding) {
        "the same threads use the other fields here, too, and what they write would still move between them"
    } else {
        "the threads touch the same bytes"
    };
    format!("Update {what} less often. {}. Padding does not help: {why}.", how_to_share_less(finding, range))
}

/// True sharing of the elements of an array, all alike.
pub fn share_elements_less(finding: &LineFinding, object: &DataObject, offset: u32) -> String {
    let range = range_at(finding, offset);
    let how = how_to_share_less(finding, range);
    // Elements of a heap block are called by their type.
    let array = range
        .filter(|_| object.kind != ObjectKind::Heap)
        .and_then(|range| range.field.as_deref()?.split(['[', '(']).next());
    let elements = match is_unnamed(object) {
        true => "this memory".to_owned(),
        false => format!("the elements of `{}`", array.unwrap_or(&object.name)),
    };
    let why = if is_partly_false(finding) {
        "the same threads use the neighbours, too, and what they write would still move between them"
    } else {
        "the threads touch the same elements"
    };
    format!("Update {elements} less often. {how}. Padding does not help: {why}.")
}

fn is_partly_false(finding: &LineFinding) -> bool {
    finding.false_sharing > SOME_FALSE * (finding.true_sharing + finding.false_sharing)
}

fn how_to_share_less(finding: &LineFinding, range: Option<&ByteRange>) -> &'static str {
    let writers = range.map_or(0, |range| range.writers.len());
    let readers = range.map_or(0, |range| range.readers.len());
    let in_openmp = in_openmp(
        finding,
        "If threads only add to it, use a `reduction`, which gives each its own copy; else batch the updates",
    );
    match in_openmp {
        _ if writers == 1 && readers > 0 => {
            "Hand over several at a time, or let each reader keep a copy and look again only when it has to"
        }
        "" => "Give each thread its own copy and combine them when they are read, or batch the updates",
        reduction => reduction,
    }
}

fn range_at(finding: &LineFinding, offset: u32) -> Option<&ByteRange> {
    finding.layout.iter().find(|range| range.offset == offset)
}

#[cfg(test)]
mod tests {
    use carom_base::Addr;
    use carom_study::share::Parts;

    use super::*;
    use crate::sample;

    fn advice(element: &str) -> String {
        let line = sample::two().1.lines.remove(0);
        let of = ArrayObject {
            base: Addr(0),
            name: Some("of_thread".into()),
            element: element.into(),
            element_bytes: 8,
        };
        part(
            &line,
            &line.object,
            &Padding { at_line_offsets: vec![8], fields: Vec::new(), of: Parts::Elements(of) },
        )
    }

    /// Nobody can align the types of a library.
    #[test]
    fn elements_of_types_of_a_library_get_a_line_each() {
        let ends = |element: &str, end: &str| assert!(advice(element).ends_with(end), "{}", advice(element));
        ends("struct worker", "Align the type to 64 bytes: `_Alignas(64)` at its first member.");
        ends(
            "struct Mutex<Job>",
            "Give each element a cache line (an array of structs that are aligned to 64 bytes).",
        );
        ends(
            "long int",
            "or give each element a cache line (an array of structs that are aligned to 64 bytes).",
        );
        assert_eq!(advice("struct AtomicU64").replace("struct AtomicU64", "long int"), advice("long int"));
    }

    #[test]
    fn parts_of_one_size_begin_lines_all_along() {
        let line = sample::two().1.lines.remove(0);
        let padding =
            Padding { at_line_offsets: vec![16, 32, 48], fields: Vec::new(), of: Parts::Repeated(16) };
        let text = part(&line, &line.object, &padding);
        let begin =
            format!("Different threads use neighbouring parts of `{}`, 16 bytes each.", line.object.name);
        assert!(text.starts_with(&begin), "{text}");
    }

    /// Fields of `std::vector` and its like.
    #[test]
    fn names_end_where_those_of_a_library_begin() {
        let names =
            ["results._M_impl._M_finish", "lists[2].head.__next", "server._requests", "plain"].map(declared);
        assert_eq!(names, ["results", "lists[2].head", "server._requests", "plain"]);
    }
}
