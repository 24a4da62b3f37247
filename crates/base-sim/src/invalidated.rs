use rustc_hash::FxHashMap;

use crate::{counts::Sharing, input::Reference};

/// How often one reference's stores took one line from another reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalidated {
    /// The line: its address divided by the bytes of a line.
    pub line: u64,
    /// What stored.
    pub by: Reference,
    /// What had brought the line to the core that lost it.
    pub of: Reference,
    /// How often.
    pub sharing: Sharing,
    /// The parts of the line that were stored to: bit 0 is its first byte, or its first word
    /// ([`Settings::mask_bytes`](crate::Settings::mask_bytes)).
    pub stored: u64,
    /// The parts that the cores which lost the line had accessed.
    pub accessed: u64,
}

/// All invalidations, by line and pair of references.
#[derive(Clone, Debug, Default)]
pub struct Invalidations(FxHashMap<(u64, Reference, Reference), (Sharing, u64, u64)>);

impl Invalidations {
    /// One more: these parts were stored to, and those had been accessed.
    pub fn add(&mut self, line: u64, by: Reference, of: Reference, stored: u64, accessed: u64) {
        let (sharing, all_stored, all_accessed) = self.0.entry((line, by, of)).or_default();
        sharing.add(stored & accessed != 0);
        *all_stored |= stored;
        *all_accessed |= accessed;
    }

    /// In the order of lines and references.
    pub fn sorted(&self) -> Vec<Invalidated> {
        let mut all: Vec<Invalidated> = self
            .0
            .iter()
            .map(|(&(line, by, of), &(sharing, stored, accessed))| Invalidated {
                line,
                by,
                of,
                sharing,
                stored,
                accessed,
            })
            .collect();
        all.sort_unstable_by_key(|each| (each.line, each.by, each.of));
        all
    }
}
