//! Where nothing is mapped, and which of these holes to use.

use std::ops::Range;

use super::{Mapping, MappingKind};

/// Kept free below the main thread's stack for its growth. Its usual limit is 8 MiB, and without address space
/// randomisation the kernel keeps 128 MiB free there (`MIN_GAP`, arch/x86/mm/mmap.c): one arena still fits.
pub(super) const STACK_ROOM: u64 = 96 << 20;

/// Room kept free above the heap: the first of these that leaves any hole. With 1 TiB nothing of the engine lies
/// above the heap before the next area of the address space. Position-dependent programs share the lowest 2 GiB with
/// the engine, which gets what is left.
const HEAP_ROOMS: [u64; 6] = [1 << 40, 32 << 30, 1 << 30, 256 << 20, 64 << 20, 0];

/// Which of several possible addresses to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefer {
    /// The lowest.
    Low,
    /// The highest.
    High,
    /// The one nearest to this address.
    Near(u64),
}

/// An address in `within`, a multiple of `align` (a power of two), with `size` free bytes. The heap and the stack
/// keep room to grow while there is a choice.
pub fn find_hole(
    mappings: &[Mapping],
    size: u64,
    align: u64,
    within: Range<u64>,
    prefer: Prefer,
) -> Option<u64> {
    HEAP_ROOMS.iter().find_map(|&heap_room| {
        let occupied = mappings.iter().map(|mapping| with_room(mapping, heap_room)).collect();
        between(occupied, within.clone())
            .into_iter()
            .filter_map(|hole| place(&hole, size, align, prefer))
            .min_by_key(|&start| match prefer {
                Prefer::Low => start,
                Prefer::High => u64::MAX - start,
                Prefer::Near(wish) => start.abs_diff(wish),
            })
    })
}

fn with_room(mapping: &Mapping, heap_room: u64) -> Range<u64> {
    match mapping.kind {
        MappingKind::Heap => mapping.start..mapping.end.saturating_add(heap_room),
        MappingKind::Stack => mapping.start.saturating_sub(STACK_ROOM)..mapping.end,
        _ => mapping.range(),
    }
}

/// The ranges of `within` that are not occupied, in ascending order.
fn between(mut occupied: Vec<Range<u64>>, within: Range<u64>) -> Vec<Range<u64>> {
    occupied.sort_unstable_by_key(|range| range.start);
    let mut holes = Vec::new();
    let mut free = within.start;
    for range in occupied {
        let end = range.start.min(within.end);
        if free < end {
            holes.push(free..end);
        }
        free = free.max(range.end);
    }
    if free < within.end {
        holes.push(free..within.end);
    }
    holes
}

/// The best address in a hole.
fn place(hole: &Range<u64>, size: u64, align: u64, prefer: Prefer) -> Option<u64> {
    if !align.is_power_of_two() {
        return None;
    }
    let down = |address: u64| address & !(align - 1);
    let low = hole.start.checked_next_multiple_of(align)?;
    let high = down(hole.end.checked_sub(size)?);
    if low > high {
        return None;
    }
    Some(match prefer {
        Prefer::Low => low,
        Prefer::High => high,
        Prefer::Near(wish) => down(wish).clamp(low, high),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::maps, *};

    const PAGE: u64 = 4096;

    /// `#` is a mapped page, `.` a free one.
    fn drawn(picture: &str) -> Vec<Mapping> {
        let page = |page: u64, kind| {
            let text = format!("{:x}-{:x} rw-p 0 0 0", page * PAGE, (page + 1) * PAGE);
            Mapping { kind, ..maps::parse(text.as_bytes())[0] }
        };
        let kinds = picture.chars().map(|letter| match letter {
            '#' => Some(MappingKind::Anonymous),
            'h' => Some(MappingKind::Heap),
            _ => None,
        });
        (0..).zip(kinds).filter_map(|(at, kind)| Some(page(at, kind?))).collect()
    }

    fn check(picture: &str, pages: u64, prefer: Prefer, expect: Option<u64>) {
        let all = 0..picture.len() as u64 * PAGE;
        let found = find_hole(&drawn(picture), pages * PAGE, PAGE, all, prefer);
        assert_eq!(found.map(|at| at / PAGE), expect, "{pages} pages, {prefer:?}, in {picture}");
    }

    #[test]
    fn holes_are_found_by_preference() {
        //        0         1
        //        0123456789012345
        let at = "#..##....#....##";
        check(at, 2, Prefer::Low, Some(1));
        check(at, 3, Prefer::Low, Some(5));
        check(at, 3, Prefer::High, Some(11));
        // Nearest to page 9: from 10 on it is one page away, from 6 on (6, 7, 8) three.
        check(at, 3, Prefer::Near(9 * PAGE), Some(10));
        check(at, 3, Prefer::Near(7 * PAGE), Some(6));
        check(at, 4, Prefer::High, Some(10));
        check(at, 5, Prefer::High, None);
        // Above the heap only if there is no other hole.
        check("..h..", 2, Prefer::High, Some(0));
        check(".#h..", 2, Prefer::High, Some(3));
    }

    #[test]
    fn the_stack_keeps_room_even_where_that_leaves_no_hole() {
        let text = format!("{:x}-{:x} rw-p 0 0 0 [stack]", STACK_ROOM + PAGE, STACK_ROOM + 2 * PAGE);
        let find = |size| {
            find_hole(&maps::parse(text.as_bytes()), size, PAGE, 0..STACK_ROOM + 2 * PAGE, Prefer::High)
        };
        assert_eq!((find(PAGE), find(2 * PAGE)), (Some(0), None));
    }

    #[test]
    fn alignment_and_limits_count() {
        // Pages 1 to 15 are free; the only multiple of 8 pages among them with 8 pages to go is page 8.
        let mappings = drawn("#...............");
        let find = |size, align, within| find_hole(&mappings, size, align, within, Prefer::Low);
        assert_eq!(find(8 * PAGE, 8 * PAGE, 0..16 * PAGE), Some(8 * PAGE));
        assert_eq!(find(8 * PAGE, 8 * PAGE, 0..15 * PAGE), None);
        assert_eq!(find(PAGE, 3, 0..16 * PAGE), None, "no power of two");
        assert_eq!(find(u64::MAX, PAGE, 0..16 * PAGE), None);
        assert_eq!(find_hole(&[], 1, 1 << 63, 1..u64::MAX, Prefer::Low), Some(1 << 63));
    }

    proptest! {
        /// Compares with the definition: of all page numbers with enough free pages, the preferred one.
        #[test]
        fn the_hole_is_the_best_one(picture in "[#.]{1,24}", pages in 1u64..6, wish in 0u64..24, choice in 0usize..3) {
            let prefer = [Prefer::Low, Prefer::High, Prefer::Near(wish * PAGE)][choice];
            let free: Vec<bool> = picture.chars().map(|letter| letter == '.').collect();
            let fits = |at: &u64| (*at..at + pages).all(|page| free.get(page as usize) == Some(&true));
            let all: Vec<u64> = (0..24).filter(fits).collect();
            let cost = |at: u64| match prefer {
                Prefer::Low => at,
                Prefer::High => 24 - at,
                Prefer::Near(_) => at.abs_diff(wish),
            };
            let within = 0..picture.len() as u64 * PAGE;
            let found = find_hole(&drawn(&picture), pages * PAGE, PAGE, within, prefer).map(|at| at / PAGE);
            prop_assert_eq!(found.map(cost), all.iter().map(|&at| cost(at)).min());
            prop_assert!(found.is_none_or(|at| all.contains(&at)));
        }

        /// Holes and mappings together are all pages, each once.
        #[test]
        fn holes_complement_mappings(picture in "[#.]{1,24}") {
            let all = 0..picture.len() as u64 * PAGE;
            let mut pages = vec![0; picture.len()];
            let holes = between(drawn(&picture).iter().map(Mapping::range).collect(), all);
            for range in drawn(&picture).iter().map(Mapping::range).chain(holes) {
                (range.start / PAGE..range.end / PAGE).for_each(|page| pages[page as usize] += 1);
            }
            prop_assert!(pages.iter().all(|&count| count == 1));
        }
    }
}
