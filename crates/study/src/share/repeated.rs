//! Objects that consist of parts of one size, which no type tells: an array in memory that a program has cast, or of which the debug
//! information says nothing.

use std::collections::BTreeSet;

use carom_base::{LINE_BYTES, ThreadId};

use super::{ByteRange, LineFinding, Padding, Parts, Remedy};

/// The least number of lines with such parts that tells them from a struct with fields of one size.
const LINES: usize = 2;

/// Smaller parts are no elements: the threads use single bytes of them.
const LEAST_BYTES: i64 = 8;

/// Of which parts have a whole number.
const WORD_BYTES: usize = 4;

/// How to part this line, for which the advice is `padding`, and with it the whole object, if what different threads use on it and on
/// the others that are `listed` are parts of one size.
pub(super) fn parting<'a>(
    padding: &Padding,
    one: &'a LineFinding,
    listed: impl Iterator<Item = &'a LineFinding>,
) -> Option<Padding> {
    let is_nameless = padding.of == Parts::Fields && padding.fields.iter().all(String::is_empty);
    let parted = |line: &&LineFinding| matches!(&line.remedy, Remedy::Pad(Padding { of: Parts::Fields, .. }));
    let (worst, all): (_, Vec<Borders>) =
        (Borders::of(one), listed.filter(parted).map(Borders::of).collect());
    let bytes = even(&worst, &all).filter(|_| is_nameless)?;
    let at_line_offsets: Vec<u32> = worst.between.iter().map(|(_, behind)| *behind).collect();
    let fields = vec![String::new(); at_line_offsets.len() + 1];
    Some(Padding { at_line_offsets, fields, of: Parts::Repeated(bytes) })
}

/// Where what one thread uses ends and what another one uses begins.
struct Borders {
    /// Where the line begins in its object.
    line: i64,
    /// Each lies between two offsets in the line, between which nothing was accessed.
    between: Vec<(u32, u32)>,
}

impl Borders {
    fn of(line: &LineFinding) -> Self {
        let users = |range: &ByteRange| -> BTreeSet<ThreadId> {
            range.readers.iter().chain(&range.writers).copied().collect()
        };
        let pairs = line.layout.iter().zip(line.layout.iter().skip(1));
        let apart = pairs.filter(|(one, other)| users(one).is_disjoint(&users(other)));
        let between = apart.map(|(one, other)| (one.offset + one.width, other.offset)).collect();
        Self { line: line.object.offset, between }
    }

    /// From the start of the object.
    fn in_object(&self) -> impl Iterator<Item = (i64, i64)> {
        self.between
            .iter()
            .map(|(before, behind)| (self.line + i64::from(*before), self.line + i64::from(*behind)))
    }

    /// Whether parts of this size can begin at each of these borders.
    fn fit(&self, bytes: i64) -> bool {
        self.in_object().all(|(before, behind)| before > 0 && behind.div_euclid(bytes) * bytes >= before)
    }

    /// Whether there is a border wherever a part of this size can begin in the line.
    fn are_all(&self, bytes: i64) -> bool {
        let places = (1..LINE_BYTES as i64).map(|at| self.line + at);
        let mut begins = places.filter(|at| *at > 0 && at % bytes == 0);
        let within = |(before, behind)| begins.next().is_some_and(|begin| (before..=behind).contains(&begin));
        self.in_object().all(within) && begins.next().is_none()
    }
}

/// The size of parts that all these borders part, if those of `one` leave none out, there are several lines, and no other size would
/// do.
fn even(one: &Borders, all: &[Borders]) -> Option<u64> {
    let lines: BTreeSet<i64> = all.iter().map(|borders| borders.line).collect();
    let fits = |bytes: &i64| one.are_all(*bytes) && all.iter().all(|borders| borders.fit(*bytes));
    let mut sizes = (LEAST_BYTES..LINE_BYTES as i64).step_by(WORD_BYTES).filter(fits);
    let size = sizes.next().filter(|_| lines.len() >= LINES && sizes.next().is_none())?;
    u64::try_from(size).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(lines: &[(i64, &[u32])]) -> Option<u64> {
        let exact = |(line, at): &(i64, &[u32])| Borders {
            line: *line,
            between: at.iter().map(|at| (*at, *at)).collect(),
        };
        let all: Vec<Borders> = lines.iter().map(exact).collect();
        even(&all[0], &all)
    }

    #[test]
    fn parts_of_one_size_on_several_lines_are_an_array() {
        assert_eq!(bytes(&[(0, &[16, 32, 48]), (192, &[16, 32, 48])]), Some(16));
        // On the other line neighbours belong to one thread.
        assert_eq!(bytes(&[(0, &[8, 16, 24, 32, 40, 48, 56]), (64, &[24])]), Some(8));
        // Three words for each thread: the borders are elsewhere on each line.
        assert_eq!(bytes(&[(0, &[24, 48]), (64, &[8, 32, 56]), (128, &[16, 40])]), Some(24));
        // The object begins in the middle of a line.
        assert_eq!(bytes(&[(-24, &[56]), (40, &[24, 56])]), Some(32));
    }

    #[test]
    fn a_border_may_lie_anywhere_in_what_nobody_accessed() {
        let one = Borders { line: 0, between: vec![(16, 16), (32, 32), (48, 48)] };
        let with = |line, between| {
            let other = Borders { line, between: vec![between] };
            even(&one, &[Borders { line: 0, between: one.between.clone() }, other])
        };
        assert_eq!(with(64, (8, 24)), Some(16));
        assert_eq!(with(64, (16, 24)), Some(16));
        assert_eq!(with(64, (20, 28)), None);
        // Of each element only the first word is accessed.
        let words = |line| Borders { line, between: vec![(8, 16), (24, 32), (40, 48)] };
        assert_eq!(even(&words(0), &[words(0), words(64)]), Some(16));
        // The words in front are not of the object.
        assert_eq!(with(-32, (0, 16)), None);
    }

    #[test]
    fn other_borders_are_those_of_fields() {
        for fields in [
            &[(0, &[16, 32, 48][..])][..],
            // Two blocks of one allocation.
            &[(0, &[16, 32, 48]), (0, &[16, 32, 48])],
            &[(0, &[16, 40]), (64, &[16, 40])],
            &[(0, &[16]), (64, &[16])],
            &[(8, &[16, 32, 48]), (72, &[16, 32, 48])],
            &[(0, &[4, 8, 12]), (64, &[4])],
            &[(0, &[]), (64, &[])],
            // Each line has parts of its own size.
            &[(0, &[16, 32, 48]), (64, &[8, 32])],
            &[(0, &[16, 32, 48]), (64, &[24])],
        ] {
            assert_eq!(bytes(fields), None, "{fields:?}");
        }
    }
}
