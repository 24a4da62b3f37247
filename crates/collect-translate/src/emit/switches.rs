//! The switches in front of blocks (`blocks::switches`), and what is done where one leads out.

use super::{Builder, fragment};
use crate::{
    blocks::{cache::Cache, switches::Switch},
    encode::marks::Undo,
    lane::exit::{Exit, Reason},
    probes::mode::{Mode, Version},
};

impl Builder<'_> {
    /// Whether there is a translation of the block at `pc`, in this version.
    pub(super) fn is_translated(&self, pc: u64) -> bool {
        match self.version {
            Version::Plain => self.cache.translations.contains(pc),
            Version::Watching => self.cache.translations.watching(pc).is_some(),
        }
    }

    /// The switch in front of the block at `pc`, if it needs one. Returns where it lies.
    pub(super) fn switch(&mut self, pc: u64) -> Option<u64> {
        let has_versions = matches!(self.cache.mode(), Mode::Episodes { .. }) && self.mode != Mode::Bare;
        if !has_versions || self.version == Version::Watching {
            return None;
        }
        // In front of the padding, too.
        self.mark(pc, Undo::Nothing);
        self.code.align_within_word(Switch::BYTES);
        let at = self.code.here();
        let back = at + Switch::BYTES;
        let switch = Switch::new(at, self.stub(Exit { reason: Reason::Switch, detail: 0, pc, back }, false));
        self.code.raw(&switch.bytes(self.cache.is_in_episode()));
        self.switches.push((pc, switch));
        Some(at)
    }
}

impl Cache {
    /// The watching version of the block at `pc`, which is made if need be. `None` where it cannot be made.
    pub fn watching(&mut self, pc: u64) -> Option<u64> {
        let known = self.translations.watching(pc);
        known.or_else(|| fragment(self, pc, Version::Watching))
    }
}
