//! The program's code as it is mapped.

use crate::memory::Regions;

/// The original code from `pc` to the end of its region, where it may be translated.
pub fn original(regions: &Regions, pc: u64) -> Option<&'static [u8]> {
    // SAFETY: the program's calls that change mappings come by here (`system`), under the lock that the caller holds.
    unsafe { regions.code_after(pc) }
}
