use std::ops::Range;

/// Address ranges that may nest and overlap, for look-ups by address.
///
/// Symbols nest in practice (aliases for a part of a table, labels inside an assembly function), so a plain
/// binary search for the last range that begins at or before the address is not enough: `reach` says how far
/// any earlier range extends and so where a backward scan may stop.
#[derive(Debug)]
pub(super) struct Intervals<T> {
    /// In order of their beginning.
    items: Vec<(Range<u64>, T)>,
    /// The largest end among `items[..=i]`.
    reach: Vec<u64>,
}

impl<T> Default for Intervals<T> {
    fn default() -> Self {
        Self { items: Vec::new(), reach: Vec::new() }
    }
}

impl<T> Intervals<T> {
    /// An index of the given ranges; empty ranges are dropped.
    pub(super) fn new(mut items: Vec<(Range<u64>, T)>) -> Self {
        items.retain(|(range, _)| !range.is_empty());
        items.sort_by_key(|(range, _)| (range.start, range.end));
        let reach = items
            .iter()
            .scan(0, |furthest, (range, _)| {
                *furthest = range.end.max(*furthest);
                Some(*furthest)
            })
            .collect();
        Self { items, reach }
    }

    /// The smallest range that holds `address`; of several, the last to begin.
    pub(super) fn smallest(&self, address: u64) -> Option<(Range<u64>, &T)> {
        self.touching(address..address.saturating_add(1)).min_by_key(|(range, _)| range.end - range.start)
    }

    /// All ranges that have a byte in common with `window`, the last to begin first.
    pub(super) fn touching(&self, window: Range<u64>) -> impl Iterator<Item = (Range<u64>, &T)> {
        let end = self.items.partition_point(|(range, _)| range.start < window.end);
        let low = window.start;
        let candidates = self.items.get(..end).unwrap_or_default().iter().zip(&self.reach).rev();
        candidates
            .take_while(move |(_, reach)| **reach > low)
            .filter(move |((range, _), _)| range.end > low)
            .map(|((range, value), _)| (range.clone(), value))
    }
}

#[cfg(test)]
mod tests {
    use super::Intervals;

    #[test]
    fn the_smallest_enclosing_range_wins_and_gaps_stay_gaps() {
        // 0        10   15  20        30        40
        // |--outer---------------------|
        //           |in-|
        //                                        |-far-|
        let index =
            Intervals::new(vec![(40..50, "far"), (0..30, "outer"), (10..15, "inner"), (60..60, "none")]);
        let name = |address| index.smallest(address).map(|(_, name)| *name);
        assert_eq!(name(0), Some("outer"));
        assert_eq!(name(10), Some("inner"));
        assert_eq!(name(14), Some("inner"));
        assert_eq!(name(15), Some("outer"), "the end is exclusive");
        assert_eq!(name(29), Some("outer"), "found although `inner` begins later");
        assert_eq!(name(30), None);
        assert_eq!(name(49), Some("far"));
        assert_eq!(name(60), None, "empty ranges hold nothing");
        assert_eq!(name(u64::MAX), None);
    }

    #[test]
    fn a_window_finds_what_begins_before_it() {
        let index = Intervals::new(vec![(0..30, 'a'), (10..15, 'b'), (40..50, 'c'), (50..60, 'd')]);
        let mut found: Vec<char> = index.touching(20..50).map(|(_, name)| *name).collect();
        found.sort_unstable();
        assert_eq!(found, ['a', 'c']);
    }
}
