//! Reserved address space: without memory at first, then opened or mapped to a file piece by piece.

use std::ops::Range;

use carom_base_sys::own_room;

use super::{
    MemoryError, Prefer,
    diagnosis::explain,
    find_hole, maps,
    sys::{self, Errno, File},
};

/// Reserved address space, released when dropped.
#[derive(Debug)]
pub struct Reservation {
    start: u64,
    bytes: u64,
    /// Names it in messages.
    what: &'static str,
}

/// Where a reservation is to lie.
#[derive(Clone, Debug)]
pub struct Wish {
    /// What it is for, for messages.
    pub what: &'static str,
    /// Its size.
    pub bytes: u64,
    /// Its start is a multiple of it.
    pub align: u64,
    /// All of it lies in here.
    pub within: Range<u64>,
    /// The best of several places.
    pub prefer: Prefer,
}

/// Another thread may take a hole between the look and the call; if it happens more often than this, it is not by
/// chance.
const MOST_TRIALS: usize = 16;

/// Huge pages would allocate memory for the holes; core dumps of the program must not contain the engine.
const ADVICE: [i32; 2] = [libc::MADV_NOHUGEPAGE, libc::MADV_DONTDUMP];

const FLAGS: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

impl Reservation {
    /// Reserves the best free place.
    pub fn find(wish: &Wish) -> Result<Self, MemoryError> {
        let Wish { what, bytes, align, ref within, prefer } = *wish;
        for _trial in 0..MOST_TRIALS {
            let mappings = maps::read()?;
            let Some(start) = find_hole(&mappings, bytes, align, within.clone(), prefer) else { break };
            match reserve_at(start, bytes) {
                Ok(true) => return Ok(Self::begin(start, bytes, what)),
                Ok(false) => {}
                Err(errno) => return Err(explain(what, "mmap", bytes, errno)),
            }
        }
        Err(MemoryError::NoHole { what, bytes, low: within.start, high: within.end })
    }

    /// Reserves any free place.
    pub fn anywhere(what: &'static str, bytes: u64) -> Result<Self, MemoryError> {
        let start = own_room::map(bytes, libc::PROT_NONE, FLAGS, -1);
        start
            .map(|start| Self::begin(start, bytes, what))
            .map_err(|errno| explain(what, "mmap", bytes, errno))
    }

    fn begin(start: u64, bytes: u64, what: &'static str) -> Self {
        make_ours(start, bytes);
        Self { start, bytes, what }
    }

    /// Its addresses.
    pub fn range(&self) -> Range<u64> {
        self.start..self.start.saturating_add(self.bytes)
    }

    /// Makes part of it (offsets) readable and writable.
    pub fn open(&self, part: Range<u64>) -> Result<(), MemoryError> {
        let (at, bytes) = self.part(part);
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: inside of this reservation, which is ours; more rights break no use.
        unsafe { sys::mprotect(at, bytes, libc::PROT_READ | libc::PROT_WRITE) }
            .map_err(|errno| explain(self.what, "mprotect", bytes, errno))
    }

    /// Huge pages are welcome, where the kernel has them: all of it is used.
    pub fn ask_for_huge_pages(&self) {
        // SAFETY: ours; the advice changes no contents. Kernels without huge pages say EINVAL.
        let _ignored = unsafe { sys::madvise(self.start, self.bytes, libc::MADV_HUGEPAGE) };
    }

    /// Unmaps the pages of a shared mapping; their contents stay, and come back on use.
    pub fn unmap_pages(&self) {
        // Where that fails, the pages stay.
        // SAFETY: ours; for a shared mapping this advice changes no contents.
        let _stay = unsafe { sys::madvise(self.start, self.bytes, libc::MADV_DONTNEED) };
    }

    /// Frees the memory behind a part of a shared mapping, for all processes that have mapped it; it reads as zero
    /// from now on. False where the kernel cannot.
    pub fn punch(&self, part: Range<u64>) -> bool {
        let (at, bytes) = self.part(part);
        // SAFETY: inside of this reservation, whose contents are to vanish.
        unsafe { sys::madvise(at, bytes, libc::MADV_REMOVE) }.is_ok()
    }

    /// Allocates memory for an open part, so that writing it needs no allocation.
    pub fn populate(&self, part: Range<u64>) -> Result<(), MemoryError> {
        let (at, bytes) = self.part(part);
        // SAFETY: inside of this reservation; contents stay as they are.
        match unsafe { sys::madvise(at, bytes, libc::MADV_POPULATE_WRITE) } {
            // Linux before 5.14 does not know it: then the write allocates memory, or raises SIGBUS.
            Ok(()) | Err(libc::EINVAL) => Ok(()),
            // For files in memory: neither memory nor swap is left, or the commit limit is reached.
            Err(libc::EFAULT) => Err(explain(self.what, "madvise", bytes, libc::ENOMEM)),
            Err(errno) => Err(explain(self.what, "madvise", bytes, errno)),
        }
    }

    /// Maps a file over all of it.
    pub fn map_shared(&mut self, file: &File, protection: i32) -> Result<(), Errno> {
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        // SAFETY: exactly this reservation is replaced, which the caller has exclusively.
        unsafe { sys::mmap(self.start, self.bytes, protection, flags, file.number()) }?;
        make_ours(self.start, self.bytes);
        Ok(())
    }

    /// Address and length of the range between two offsets, cut to the reservation.
    fn part(&self, part: Range<u64>) -> (u64, u64) {
        let end = part.end.min(self.bytes);
        let start = part.start.min(end);
        (self.start + start, end - start)
    }
}

/// Reserves this place. False where something is mapped.
fn reserve_at(at: u64, bytes: u64) -> Result<bool, Errno> {
    // SAFETY: not MAP_FIXED, so nothing is replaced.
    match unsafe { sys::mmap(at, bytes, libc::PROT_NONE, FLAGS | libc::MAP_FIXED_NOREPLACE, -1) } {
        Ok(start) if start == at => Ok(true),
        // Kernels before 4.17 treat the address as a hint.
        Ok(start) => {
            // SAFETY: mapped just now.
            unsafe { sys::munmap(start, bytes) }?;
            Ok(false)
        }
        Err(libc::EEXIST) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Maps readable and writable memory at this place. False where something is mapped.
pub(super) fn map_at(at: u64, bytes: u64) -> Result<bool, Errno> {
    if !reserve_at(at, bytes)? {
        return Ok(false);
    }
    make_ours(at, bytes);
    // SAFETY: mapped just now.
    let opened = unsafe { sys::mprotect(at, bytes, libc::PROT_READ | libc::PROT_WRITE) };
    if opened.is_err() {
        // SAFETY: as above. The first error is the one to report.
        let _unmapped = unsafe { sys::munmap(at, bytes) };
    }
    opened.map(|()| true)
}

/// Returns memory of the engine to the kernel; it reads as zero from now on.
pub(super) fn discard(at: u64, bytes: u64) -> Result<(), Errno> {
    let discard = || {
        // SAFETY: ours, and its contents are to vanish.
        unsafe { sys::madvise(at, bytes, libc::MADV_DONTNEED) }
    };
    // Locked memory (a later mlockall(MCL_CURRENT)) cannot be discarded.
    discard().or_else(|_| sys::munlock(at, bytes).and_then(|()| discard()))
}

/// Keeps a new mapping from having more memory than is used, and out of core dumps.
fn make_ours(at: u64, bytes: u64) {
    // After the program has called mlockall(MCL_FUTURE), all of it would be allocated when opened.
    let _no_lock = sys::munlock(at, bytes);
    for advice in ADVICE {
        // Kernels without huge pages say EINVAL, and need no advice.
        // SAFETY: ours; neither advice changes contents.
        let _ignored = unsafe { sys::madvise(at, bytes, advice) };
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: ours, and no longer used by its owner. Nothing can be done about an error.
        let _unmapped = unsafe { sys::munmap(self.start, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::{super::MappingKind, *};

    #[test]
    fn only_what_is_open_is_accessible_and_all_of_it_is_given_back() {
        let reservation = Reservation::anywhere("test", 64 << 10).expect("address space");
        let range = reservation.range();
        reservation.open(16 << 10..32 << 10).expect("memory");
        let open = |start: u64, end: u64| {
            let mappings = maps::read().expect("maps");
            let writable = mappings.into_iter().filter(|mapping| mapping.writable);
            let covers = |mapping: maps::Mapping| mapping.start <= start && mapping.end >= end;
            writable.filter(|mapping| mapping.kind == MappingKind::Anonymous).any(covers)
        };
        assert!(open(range.start + (16 << 10), range.start + (32 << 10)));
        assert!(!open(range.start, range.start + (4 << 10)));
        assert!(!open(range.start + (32 << 10), range.start + (36 << 10)));
    }

    #[test]
    fn parts_are_cut_to_the_reservation() {
        let reservation = Reservation::anywhere("test", 64 << 10).expect("address space");
        let start = reservation.range().start;
        assert_eq!(reservation.part(0..u64::MAX), (start, 64 << 10));
        assert_eq!(reservation.part(60 << 10..70 << 10), (start + (60 << 10), 4 << 10));
        assert_eq!(reservation.part(80 << 10..90 << 10), (start + (64 << 10), 0));
    }

    #[test]
    fn a_wish_that_cannot_be_granted_says_so() {
        let wish = Wish { what: "test", bytes: 1 << 20, align: 4096, within: 0..1, prefer: Prefer::Low };
        let refused = Reservation::find(&wish).expect_err("one byte is not enough");
        assert_eq!(refused, MemoryError::NoHole { what: "test", bytes: 1 << 20, low: 0, high: 1 });
    }
}
