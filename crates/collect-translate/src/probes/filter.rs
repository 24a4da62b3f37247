//! Which instructions are observed individually: all of them, or those of a set.
//!
//! The choice is made when code is translated. A block lies completely inside or outside the set. Outside it is only
//! counted, so excluded code costs nothing more.

use std::ops::Range;

/// A set of instructions, by the addresses of their first bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpSet {
    /// The addresses at which membership changes, ascending: the first begins a range of the set, the second ends it,
    /// and so on.
    edges: Vec<u64>,
}

impl IpSet {
    /// All instructions.
    pub fn everything() -> Self {
        std::iter::once(0..u64::MAX).collect()
    }

    /// Whether the instruction at `ip` is one of them.
    pub fn contains(&self, ip: u64) -> bool {
        self.passed(ip) % 2 == 1
    }

    /// The first address after `ip` for which [`contains`](Self::contains) has another answer.
    pub fn changes_behind(&self, ip: u64) -> u64 {
        self.edges.get(self.passed(ip)).copied().unwrap_or(u64::MAX)
    }

    /// The number of edges up to `ip`.
    fn passed(&self, ip: u64) -> usize {
        self.edges.partition_point(|edge| *edge <= ip)
    }

    /// The ranges that are in only one of two sets.
    pub fn difference(&self, other: &Self) -> Vec<Range<u64>> {
        let mut edges = [self.edges.as_slice(), &other.edges].concat();
        edges.sort_unstable();
        // Where both change at once, whether they differ stays the same.
        let alone =
            edges.chunk_by(u64::eq).filter(|same| same.len() % 2 == 1).filter_map(|same| same.first());
        let alone: Vec<u64> = alone.copied().collect();
        alone.chunks_exact(2).filter_map(|pair| Some(*pair.first()?..*pair.last()?)).collect()
    }
}

/// Ranges of addresses, in any order; they may overlap.
impl FromIterator<Range<u64>> for IpSet {
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(ranges: I) -> Self {
        let mut ranges: Vec<_> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let mut edges: Vec<u64> = Vec::with_capacity(2 * ranges.len());
        for Range { start, end } in ranges {
            match edges.last_mut() {
                Some(last) if *last >= start => *last = end.max(*last),
                _ => edges.extend([start, end]),
            }
        }
        Self { edges }
    }
}

/// Single instructions.
impl FromIterator<u64> for IpSet {
    fn from_iter<I: IntoIterator<Item = u64>>(instructions: I) -> Self {
        instructions.into_iter().map(|ip| ip..ip.saturating_add(1)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_set_knows_its_instructions() {
        let set: IpSet = [30..40, 10..20, 15..25, 25..26, 50..50].into_iter().collect();
        assert_eq!(set.edges, [10, 26, 30, 40]);
        assert_eq!(
            [9, 10, 25, 26, 39, 40].map(|ip| set.contains(ip)),
            [false, true, true, false, true, false]
        );
        assert_eq!([0, 10, 27, 40].map(|ip| set.changes_behind(ip)), [10, 26, 30, u64::MAX]);
        assert_eq!([7u64, 9, 8].into_iter().collect::<IpSet>().edges, [7, 10]);
        assert!(IpSet::everything().contains(0) && !IpSet::from_iter([0u64; 0]).contains(0));
    }

    fn sets() -> impl Strategy<Value = IpSet> {
        prop::collection::vec((0u64..60, 0u64..20), 0..8)
            .prop_map(|ranges| ranges.into_iter().map(|(start, length)| start..start + length).collect())
    }

    proptest! {
        #[test]
        fn two_sets_differ_where_one_of_them_contains(one in sets(), other in sets()) {
            let difference: IpSet = one.difference(&other).into_iter().collect();
            for ip in 0..100 {
                prop_assert_eq!(difference.contains(ip), one.contains(ip) != other.contains(ip), "{}", ip);
                let next = one.changes_behind(ip);
                let stays = (ip..next.min(100)).all(|near| one.contains(near) == one.contains(ip));
                prop_assert!(stays && (next >= 100 || one.contains(next) != one.contains(ip)));
            }
        }
    }
}
