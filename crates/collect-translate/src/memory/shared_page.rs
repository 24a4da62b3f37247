//! A page that a process shares with the children that it forks.

use std::{ffi::CStr, sync::atomic::AtomicU64};

use super::{MemoryError, PAGE_BYTES, arena::memory_file, diagnosis::explain, reservation::Reservation};

const WHAT: &str = "what children of a fork run";

/// Begins like the names of translated code's files ([`super::CODE_NAME`]), by which the engine's mappings are
/// recognised.
const FILE_NAME: &CStr = c"carom-code-children";

/// The number of words in the page.
pub const PAGE_WORDS: usize = PAGE_BYTES as usize / size_of::<AtomicU64>();

/// A page of words, initially zero, that all processes share that were forked since it was made.
#[derive(Debug)]
pub struct SharedPage(Reservation);

impl SharedPage {
    /// Makes a page.
    ///
    /// # Errors
    /// No memory, or limits on it.
    pub fn new() -> Result<Self, MemoryError> {
        let file = memory_file(FILE_NAME, PAGE_BYTES)?;
        let mut place = Reservation::anywhere(WHAT, PAGE_BYTES)?;
        place
            .map_shared(&file, libc::PROT_READ | libc::PROT_WRITE)
            .map_err(|errno| explain(WHAT, "mmap", PAGE_BYTES, errno))?;
        place.populate(0..PAGE_BYTES)?;
        Ok(Self(place))
    }

    /// The words.
    pub fn words(&self) -> &[AtomicU64; PAGE_WORDS] {
        let place = std::ptr::with_exposed_provenance(self.0.range().start as usize);
        // SAFETY: a page that is mapped for as long as `self`, used through atomics only.
        unsafe { &*place }
    }
}
