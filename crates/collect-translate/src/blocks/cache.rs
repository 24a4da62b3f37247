//! The code cache: all translations, and where they lie.

use std::ops::Range;

use carom_base_insn::Decoder as Accesses;

use super::{
    ahead::Ahead, arenas::Arenas, hooks::Hooks, landings::Landings, likely::Likely, links::Waiting,
    spare::Spare, switches::Switches, translations::Translations,
};
use crate::{
    analyse::liveness::Liveness,
    decode::{reader::Reader, source::Source},
    encode::marks::Mark,
    lane::exit::{Exit, Reason},
    memory::{Lanes, MemoryError},
    probes::{
        filter::IpSet,
        mode::{Mode, Version},
        templates::Templates,
    },
};

/// All translations of the process, used under a lock.
///
/// Its parts do not know each other. Operations that concern several parts are in `invalidate` and `retire`.
pub struct Cache {
    pub(super) mode: Mode,
    /// The instructions that are observed individually.
    pub(super) filter: IpSet,
    /// The program's code.
    pub source: Source,
    /// Decodes it.
    pub reader: Reader,
    /// What instructions access.
    pub accesses: Accesses,
    pub lanes: Lanes,
    pub arenas: Arenas,
    pub translations: Translations,
    /// Jumps to blocks that are not translated yet.
    pub(super) waiting: Waiting,
    pub landings: Landings,
    pub hooks: Hooks,
    /// What is known about streamed accesses.
    pub templates: Templates,
    /// Code that children of a fork will run.
    pub ahead: Ahead,
    pub spare: Spare,
    /// Loops count in registers, so that other threads may find their counts old.
    pub counts_in_registers: bool,
    /// Where the program's flags matter.
    pub liveness: Liveness,
    /// Which way branches go mostly.
    pub likely: Likely,
    /// The ways to the watching versions of blocks.
    pub(super) switches: Switches,
}

impl Cache {
    /// An empty cache.
    ///
    /// # Errors
    /// The address space has no room, or the system forbids a process to write its own code.
    pub fn new(mode: Mode, native: Vec<Range<u64>>) -> Result<Self, MemoryError> {
        Ok(Self {
            mode,
            filter: IpSet::everything(),
            source: Source::new(native)?,
            reader: Reader::default(),
            accesses: Accesses::new(),
            lanes: Lanes::reserve()?,
            arenas: Arenas::new(),
            translations: Translations::new(),
            waiting: Waiting::default(),
            landings: Landings::new()?,
            hooks: Hooks::default(),
            templates: Templates::default(),
            ahead: Ahead::default(),
            spare: Spare::default(),
            counts_in_registers: true,
            liveness: Liveness::default(),
            likely: Likely::default(),
            switches: Switches::default(),
        })
    }

    /// How the program is observed.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Which instructions are observed individually.
    pub const fn filter(&self) -> &IpSet {
        &self.filter
    }

    /// How the instruction at `pc` is observed.
    pub fn mode_at(&self, pc: u64) -> Mode {
        if self.filter.contains(pc) { self.mode } else { self.mode.elsewhere() }
    }

    /// The fragment is complete and may run: jumps that wait for its blocks lead there, and its landings are entered
    /// into the tables.
    pub fn publish(&mut self) {
        let Self { arenas, translations, waiting, landings, .. } = self;
        translations.publish(|(pc, cache)| {
            for patch in waiting.take(pc).into_iter().flatten() {
                if let Some(code) = arenas.at_mut(patch) {
                    code.link(pc, patch, cache);
                }
            }
        });
        landings.publish(arenas);
        let watching = self.translations.publish_watching();
        self.aim_switches(watching);
    }

    /// The fragment could not be made.
    pub fn retract(&mut self) {
        self.translations.retract();
        self.landings.retract();
    }

    /// Where a jump to the code at `pc` is to lead: to `known`, if given, otherwise to an exit stub that will patch
    /// the jump. `patch` is the address of its displacement.
    pub fn link_to(&mut self, index: usize, pc: u64, patch: u64, known: Option<u64>) -> u64 {
        let target = self.source.stands_for(pc);
        let Some(code) = self.arenas.get_mut(index) else { return 0 };
        match known {
            Some(cache) => {
                code.linked(pc, patch, 0);
                cache
            }
            None => {
                self.waiting.add(target, patch);
                code.stub(Exit { reason: Reason::Link, detail: patch, pc, back: 0 }, false)
            }
        }
    }

    /// An arena for this version of the code at `pc`, with room for one more fragment.
    pub fn room_near(&mut self, pc: u64, version: Version) -> Option<usize> {
        let reach = self.source.reach(pc)?;
        self.arenas.room(&reach, version, &mut self.lanes)
    }

    /// The mark for a cache address inside a fragment.
    pub fn mark(&self, address: u64) -> Option<Mark> {
        self.arenas.at(address)?.1.mark(address)
    }
}
