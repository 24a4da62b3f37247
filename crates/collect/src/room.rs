//! Room on the disk where a profile keeps accesses: it must not take the last of it.

use std::path::{Path, PathBuf};

use carom_base_sys::machine::Space;
use carom_base_wire::{ReuseMethod, Settings};
use carom_store::Warning;

/// What is left to others: a GiB, or this part of a smaller disk.
const LEFT_BYTES: u64 = 1 << 30;
const LEFT_PART: u64 = 20;

/// Watches the disk of a profile.
pub struct Room {
    /// `None` where no accesses are kept: other profiles are small.
    dir: Option<PathBuf>,
    was_short: bool,
}

impl Room {
    pub fn new(dir: &Path, settings: &Settings) -> Self {
        let keeps = match settings.reuse.map(|reuse| reuse.method) {
            Some(ReuseMethod::Kept | ReuseMethod::Reduced(_)) => true,
            Some(ReuseMethod::Exact { keep, .. }) => keep,
            Some(ReuseMethod::Sampled { .. }) | None => false,
        };
        Self { dir: keeps.then(|| dir.to_owned()), was_short: false }
    }

    /// Whether the recording is to end here, because little room is left.
    pub fn is_short(&mut self) -> bool {
        let space = self.dir.as_deref().and_then(|dir| Space::of(dir).ok());
        self.was_short |= space.is_some_and(|space| is_short(&space));
        self.was_short
    }

    /// That it has ended for that.
    pub fn warning(&self) -> Option<Warning> {
        let text =
            "Little room is left on the disk of the profile, so that recording ended before the program did.";
        self.was_short.then(|| Warning { code: "low-disk".into(), text: text.into() })
    }
}

fn is_short(space: &Space) -> bool {
    space.free < LEFT_BYTES.min(space.total / LEFT_PART)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gib_or_a_twentieth_is_left() {
        let of = |total, free| is_short(&Space { total, free });
        assert!(of(1 << 40, (1 << 30) - 1) && !of(1 << 40, 1 << 30));
        assert!(of(100 << 20, (5 << 20) - 1) && !of(100 << 20, 5 << 20));
    }
}
