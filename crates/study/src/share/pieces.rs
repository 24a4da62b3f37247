//! Arrays that threads work on in pieces which are too small: elements that are dealt out one by one (`schedule(static, 1)`), a
//! parallel loop over the wrong index of a matrix.
//!
//! Parting neighbours, as of fields or of one element for each thread, would blow up the array. What helps is that each thread
//! takes a contiguous piece of it.

use std::collections::BTreeMap;

use carom_base::ThreadId;

use super::tally::LineTally;
use super::{Padding, Parts};

/// A thread that works on one contiguous piece shares its first and its last line. From this many on it has several pieces.
const SEVERAL_PIECES: usize = 4;

/// The least number of lines that tells it from a few variables side by side.
const LINES: usize = 8;

/// From this part of false sharing on, no element has several threads.
const NEARLY_ALL: f64 = 0.9;

/// Whether the lines of an object, with this advice for one of them, are of an array whose pieces are too small.
pub(super) fn are_too_small(padding: &Padding, lines: &[&LineTally]) -> bool {
    let parts = match &padding.of {
        Parts::Elements(array) => !array.is_of_records(),
        Parts::Fields => padding.fields.iter().all(String::is_empty),
        Parts::Repeated(_) | Parts::Variables | Parts::Blocks | Parts::Pieces => false,
    };
    parts && lines.len() >= LINES && is_all_false(lines) && most_have_several(lines)
}

fn is_all_false(lines: &[&LineTally]) -> bool {
    let volumes = || lines.iter().map(|tally| &tally.basis().1.volume);
    let false_sharing: f64 = volumes().map(|volume| volume.false_sharing).sum();
    false_sharing >= NEARLY_ALL * volumes().map(|volume| volume.all()).sum::<f64>()
}

/// Whether most threads share several lines with others.
fn most_have_several(lines: &[&LineTally]) -> bool {
    let mut shared: BTreeMap<ThreadId, usize> = BTreeMap::new();
    for tally in lines {
        let pairs = tally.basis().1.pairs.keys();
        let mut threads: Vec<ThreadId> = pairs.flat_map(|(one, other)| [*one, *other]).collect();
        threads.sort_unstable();
        threads.dedup();
        threads.into_iter().for_each(|thread| *shared.entry(thread).or_default() += 1);
    }
    2 * shared.values().filter(|lines| **lines >= SEVERAL_PIECES).count() > shared.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::testing::Event;
    use crate::symbols::ArrayObject;
    use carom_base::{AccessKind::Store, Addr, Line};

    /// Lines that pairs of threads share, each pair at words of its own or, in the last line, of both.
    fn lines(pairs: &[(u32, u32)], shared_truly: bool) -> Vec<LineTally> {
        let line = |(number, (one, other)): (usize, &(u32, u32))| {
            let mut tally = LineTally::default();
            let is_false = !(shared_truly && number + 1 == pairs.len());
            let event = Event::new(*one, *other).earlier_at(0, 8).later(Store, 8, 8).class_false(is_false);
            let event = event.build();
            tally.event(&event, Line(0));
            tally.classified(&event, event.class, if is_false { 1.0 } else { 4.0 }, Line(0));
            tally
        };
        pairs.iter().enumerate().map(line).collect()
    }

    fn padding(of: Parts, field: &str) -> Padding {
        Padding { at_line_offsets: vec![8], fields: vec![String::new(), field.to_owned()], of }
    }

    fn too_small(padding: &Padding, pairs: &[(u32, u32)]) -> bool {
        are_too_small(padding, &lines(pairs, false).iter().collect::<Vec<_>>())
    }

    const DEALT_OUT: [(u32, u32); 9] =
        [(0, 1), (1, 2), (2, 3), (3, 0), (0, 1), (1, 2), (2, 3), (3, 0), (0, 2)];
    const ELEMENT_OF: fn(&str) -> Parts = |element| {
        Parts::Elements(ArrayObject {
            base: Addr(0),
            name: None,
            element: element.to_owned(),
            element_bytes: 8,
        })
    };

    #[test]
    fn elements_that_are_dealt_out_are_small_pieces() {
        assert!(too_small(&padding(ELEMENT_OF("double"), ""), &DEALT_OUT));
        assert!(too_small(&padding(Parts::Fields, ""), &DEALT_OUT));
        assert!(!too_small(&padding(ELEMENT_OF("struct lock"), ""), &DEALT_OUT), "a type can be aligned");
        assert!(!too_small(&padding(Parts::Fields, "node.right"), &DEALT_OUT), "fields of many objects");
        assert!(!too_small(&padding(Parts::Fields, ""), &DEALT_OUT[..7]));
        let truly = lines(&DEALT_OUT, true);
        assert!(!are_too_small(&padding(Parts::Fields, ""), &truly.iter().collect::<Vec<_>>()));
    }

    #[test]
    fn neighbours_share_only_the_borders_of_contiguous_pieces() {
        let borders: Vec<(u32, u32)> = (0..12).map(|thread| (thread, thread + 1)).collect();
        assert!(!too_small(&padding(ELEMENT_OF("double"), ""), &borders));
    }
}
