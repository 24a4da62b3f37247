//! The two versions of blocks, and the switches between them: operations on the whole cache.

use super::{cache::Cache, code::Code, switches::Switch, translations::Translations};

impl Cache {
    /// The blocks at these addresses begin with these switches.
    pub fn add_switches(&mut self, added: impl Iterator<Item = (u64, Switch)>) {
        let blocks: Vec<u64> = added
            .map(|(pc, switch)| {
                self.switches.add(pc, switch);
                pc
            })
            .collect();
        self.aim_switches(blocks);
    }

    /// Whether there is an episode.
    pub const fn is_in_episode(&self) -> bool {
        self.switches.are_open()
    }

    /// The number of the episode, from 1 on; 0 where there is none.
    pub const fn episode(&self) -> u64 {
        self.switches.episode()
    }

    /// Begins or ends an episode.
    pub fn switch(&mut self, open: bool) {
        let Self { switches, arenas, .. } = self;
        if !switches.turn(open) {
            return;
        }
        for switch in switches.iter() {
            if let Some(code) = arenas.at_mut(switch.at) {
                code.set_switch(switch.at, &switch.bytes(open));
            }
        }
        // A loop that counts in a register has its switch in front of it.
        if open {
            arenas.iter_mut().for_each(Code::interrupt_loops);
        }
    }

    /// Makes the switches of these blocks lead to their watching versions, or to their exit stubs where they have none.
    pub fn aim_switches(&mut self, blocks: impl IntoIterator<Item = u64>) {
        let open = self.is_in_episode();
        let Self { switches, arenas, translations, .. } = self;
        for pc in blocks {
            let Some(switch) = switches.get_mut(pc) else { continue };
            let Some(code) = arenas.at_mut(switch.at) else { continue };
            let to = way(code, translations, pc, switch.at);
            if std::mem::replace(&mut switch.to, to) != to {
                let bytes = switch.bytes(open);
                code.set_switch(switch.at, &bytes);
            }
        }
    }
}

/// The way from a switch at `at` to the watching version of the block at `pc`, if there is one.
fn way(code: &mut Code, translations: &Translations, pc: u64, at: u64) -> Option<u64> {
    let to = translations.watching(pc)?;
    let is_near = i32::try_from(to.wrapping_sub(at + Switch::BYTES) as i64).is_ok();
    if is_near { Some(to) } else { code.springboard_to(to, pc) }
}
