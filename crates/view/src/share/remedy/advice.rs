//! What to do about a line, in words.

use carom_base::LINE_BYTES;
use carom_study::{
    share::{ByteRange, LineFinding},
    symbols::{ArrayObject, DataObject, ObjectKind},
};

use super::language::Language;
use crate::{
    model::{Contended, Frame, Primitive},
    words,
};

/// More parts than this are summed up instead of listed.
const LISTED: usize = 3;

/// False sharing: `Start `q.tail` on its own cache line: `alignas(64)`.`
pub fn pad(finding: &LineFinding, object: &DataObject, offsets: &[u32], fields: &[String]) -> String {
    let language = Language::of(finding);
    if object.kind == ObjectKind::Heap && object.allocation.is_empty() {
        return "Start each thread's part on its own cache line. Record with --objects to see which allocation this is."
            .into();
    }
    let object = &object.name;
    // The first field may stay where it is; the others go to the offsets, in order.
    let part = |index: usize, offset: u32| {
        let name = fields.get(index + 1).filter(|name| !name.is_empty()).map(String::as_str);
        let name = name.or_else(|| range_at(finding, offset).and_then(|range| range.field.as_deref()));
        let bytes = range_at(finding, offset).map_or_else(
            || format!("what begins at byte {offset} of the line"),
            |range| words::bytes(range.offset, range.width),
        );
        name.map_or_else(|| format!("{bytes} of the line"), |name| format!("`{name}`"))
    };
    let parts: Vec<String> = offsets.iter().enumerate().map(|(index, &offset)| part(index, offset)).collect();
    let align = language.align_field();
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

/// False sharing between the elements of an array.
pub fn pad_elements(finding: &LineFinding, array: &ArrayObject) -> String {
    let whole = array.name.as_ref().map_or("The block".to_owned(), |name| format!("`{name}`"));
    let ArrayObject { element, element_bytes: bytes, .. } = array;
    let record = ["struct ", "class ", "union "].iter().any(|keyword| element.starts_with(keyword));
    let head = format!(
        "{whole} is an array of `{element}`, {} each, and different threads use neighbours",
        words::count(*bytes as usize, "byte")
    );
    match record {
        _ if bytes % LINE_BYTES == 0 => format!(
            "{head}; it does not begin with a cache line. Allocate it at a {LINE_BYTES}-byte boundary."
        ),
        true => {
            format!("{head}. Align the type to {LINE_BYTES} bytes: {}.", Language::of(finding).align_type())
        }
        false => format!(
            "{head}. Let each thread work on a variable of its own and store it once at the end, or give each element a \
             cache line (an array of structs that are aligned to {LINE_BYTES} bytes)."
        ),
    }
}

/// True sharing of data.
pub fn share_less(finding: &LineFinding, object: &DataObject, offset: u32, width: u32) -> String {
    let range = range_at(finding, offset);
    let what = range.and_then(|range| range.field.as_deref()).unwrap_or(&object.name);
    let bytes = words::bytes(offset, width);
    let writers = range.map_or(0, |range| range.writers.len());
    let readers = range.map_or(0, |range| range.readers.len());
    let how = if writers == 1 && readers > 0 {
        "Hand over several at a time, or let each reader keep a copy and look again only when it has to"
    } else {
        "Give each thread its own copy and combine them when they are read, or batch the updates"
    };
    format!(
        "Update `{what}` ({bytes}) less often. {how}. Padding does not help: the threads touch the same bytes."
    )
}

/// Contention for a lock, or the like.
pub fn contend(object: &DataObject, of: &Contended) -> String {
    let what = match of.name.as_deref() {
        Some(name) => format!("the {} `{name}`", of.primitive.noun()),
        None => format!("a {} in `{}`", of.primitive.noun(), object.name),
    };
    let users = match users(&of.users) {
        users if users.is_empty() => String::new(),
        users => format!(" in {users}"),
    };
    match of.primitive {
        Primitive::Mutex | Primitive::Spinlock => format!(
            "Threads contend for {what}, taken{users}. Hold it for less time, use several locks (one for each \
             part of the data), or let each thread collect its updates and take it once for many. Padding does not help."
        ),
        Primitive::RwLock => format!(
            "Every reader changes {what}, taken{users}. Take it once for many reads, use several locks, or \
             publish a new copy of the data by a pointer that readers load without a lock. Padding does not help."
        ),
        Primitive::Condition => format!(
            "Threads wait for each other by {what}, used{users}. Hand over several items at a time, \
             and signal only when somebody waits."
        ),
        Primitive::Semaphore => {
            format!("Threads wait for each other by {what}, used{users}. Hand over several items at a time.")
        }
        Primitive::Barrier => {
            format!("Threads meet at {what}{users}. Let each do more work between two meetings.")
        }
        Primitive::Once => {
            format!("Every use checks {what}{users}. Check once and keep the result.")
        }
        Primitive::ReferenceCount => format!(
            "Threads count references to the same objects{users}. Pass the objects by reference instead of copying the \
             pointers, or copy each pointer once for each thread. Padding does not help."
        ),
    }
}

/// ``` `run` (mx.c:6) and `main` (mx.c:9) ```
fn users(users: &[Frame]) -> String {
    let text = |frame: &Frame| {
        let place = words::place(frame.file.as_deref(), frame.line).map(|place| format!(" ({place})"));
        frame.function.as_ref().map(|name| format!("`{name}`{}", place.unwrap_or_default()))
    };
    words::sentence_list(&users.iter().filter_map(text).collect::<Vec<_>>())
}

fn range_at(finding: &LineFinding, offset: u32) -> Option<&ByteRange> {
    finding.layout.iter().find(|range| range.offset == offset)
}
