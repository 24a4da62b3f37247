//! Accesses that end in L1: almost all. Their loop does nothing else, and is compiled by itself, so that what it needs stays in
//! registers.

use super::{Simulator, core::Core};
use crate::{
    cache::{Copied, Front, HeldCache, Order, Slot},
    input::{Grain, Input},
    protocol::State,
};

impl Simulator {
    /// Makes accesses as long as each is to one line, which L1 has in a state that allows it, where the front says. Returns their
    /// number.
    #[inline]
    pub(super) fn hits(&mut self, core: usize, inputs: &[Input]) -> usize {
        let Self { cores, accesses, grain, shadows, .. } = self;
        let Some(Core { l1, front, .. }) = cores.get_mut(core).filter(|_| shadows.is_none()) else {
            return 0;
        };
        let hits = Hits { l1, front, accesses };
        if *grain == Grain::USUAL { hits.usual(inputs) } else { hits.make(*grain, inputs) }
    }
}

struct Hits<'a> {
    l1: &'a mut HeldCache,
    front: &'a Front,
    accesses: &'a mut [[u64; 4]],
}

impl Hits<'_> {
    /// With shifts that are known when this is compiled.
    #[inline(never)]
    fn usual(self, inputs: &[Input]) -> usize {
        self.make(Grain::USUAL, inputs)
    }

    #[inline(always)]
    fn make(self, grain: Grain, inputs: &[Input]) -> usize {
        let Self { l1, front, accesses } = self;
        let (cache, copies) = l1.parts();
        let (lines, ways, order) = cache.parts();
        let count = lines.len();
        let Some(copies) = copies.get_mut(..count) else { return 0 };
        let slots = Slots { lines, copies, front, accesses };
        match order {
            Order::Lru { uses, now } => {
                let Some(uses) = uses.get_mut(..count) else { return 0 };
                slots.make(grain, inputs, |slot| {
                    *now += 1;
                    uses[slot] = *now;
                })
            }
            Order::Random { .. } => slots.make(grain, inputs, |_| {}),
            order @ Order::Plru { .. } => {
                slots.make(grain, inputs, |slot| order.used(slot / ways, slot % ways, slot))
            }
        }
    }
}

struct Slots<'a> {
    lines: &'a [u64],
    /// As many.
    copies: &'a mut [Copied],
    front: &'a Front,
    accesses: &'a mut [[u64; 4]],
}

impl Slots<'_> {
    /// `used` notes that a slot's line is used.
    #[inline(always)]
    fn make(self, grain: Grain, inputs: &[Input], mut used: impl FnMut(Slot)) -> usize {
        let Self { lines, copies, front, accesses } = self;
        for (at, input) in inputs.iter().enumerate() {
            let first = input.addr();
            let line = grain.line(first);
            let slot = front.guess(line);
            // Behind the end of the address space is another line, too.
            let last = first.wrapping_add(u64::from(input.width()) - 1);
            let (Some(copy), Some(counts)) =
                (copies.get_mut(slot), accesses.get_mut(input.reference().0 as usize))
            else {
                return at;
            };
            let may = !input.writes() | (copy.state == State::Modified);
            // Neither is told apart from the other by a branch, which would be mispredicted more often.
            if grain.line(last) != line || !((lines[slot] == line) & may) {
                return at;
            }
            copy.mask |= grain.mask(first, last);
            used(slot);
            counts[input.kind_code()] += 1;
        }
        inputs.len()
    }
}
