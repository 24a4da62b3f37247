//! Samples that are reported when their block begins, so that they take one exit from the cache and not two.
//!
//! The countdown of a block is over in front of its first instruction. If the registers there already determine the
//! address of a sampled access, no copy of the block with a second exit in front of the access is needed.

use carom_base::{Access, Addr, Ip};
use carom_base_insn::Registers;

use crate::{
    decode::operand::Operand,
    engine::Engine,
    lane::registers::Gpr,
    probes::{
        mode::Mode,
        split::{Known, Split},
        strata::{DrawnAs, Due},
    },
    threads::thread::{Noticed, Thread},
};

/// Whether samples may be reported then.
pub fn is_allowed(engine: &Engine) -> bool {
    matches!(engine.cache.mode(), Mode::Sample { .. }) && engine.observer.takes_samples_early()
}

/// Reports those of the accesses due in the block that has begun that can be reported now. Returns the others. `weight`: of all
/// of them; `behind`: loads and stores of the blocks behind it in its superblock, which were counted with it.
pub fn tell(thread: &mut Thread, due: &Due, split: &Split, weight: f32, behind: i64) -> Due {
    let mut later = Due::default();
    // For others the thread continues in a copy, for which the superblock is left.
    let stays = split.now.into_iter().take(due.count()).all(|known| known.is_some());
    let behind = if stays { behind } else { 0 };
    for ((known, (nth, store)), doublings) in split.now.into_iter().zip(due.accesses()).zip(due.doublings()) {
        let Some(Known { pc, operand, sp, kind, ahead }) = known else {
            later.push(nth, store, doublings);
            continue;
        };
        let addr = Addr(operand.address(&thread.registers(pc)));
        let access = Access { ip: Ip(pc), addr, width: operand.width, kind: operand.kind };
        let drawn_as = Some(DrawnAs { kind, doublings });
        thread.noticed.push(Noticed { access, drawn_as, weight: Some(weight), ahead: ahead + behind, sp });
    }
    later
}

impl Operand {
    /// The address with these registers.
    fn address(&self, registers: &Registers<'_>) -> u64 {
        let of = |register: Option<Gpr>| {
            register.and_then(|register| registers.gpr.get(usize::from(register.0))).copied().unwrap_or(0)
        };
        let fs = if self.fs { registers.fs_base } else { 0 };
        let index = of(self.index).wrapping_mul(u64::from(self.scale));
        of(self.base).wrapping_add(index).wrapping_add(self.displacement).wrapping_add(fs)
    }
}
