//! Objects that consist of parts of one size, which no type tells: an array in memory that a program has cast, or of which the debug
//! information says nothing.

use std::collections::BTreeSet;

use carom_base::LINE_BYTES;

use super::{LineFinding, Padding, Parts, Remedy};

/// The least number of lines with such parts that tells them from a struct with fields of one size.
const LINES: usize = 2;

/// Smaller parts are no elements: the threads use single bytes of them.
const LEAST_BYTES: u64 = 8;

/// The bytes of each part, where the parts of this line, for which the advice is `padding`, go on over the others that are `listed`.
pub(super) fn part_bytes<'a>(
    padding: &Padding,
    one: &'a LineFinding,
    listed: impl Iterator<Item = &'a LineFinding>,
) -> Option<u64> {
    if padding.of != Parts::Fields || padding.fields.iter().any(|field| !field.is_empty()) {
        return None;
    }
    let borders = |line: &LineFinding| match &line.remedy {
        Remedy::Pad(Padding { of: Parts::Fields, at_line_offsets, .. }) => {
            Some(Borders { line: line.object.offset, at: at_line_offsets.clone() })
        }
        _ => None,
    };
    even(&borders(one)?, &listed.filter_map(borders).collect::<Vec<_>>())
}

/// Where parts begin in a line, as offsets from it, and where the line begins in its object.
struct Borders {
    line: i64,
    at: Vec<u32>,
}

impl Borders {
    /// From the start of the object.
    fn in_object(&self) -> impl Iterator<Item = Option<u64>> {
        self.at.iter().map(|at| u64::try_from(self.line.checked_add(i64::from(*at))?).ok())
    }

    /// Whether a part of this size begins at each place of the line where one can.
    fn are_all(&self, bytes: u64) -> bool {
        let possible =
            (1..LINE_BYTES as u32).filter(|at| (self.line + i64::from(*at)).rem_euclid(bytes as i64) == 0);
        possible.eq(self.at.iter().copied())
    }
}

/// The size of parts that all these borders part, if those of `one` leave none out and others are like it.
fn even(one: &Borders, all: &[Borders]) -> Option<u64> {
    let bytes = all.iter().flat_map(Borders::in_object).try_fold(0, |sum, at| Some(gcd(sum, at?)))?;
    let lines: BTreeSet<i64> = all.iter().map(|borders| borders.line).collect();
    let is_size = (LEAST_BYTES..LINE_BYTES).contains(&bytes);
    (is_size && lines.len() >= LINES && one.are_all(bytes)).then_some(bytes)
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(lines: &[(i64, &[u32])]) -> Option<u64> {
        let all: Vec<Borders> =
            lines.iter().map(|(line, at)| Borders { line: *line, at: at.to_vec() }).collect();
        even(&all[0], &all)
    }

    #[test]
    fn parts_of_one_size_on_several_lines_are_an_array() {
        assert_eq!(bytes(&[(0, &[16, 32, 48]), (192, &[16, 32, 48])]), Some(16));
        // On the other lines not every border was seen to matter.
        assert_eq!(bytes(&[(64, &[32]), (128, &[32])]), Some(32));
        assert_eq!(bytes(&[(0, &[8, 16, 24, 32, 40, 48, 56]), (64, &[24])]), Some(8));
        // Three words for each thread: the borders are elsewhere on each line.
        assert_eq!(bytes(&[(0, &[24, 48]), (64, &[8, 32, 56]), (128, &[16, 40])]), Some(24));
        // The object begins in the middle of a line.
        assert_eq!(bytes(&[(-24, &[24, 56]), (40, &[24, 56])]), Some(32));
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
            // A border in front of the object.
            &[(-32, &[16, 32, 48]), (32, &[16, 32, 48])],
        ] {
            assert_eq!(bytes(fields), None, "{fields:?}");
        }
    }
}
