//! Claims: address space that is reserved only by convention. Nothing is mapped before it is needed, so the program's
//! limit on address space (RLIMIT_AS) is left to the program. A claim lies where nothing else looks for room; another
//! mapping that takes a part of it all the same keeps that part.

use std::{collections::BTreeMap, ops::Range};

use super::{
    Mapping, MappingKind, MemoryError,
    diagnosis::explain,
    find_hole, maps,
    reservation::{self, Wish},
    sys,
};

/// Address space of which single parts are mapped.
#[derive(Debug)]
pub struct Claim {
    start: u64,
    bytes: u64,
    /// Names it in messages.
    what: &'static str,
    /// The mapped parts, as offsets: the end of each by its start.
    opened: BTreeMap<u64, u64>,
}

impl Claim {
    /// Claims the best place that is free and not in one of the other claims.
    ///
    /// # Errors
    /// No hole, or the list of mappings cannot be read.
    pub fn find<'a>(wish: &Wish, others: impl Iterator<Item = &'a Self>) -> Result<Self, MemoryError> {
        let Wish { what, bytes, align, ref within, prefer } = *wish;
        let mut mappings = maps::read()?;
        mappings.extend(others.map(Self::as_mapping));
        match find_hole(&mappings, bytes, align, within.clone(), prefer) {
            Some(start) => Ok(Self { start, bytes, what, opened: BTreeMap::new() }),
            None => Err(MemoryError::NoHole { what, bytes, low: within.start, high: within.end }),
        }
    }

    fn as_mapping(&self) -> Mapping {
        let Range { start, end } = self.range();
        Mapping {
            start,
            end,
            readable: false,
            writable: false,
            executable: false,
            shared: false,
            kind: MappingKind::Other,
        }
    }

    /// Its addresses.
    pub fn range(&self) -> Range<u64> {
        self.start..self.start.saturating_add(self.bytes)
    }

    /// Maps a part (offsets in the claim), which is zero.
    ///
    /// # Errors
    /// [`MemoryError::NoHole`] where something else is mapped there, or limits on memory.
    pub fn open(&mut self, part: Range<u64>) -> Result<(), MemoryError> {
        if part.is_empty() || self.opened.get(&part.start) == Some(&part.end) {
            return Ok(());
        }
        let (at, bytes) = (self.start + part.start, part.end - part.start);
        match reservation::map_at(at, bytes) {
            Ok(true) => {
                self.opened.insert(part.start, part.end);
                Ok(())
            }
            Ok(false) => Err(MemoryError::NoHole { what: self.what, bytes, low: at, high: at + bytes }),
            Err(errno) => Err(explain(self.what, "mmap", bytes, errno)),
        }
    }

    /// An open part, to be discarded later. The claim outlives it.
    pub fn at(&self, part: Range<u64>) -> Part {
        Part { at: self.start + part.start, bytes: part.end.saturating_sub(part.start), what: self.what }
    }
}

/// An open part of a claim.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    at: u64,
    bytes: u64,
    what: &'static str,
}

impl Part {
    /// Returns its memory to the kernel; it reads as zero from now on.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn discard(&self) -> Result<(), MemoryError> {
        let Self { at, bytes, what } = *self;
        if bytes == 0 {
            return Ok(());
        }
        reservation::discard(at, bytes).map_err(|errno| explain(what, "madvise", bytes, errno))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        for (start, end) in &self.opened {
            // SAFETY: ours, and no longer used. Nothing can be done about an error.
            let _unmapped = unsafe { sys::munmap(self.start + start, end - start) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Prefer, testing::low_memory},
        *,
    };

    const PAGE: u64 = 4096;

    fn wish() -> Wish {
        let within = 80 << 30..90 << 30;
        Wish { what: "test", bytes: 1 << 20, align: PAGE, within, prefer: Prefer::Low }
    }

    fn mapped_in(range: &Range<u64>) -> Vec<Range<u64>> {
        let inside = |mapping: &Mapping| range.contains(&mapping.start);
        maps::read().expect("maps").iter().filter(|mapping| inside(mapping)).map(Mapping::range).collect()
    }

    #[test]
    fn only_what_is_opened_is_mapped() {
        let _turn = low_memory();
        let mut claim = Claim::find(&wish(), std::iter::empty()).expect("room");
        let range = claim.range();
        assert_eq!(mapped_in(&range), []);
        claim.open(PAGE..3 * PAGE).expect("mapped");
        claim.open(PAGE..3 * PAGE).expect("mapped already");
        claim.open(5 * PAGE..5 * PAGE).expect("nothing");
        let opened = range.start + PAGE..range.start + 3 * PAGE;
        assert_eq!(mapped_in(&range).as_slice(), std::slice::from_ref(&opened));
        let other = Claim::find(&wish(), [&claim].into_iter()).expect("room");
        assert!(other.range().start >= range.end, "{other:x?}");
        drop(claim);
        assert_eq!(mapped_in(&range), []);
    }

    #[test]
    fn what_somebody_else_has_mapped_is_theirs() {
        let _turn = low_memory();
        let mut mine = Claim::find(&wish(), std::iter::empty()).expect("room");
        let mut theirs = Claim::find(&wish(), std::iter::empty()).expect("the same room");
        assert_eq!(mine.range(), theirs.range());
        theirs.open(0..2 * PAGE).expect("mapped");
        assert!(matches!(mine.open(PAGE..3 * PAGE), Err(MemoryError::NoHole { .. })));
        mine.open(2 * PAGE..3 * PAGE).expect("free");
        let range = mine.range();
        drop(mine);
        let theirs_still = range.start..range.start + 2 * PAGE;
        assert_eq!(mapped_in(&range).as_slice(), std::slice::from_ref(&theirs_still));
    }
}
