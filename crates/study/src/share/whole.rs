//! The remedy for an object, where that for one of its lines does not say all.

use std::collections::{BTreeMap, BTreeSet};

use super::tally::LineTally;
use super::{Contended, LineFinding, Padding, Parts, Remedy, pieces, repeated};
use crate::symbols::ObjectKind;

/// A few lines may be the fields of one large struct.
const MANY_LINES: usize = 8;

/// The advice for one line, as it is for all lines of the object that are `listed`.
pub(super) fn remedy<'a>(
    one: &'a LineFinding,
    listed: impl Iterator<Item = &'a LineFinding>,
    tallies: &[&LineTally],
) -> Remedy {
    match &one.remedy {
        Remedy::Pad(padding) if pieces::are_too_small(padding, tallies) => {
            let (at_line_offsets, fields) = (Vec::new(), Vec::new());
            Remedy::Pad(Padding { at_line_offsets, fields, of: Parts::Pieces })
        }
        Remedy::Pad(padding) => {
            Remedy::Pad(repeated::parting(padding, one, listed).unwrap_or_else(|| padding.clone()))
        }
        Remedy::ShareLess { offset, width, handed: None, .. } => {
            let listed: Vec<&LineFinding> = listed.collect();
            let named = listed.iter().filter_map(|line| exchanged(line)).filter_map(Element::of);
            let elements = are_several(named, exchanged(one).and_then(Element::of)) || is_all_along(&listed);
            Remedy::ShareLess { offset: *offset, width: *width, handed: None, elements }
        }
        Remedy::Contend(lock) => Remedy::Contend(locks(lock, listed)),
        other => other.clone(),
    }
}

/// An element of an array by the name of something in it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Element<'a> {
    array: &'a str,
    index: &'a str,
    /// What in it.
    field: &'a str,
}

impl<'a> Element<'a> {
    /// `jobs[7].state`, `h(59)`. Other brackets are in the names of types.
    fn of(name: &'a str) -> Option<Self> {
        let close = |open| if open == '(' { ')' } else { ']' };
        let (start, open) =
            name.char_indices().filter(|(_, letter)| matches!(letter, '[' | '(')).find(|(at, _)| {
                name.get(at + 1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            })?;
        let (array, rest) = (name.get(..start)?, name.get(start + 1..)?);
        let end = rest.find(close(open))?;
        Some(Self { array, index: rest.get(..end)?, field: rest.get(end + 1..)? })
    }
}

/// Whether these are elements of the same array as `one`, and not of one index all.
fn are_several<'a>(mut elements: impl Iterator<Item = Element<'a>>, one: Option<Element<'a>>) -> bool {
    one.is_some_and(|one| elements.any(|other| other.array == one.array && other.index != one.index))
}

/// Whether what is exchanged has no name, and lies on many lines of one block, or of memory in which no block is known.
fn is_all_along(listed: &[&LineFinding]) -> bool {
    let unnamed = listed
        .iter()
        .filter(|line| matches!(line.remedy, Remedy::ShareLess { .. }) && exchanged(line).is_none());
    let of_heap = unnamed.filter(|line| line.object.kind == ObjectKind::Heap);
    are_many(of_heap.map(|line| {
        let block = line.object.size.map(|_| line.address.0.wrapping_sub(line.object.offset as u64));
        (block, line.address.0)
    }))
}

/// Whether some block has many lines; each is given with the block in which it lies, if that is known.
fn are_many(placed: impl Iterator<Item = (Option<u64>, u64)>) -> bool {
    let mut lines: BTreeMap<Option<u64>, BTreeSet<u64>> = BTreeMap::new();
    for (block, line) in placed {
        lines.entry(block).or_default().insert(line);
    }
    lines.values().any(|lines| lines.len() >= MANY_LINES)
}

/// The name of what is exchanged on a line, where that is to be exchanged less.
fn exchanged(line: &LineFinding) -> Option<&str> {
    match &line.remedy {
        Remedy::ShareLess { offset, .. } => {
            line.layout.iter().find(|range| range.offset == *offset)?.field.as_deref()
        }
        _ => None,
    }
}

/// Locks of one kind in the elements of an array, as one.
fn locks<'a>(one: &Contended, listed: impl Iterator<Item = &'a LineFinding>) -> Contended {
    let Some(known) = one.name.as_deref().and_then(Element::of) else { return one.clone() };
    let alike = listed.filter_map(|line| match &line.remedy {
        Remedy::Contend(lock) if lock.primitive == one.primitive => {
            lock.name.as_deref().and_then(Element::of)
        }
        _ => None,
    });
    if !are_several(alike.filter(|other| other.field == known.field), Some(known)) {
        return one.clone();
    }
    let name = format!("{}[..]{}", known.array, known.field);
    Contended { name: Some(name), several: true, ..one.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_elements_are_taken_apart() {
        let parts = |name| Element::of(name).map(|of| (of.array, of.index, of.field));
        assert_eq!(parts("jobs[7].state"), Some(("jobs", "7", ".state")));
        assert_eq!(parts("h(59)"), Some(("h", "59", "")));
        assert_eq!(parts("struct Pool<[u8; 4]>[3].lock"), Some(("struct Pool<[u8; 4]>", "3", ".lock")));
        assert_eq!(parts("a[1][2]"), Some(("a", "1", "[2]")));
        for plain in ["head", "Fn() -> u8", "", "x[", "x[1"] {
            assert_eq!(parts(plain), None, "{plain}");
        }
    }

    /// Many small blocks have a line each; of the memory of a library's own allocator no block is known.
    #[test]
    fn many_lines_are_those_of_one_block() {
        let many = MANY_LINES as u64;
        assert!(are_many((0..many).map(|line| (Some(0), line))));
        assert!(are_many((0..many).map(|line| (None, line))));
        assert!(!are_many((1..many).map(|line| (None, line))));
        assert!(!are_many((0..many).map(|line| (Some(line), line))));
    }

    #[test]
    fn several_elements_have_different_indices() {
        let of = |names: &[&str]| {
            let known = names.first().copied().and_then(Element::of);
            are_several(names.iter().copied().filter_map(Element::of), known)
        };
        assert!(of(&["v[1]", "v[1]", "v[9]"]));
        assert!(!of(&["v[1]", "v[1]", "w[9]"]));
        assert!(!of(&["head", "v[9]", "v[8]"]));
    }
}
