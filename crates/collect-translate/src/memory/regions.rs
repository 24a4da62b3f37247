//! Which of the program's memory is code that may be translated.

use std::{cell::Cell, iter, ops::Range};

use super::{Mapping, MappingKind, MemoryError, maps};

/// The code that may be translated: readable, executable, not writable, private, from a file or the vdso, and not
/// excluded. Code made at run time is not part of it, because it may change unnoticed.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    /// Sorted, disjoint, and not adjacent.
    code: Vec<Range<u64>>,
    /// Private mappings of files, which would be code if they had other rights. Sorted and disjoint.
    files: Vec<Range<u64>>,
    /// Those of them that are readable and not writable.
    constants: Vec<Range<u64>>,
    excluded: Vec<Range<u64>>,
    /// Where in `code` the last region was found: most questions in a row are about one.
    latest: Cell<usize>,
    /// Ranges that system calls are changing now, and whether there was code in them.
    in_flight: Vec<(Range<u64>, bool)>,
}

impl Regions {
    /// The code mapped now, without some ranges (the agent's own).
    ///
    /// # Errors
    /// [`MemoryError::NoMaps`].
    pub fn new(excluded: Vec<Range<u64>>) -> Result<Self, MemoryError> {
        let mut regions = Self { excluded, ..Self::default() };
        regions.refresh()?;
        Ok(regions)
    }

    /// Reads the mappings again, after something was mapped, unmapped or protected.
    ///
    /// Returns what was code and no longer is.
    ///
    /// # Errors
    /// [`MemoryError::NoMaps`]; then nothing is code, because anything may be where code was.
    pub fn refresh(&mut self) -> Result<Vec<Range<u64>>, MemoryError> {
        let mappings = maps::read().inspect_err(|_| {
            self.code.clear();
            self.files.clear();
            self.constants.clear();
        })?;
        let in_flight = self.in_flight.iter().map(|(range, _)| range);
        let left_out = sorted(self.excluded.iter().chain(in_flight).cloned().collect());
        let before = std::mem::replace(&mut self.code, translatable(&mappings, &left_out));
        let files = mappings.iter().filter(|mapping| mapping.kind == MappingKind::File && !mapping.shared);
        self.files = files.clone().map(Mapping::range).collect();
        let constants = files.filter(|mapping| mapping.readable && !mapping.writable);
        self.constants = constants.map(Mapping::range).collect();
        Ok(before.into_iter().flat_map(|range| without(range, &self.code)).collect())
    }

    /// A system call is about to change what is mapped at `range`: there is no code until it is [`done`](Self::done).
    /// Returns whether there was code.
    pub fn changing(&mut self, range: &Range<u64>) -> bool {
        let had_code = self.overlap(range);
        if had_code {
            let left = |code| without(code, std::slice::from_ref(range));
            self.code = std::mem::take(&mut self.code).into_iter().flat_map(left).collect();
        }
        self.in_flight.push((range.clone(), had_code));
        had_code
    }

    /// The call has been made. Returns whether there was code before it.
    pub fn done(&mut self, range: &Range<u64>) -> bool {
        let found = self.in_flight.iter().position(|(other, _)| other == range);
        found.is_some_and(|index| self.in_flight.swap_remove(index).1)
    }

    /// In a forked child: the threads that were making such calls do not exist.
    pub fn all_done(&mut self) {
        self.in_flight.clear();
    }

    /// Whether some of `range` is code.
    pub fn overlap(&self, range: &Range<u64>) -> bool {
        overlap(&self.code, range)
    }

    /// Whether some of `range` would be code if it had other rights.
    pub fn may_be_code(&self, range: &Range<u64>) -> bool {
        overlap(&self.files, range)
    }

    /// Whether `place` is memory of a file that could not be written when the mappings were read.
    pub fn is_constant(&self, place: u64) -> bool {
        overlap(&self.constants, &(place..place + 1))
    }

    /// Whether `pc` was excluded from translation.
    pub fn is_excluded(&self, pc: u64) -> bool {
        self.excluded.iter().any(|range| range.contains(&pc))
    }

    /// The code around `pc`.
    pub fn contains(&self, pc: u64) -> Option<Range<u64>> {
        let at = |index: usize| self.code.get(index).filter(|range| range.contains(&pc)).cloned();
        at(self.latest.get()).or_else(|| {
            let before = self.code.partition_point(|range| range.start <= pc).checked_sub(1)?;
            self.latest.set(before);
            at(before)
        })
    }

    /// The bytes from `pc` to the end of its region.
    ///
    /// # Safety
    /// The region is neither unmapped nor protected nor written while the slice is used: the caller has seen every
    /// such call of the program since the last [`refresh`](Self::refresh), and none can happen meanwhile.
    pub unsafe fn code_after(&self, pc: u64) -> Option<&'static [u8]> {
        let bytes = self.contains(pc)?.end - pc;
        let start = std::ptr::with_exposed_provenance(pc as usize);
        // SAFETY: readable when the regions were read, and since then by the caller's promise.
        Some(unsafe { std::slice::from_raw_parts(start, bytes as usize) })
    }
}

/// Whether one of `ranges`, which are sorted and disjoint, overlaps `range`.
fn overlap(ranges: &[Range<u64>], range: &Range<u64>) -> bool {
    let after = ranges.partition_point(|other| other.end <= range.start);
    ranges.get(after).is_some_and(|other| other.start < range.end)
}

fn translatable(mappings: &[Mapping], excluded: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut code: Vec<Range<u64>> = Vec::new();
    for range in mappings
        .iter()
        .filter(|mapping| is_code(mapping))
        .flat_map(|mapping| without(mapping.range(), excluded))
    {
        match code.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => code.push(range),
        }
    }
    code
}

fn is_code(mapping: &Mapping) -> bool {
    // Shared memory may be written through another mapping, as JIT compilers do.
    mapping.readable
        && mapping.executable
        && !mapping.writable
        && !mapping.shared
        && matches!(mapping.kind, MappingKind::File | MappingKind::Vdso)
}

/// The parts of a range that are in none of `holes`, which are sorted and disjoint.
///
/// A program with hundreds of libraries has as many regions, and each new library asks for all of them: no hole is looked at that
/// is not in the range, and nothing is allocated.
fn without(range: Range<u64>, holes: &[Range<u64>]) -> impl Iterator<Item = Range<u64>> {
    let first = holes.partition_point(|hole| hole.end <= range.start);
    let inside = holes.iter().skip(first).take_while(move |hole| hole.start < range.end).cloned();
    let parts = inside.chain(iter::once(range.end..range.end)).scan(range.start, |at, hole| {
        let part = *at..hole.start;
        *at = hole.end;
        Some(part)
    });
    parts.filter(|part| part.start < part.end)
}

/// The same places as sorted and disjoint ranges.
fn sorted(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|later, range| {
        let overlap = later.start <= range.end;
        if overlap {
            range.end = range.end.max(later.end);
        }
        overlap
    });
    ranges
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::testing::forked, *};

    fn regions(text: &str, excluded: &[Range<u64>]) -> Vec<Range<u64>> {
        translatable(&maps::parse(text.as_bytes()), &sorted(excluded.to_vec()))
    }

    #[test]
    fn code_of_files_is_translatable_and_nothing_else() {
        let text = "\
1000-2000 r--p 0 0 0 /bin/a
2000-5000 r-xp 0 0 1 /bin/a
5000-6000 r-xp 0 0 1 /bin/b
6000-7000 rwxp 0 0 1 /bin/b
7000-8000 r-xs 0 0 1 /bin/b
8000-9000 --xp 0 0 1 /bin/b
9000-a000 r-xp 0 0 0
a000-b000 r-xp 0 0 1 /memfd:jit (deleted)
b000-c000 r-xp 0 0 0 [vdso]
";
        const MIDDLE: Range<u64> = 0x3000..0x4000;
        let (front, all) = (0x2000..0x3000, 0..0x10000);
        assert_eq!(regions(text, &[]), [0x2000..0x6000, 0xb000..0xc000]);
        assert_eq!(regions(text, &[MIDDLE]), [0x2000..0x3000, 0x4000..0x6000, 0xb000..0xc000]);
        assert_eq!(regions(text, &[front, MIDDLE]), [0x4000..0x6000, 0xb000..0xc000]);
        assert_eq!(regions(text, &[all]), []);
    }

    #[test]
    fn this_process_is_found_and_read() {
        let here = this_process_is_found_and_read as fn() as usize as u64;
        let all = Regions::new(Vec::new()).expect("maps");
        let range = all.contains(here).expect("our own code");
        assert_eq!(all.contains(range.end), None);
        // SAFETY: this test's own code stays mapped.
        let code = unsafe { all.code_after(here) }.expect("readable");
        assert_eq!(code.len() as u64, range.end - here);
        // SAFETY: the same byte, read directly.
        assert_eq!(code[0], unsafe { *(here as *const u8) });
        let but_ours = Regions::new(vec![range]).expect("maps");
        assert_eq!(but_ours.contains(here), None);
        assert!(!but_ours.code.is_empty(), "the C library is left");
    }

    #[test]
    fn overlaps_are_found_at_both_ends() {
        let regions = Regions { code: vec![0x2000..0x4000, 0x6000..0x7000], ..Regions::default() };
        for (range, expected) in [
            (0x1000..0x2000, false),
            (0x1000..0x2001, true),
            (0x3fff..0x5000, true),
            (0x4000..0x6000, false),
            (0x5000..0x6001, true),
            (0x7000..0x8000, false),
        ] {
            assert_eq!(regions.overlap(&range), expected, "{range:x?}");
        }
    }

    #[test]
    fn what_is_being_changed_is_no_code_until_it_is_done() {
        let mut regions = Regions::new(Vec::new()).expect("maps");
        let text = regions.code.first().cloned().expect("our own code");
        let page = text.start..text.start + 0x1000;
        assert!(regions.changing(&page));
        // Another thread.
        assert!(!regions.changing(&page));
        for _ in 0..2 {
            assert!(regions.contains(page.start).is_none() && !regions.overlap(&page));
            regions.refresh().expect("maps");
        }
        assert!(regions.done(&page) ^ regions.done(&page), "one of the two has to look");
        assert!(regions.contains(page.start).is_none());
        regions.refresh().expect("maps");
        assert_eq!(regions.contains(page.start), Some(text));
        assert!(!regions.done(&page));
    }

    #[test]
    fn a_refresh_tells_what_is_gone() {
        let mut regions = Regions::new(Vec::new()).expect("maps");
        let text = regions.code.first().cloned().expect("our own code");
        assert!(regions.may_be_code(&text) && !regions.may_be_code(&(0x100..0x200)));
        // An address that the kernel never maps.
        regions.code.insert(0, 0x100..0x200);
        assert_eq!(regions.refresh().expect("maps"), vec![0x100..0x200; 1]);
        assert_eq!(regions.refresh().expect("maps"), []);
    }

    #[test]
    fn a_look_that_fails_leaves_no_code() {
        let status = forked(|| {
            let Ok(mut regions) = Regions::new(Vec::new()) else { return 2 };
            let here = a_look_that_fails_leaves_no_code as fn() as usize as u64;
            let known = regions.contains(here).is_some();
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: a valid limit, of the child alone.
            unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const none) };
            let failed = regions.refresh().is_err();
            i32::from(!(known && failed && regions.contains(here).is_none()))
        });
        assert_eq!(status, 0);
    }

    proptest! {
        /// Compares with the definition, address by address.
        #[test]
        fn exactly_the_excluded_addresses_are_missing(
            start in 0u64..20, length in 1u64..20, holes in prop::collection::vec((0u64..40, 0u64..10), 0..4),
        ) {
            let text = format!("{start:x}-{:x} r-xp 0 0 1 /bin/a", start + length);
            let excluded: Vec<_> = holes.iter().map(|&(at, bytes)| at..at + bytes).collect();
            let regions = Regions { code: regions(&text, &excluded), ..Regions::default() };
            for pc in 0..50 {
                let expected = (start..start + length).contains(&pc) && !excluded.iter().any(|hole| hole.contains(&pc));
                prop_assert_eq!(regions.contains(pc).is_some(), expected, "{}", pc);
            }
        }
    }
}
