//! Where accesses lie relative to cache lines.

use carom_base::{Access, Addr, LINE_BYTES, Line};

/// A run of bytes inside one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Extent {
    /// First byte, from the start of the line, 0 to 63.
    pub offset: u32,
    /// Bytes, 1 to 64 - offset.
    pub width: u32,
}

impl Extent {
    /// One past the last byte.
    pub fn end(self) -> u32 {
        self.offset + self.width
    }

    /// The bytes that both cover.
    pub fn common(self, other: Self) -> Option<Self> {
        let offset = self.offset.max(other.offset);
        let end = self.end().min(other.end());
        (offset < end).then(|| Self { offset, width: end - offset })
    }

    /// The smallest run that covers both.
    pub fn hull(self, other: Self) -> Self {
        let offset = self.offset.min(other.offset);
        Self { offset, width: self.end().max(other.end()) - offset }
    }

    /// The part of an access that lies in `line`, if any: accesses may begin before it or end behind it.
    pub fn of(access: Access, line: Line) -> Option<Self> {
        let start = line.start().0;
        let last = start.wrapping_add(LINE_BYTES - 1);
        let (first, final_byte) = (access.addr.0, last_byte(access));
        if first > last || final_byte < start {
            return None;
        }
        let offset = (first.max(start) - start) as u32;
        let width = (final_byte.min(last) - first.max(start) + 1) as u32;
        Some(Self { offset, width })
    }
}

/// The first and the last line that an access touches.
pub(super) fn lines(access: Access) -> (Line, Line) {
    (access.addr.line(), Addr(last_byte(access)).line())
}

/// The line in which two accesses met: the first that both touch, else the later one's first.
pub(super) fn meeting_line(later: Access, earlier: Access) -> Line {
    let ((later_first, later_last), (earlier_first, earlier_last)) = (lines(later), lines(earlier));
    let first = later_first.max(earlier_first);
    if first <= later_last.min(earlier_last) { first } else { later_first }
}

/// A recorded width of 0 counts as 1; nothing wraps around the end of the address space.
fn last_byte(access: Access) -> u64 {
    access.addr.0.saturating_add(u64::from(access.width.max(1)) - 1)
}

#[cfg(test)]
mod tests {
    use carom_base::{AccessKind, Ip};

    use super::*;

    fn access(addr: u64, width: u32) -> Access {
        Access { ip: Ip(1), addr: Addr(addr), width, kind: AccessKind::Store }
    }

    #[test]
    fn an_access_over_two_lines_has_a_part_in_each() {
        // Bytes 60 to 67: four in line 0, four in line 1.
        let split = access(60, 8);
        assert_eq!(Extent::of(split, Line(0)), Some(Extent { offset: 60, width: 4 }));
        assert_eq!(Extent::of(split, Line(1)), Some(Extent { offset: 0, width: 4 }));
        assert_eq!(Extent::of(split, Line(2)), None);
        assert_eq!(lines(split), (Line(0), Line(1)));
    }

    #[test]
    fn two_accesses_meet_in_the_line_that_both_touch() {
        assert_eq!(meeting_line(access(60, 8), access(72, 8)), Line(1));
        assert_eq!(meeting_line(access(72, 8), access(60, 8)), Line(1));
        assert_eq!(meeting_line(access(8, 8), access(16, 8)), Line(0));
        // Nothing in common: a broken record keeps the later access's line.
        assert_eq!(meeting_line(access(640, 8), access(0, 8)), Line(10));
    }

    #[test]
    fn extreme_records_do_no_harm() {
        let end = access(u64::MAX - 3, u32::MAX);
        assert_eq!(Extent::of(end, end.addr.line()), Some(Extent { offset: 60, width: 4 }));
        assert_eq!(Extent::of(access(5, 0), Line(0)), Some(Extent { offset: 5, width: 1 }));
        assert_eq!(Extent::of(access(0, u32::MAX), Line(3)), Some(Extent { offset: 0, width: 64 }));
    }

    #[test]
    fn common_bytes_and_hull() {
        let (a, b) = (Extent { offset: 0, width: 8 }, Extent { offset: 4, width: 8 });
        assert_eq!(a.common(b), Some(Extent { offset: 4, width: 4 }));
        assert_eq!(a.hull(b), Extent { offset: 0, width: 12 });
        assert_eq!(a.common(Extent { offset: 8, width: 8 }), None);
    }
}
