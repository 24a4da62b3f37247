//! One access: the way of almost all of them, which ends in L1.

use carom_base::AccessKind;

use super::{Simulator, core::Core};
use crate::{
    counts::{Counts, MissClass},
    history::Change,
    input::{Input, Reference},
    protocol::State,
};

/// What an access does to one line.
#[derive(Clone, Copy)]
pub struct Touch {
    pub core: usize,
    pub input: Input,
    /// How many accesses were before it.
    pub position: u64,
    pub line: u64,
    pub mask: u64,
}

impl Touch {
    pub fn reference(&self) -> usize {
        self.input.reference().0 as usize
    }
}

impl Simulator {
    pub(super) fn make(&mut self, core: usize, inputs: &[Input]) {
        let mut at = 0;
        while let Some(rest) = inputs.get(at..).filter(|rest| !rest.is_empty()) {
            at += self.hits(core, rest);
            if let Some(&input) = inputs.get(at) {
                self.one(core, input, self.position + at as u64);
                at += 1;
            }
        }
    }

    /// Any access.
    #[inline(never)]
    fn one(&mut self, core: usize, input: Input, position: u64) {
        let (grain, part, first, last) = (self.grain, self.part, input.addr(), input.last());
        let line = grain.line(first);
        if part.has(line) {
            self.count(input);
        }
        if grain.line(last) != line {
            return self.several(core, input, position);
        }
        if part.has(line) {
            self.touch(Touch { core, input, position, line, mask: grain.mask(first, last) });
        }
    }

    /// An access to more than one line.
    #[cold]
    fn several(&mut self, core: usize, input: Input, position: u64) {
        let part = self.part;
        for (line, mask) in self.grain.pieces(input).filter(|(line, _)| part.has(*line)) {
            // A piece of another part's access may be the first that this part sees of its reference.
            if input.reference().0 as usize >= self.counts.len() {
                self.know(input.reference().0 as usize);
            }
            self.touch(Touch { core, input, position, line, mask });
        }
    }

    #[inline]
    fn count(&mut self, input: Input) {
        let reference = input.reference().0 as usize;
        if reference >= self.accesses.len() {
            self.know(reference);
        }
        self.accesses[reference][input.kind_code()] += 1;
    }

    #[cold]
    fn know(&mut self, reference: usize) {
        self.accesses.resize(reference + 1, [0; 4]);
        self.counts.resize(reference + 1, Counts::default());
    }

    fn touch(&mut self, touch: Touch) {
        let shadowed = self
            .shadows
            .as_mut()
            .is_some_and(|shadows| shadows.l1.get_mut(touch.core).is_some_and(|l1| l1.use_line(touch.line)));
        self.touch_other(touch, shadowed);
    }

    /// `shadowed`: the fully associative cache beside L1 has the line.
    fn touch_other(&mut self, touch: Touch, shadowed: bool) {
        let Core { l1, front, .. } = &mut self.cores[touch.core];
        if let Some(slot) = l1.cache.find(touch.line) {
            front.note(touch.line, slot);
            l1.cache.used(touch.line, slot);
            let copy = l1.copy(slot);
            copy.mask |= touch.mask;
            let state = copy.state;
            if !touch.input.writes() || state == State::Modified {
                return;
            }
            if state != State::Exclusive
                && let Some(held) = l1.held(slot)
            {
                self.upgrade(touch, held.number);
            }
            self.cores[touch.core].l1.copy(slot).state = State::Modified;
        } else {
            self.miss_l1(touch, shadowed);
        }
        self.after(touch);
    }

    fn miss_l1(&mut self, touch: Touch, shadowed: bool) {
        let in_l2_shadow = match &mut self.shadows {
            Some(shadows) if self.cores[touch.core].has_l2() => {
                shadows.l2.get_mut(touch.core).is_some_and(|l2| l2.use_line(touch.line))
            }
            _ => false,
        };
        let Some(mut held) = self.cores[touch.core].take_from_l2(touch.line) else {
            return self.miss_core(touch, shadowed, in_l2_shadow);
        };
        // L1 had it when L2 got it, and a store would have taken both.
        self.counts_of(touch).l1.add(MissClass::Replaced, shadowed);
        if touch.input.writes() && held.state != State::Modified {
            if held.state != State::Exclusive {
                self.upgrade(touch, held.number);
            }
            held.state = State::Modified;
        }
        held.mask |= touch.mask;
        if let Some(lost) = self.cores[touch.core].fill_l1(held) {
            self.leave(touch, touch.core, lost);
        }
    }

    pub(super) fn counts_of(&mut self, touch: Touch) -> &mut Counts {
        &mut self.counts[touch.reference()]
    }

    /// Whatever may have changed a state has happened.
    fn after(&mut self, touch: Touch) {
        if !self.histories.is_empty() {
            self.remember(touch);
        }
        #[cfg(debug_assertions)]
        self.check(touch.line);
    }

    #[cold]
    fn remember(&mut self, touch: Touch) {
        let Self { histories, cores, .. } = self;
        for history in histories {
            let states =
                || cores.iter().map(|core| core.get(history.line).map_or(State::Invalid, |held| held.state));
            if history.differs(states()) {
                let (position, core, reference) =
                    (touch.position, touch.core, Reference(touch.reference() as u32));
                let kind = AccessKind::from_u8(touch.input.kind_code() as u8).unwrap_or(AccessKind::Load);
                history.changes.push(Change { position, core, reference, kind, states: states().collect() });
            }
        }
    }
}
