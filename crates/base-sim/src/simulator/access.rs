//! One access: the way of almost all of them, which ends in L1.

use carom_base::AccessKind;

use super::Simulator;
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
        for (at, &input) in inputs.iter().enumerate() {
            let position = self.position + at as u64;
            let (first, last) = (input.addr(), input.last());
            let line = self.grain.line(first);
            if self.part.has(line) {
                self.count(input);
                if self.grain.line(last) == line {
                    let mask = self.grain.mask(first, last);
                    self.touch(Touch { core, input, position, line, mask });
                    continue;
                }
            } else if self.grain.line(last) == line {
                continue;
            }
            let part = self.part;
            for (line, mask) in self.grain.pieces(input).filter(|(line, _)| part.has(*line)) {
                // A piece of another part's access may be the first that this part sees of its reference.
                if input.reference().0 as usize >= self.counts.len() {
                    self.know(input.reference().0 as usize);
                }
                self.touch(Touch { core, input, position, line, mask });
            }
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

    #[inline]
    fn touch(&mut self, touch: Touch) {
        if self.shadows.is_some() {
            return self.touch_beside_shadow(touch);
        }
        let l1 = &mut self.cores[touch.core].l1;
        if let Some(slot) = l1.cache.recent(touch.line)
            && (!touch.input.writes() || l1.states[slot] == State::Modified)
        {
            l1.masks[slot] |= touch.mask;
            return;
        }
        self.touch_other(touch, false);
    }

    /// The same, with a fully associative cache beside L1.
    fn touch_beside_shadow(&mut self, touch: Touch) {
        let l1 = self.shadows.as_mut().and_then(|shadows| shadows.l1.get_mut(touch.core));
        let shadowed = l1.is_some_and(|l1| l1.use_line(touch.line));
        self.touch_other(touch, shadowed);
    }

    /// Not the line of its set that was used last, or a store that may have to ask.
    fn touch_other(&mut self, touch: Touch, shadowed: bool) {
        let l1 = &mut self.cores[touch.core].l1;
        if let Some(slot) = l1.cache.find(touch.line) {
            l1.cache.used(slot);
            l1.masks[slot] |= touch.mask;
            let state = l1.states[slot];
            if !touch.input.writes() || state == State::Modified {
                return;
            }
            if state != State::Exclusive
                && let Some(held) = l1.held(slot)
            {
                self.upgrade(touch, held.number);
            }
            self.cores[touch.core].l1.states[slot] = State::Modified;
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
        self.lose_each(touch, |core, lost| core.fill_l1(held, |out| lost.push(out)));
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
