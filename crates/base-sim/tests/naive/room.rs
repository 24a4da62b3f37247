//! Lines that are taken in, and those that make room for them.

use carom_base_sim::{Inclusion, State};

use super::{Naive, Step};

impl Naive {
    /// Whether a dirty line left an exclusive L3.
    pub(super) fn pass_l3(&mut self, step: Step, socket: usize, line: u64) -> bool {
        let Some(l3) = self.l3.get_mut(socket) else { return false };
        let exclusive = self.machine.l3.expect("an L3").inclusion == Inclusion::Exclusive;
        match (l3.has(line), exclusive) {
            (true, false) => l3.touch(line),
            (true, true) => {
                l3.remove(line);
                return self.dirty.remove(&(socket, line));
            }
            (false, false) => self.fill_l3(step, socket, line),
            (false, true) => {}
        }
        false
    }

    pub(super) fn fill_l3(&mut self, step: Step, socket: usize, line: u64) {
        let Some(out) = self.l3[socket].insert(line) else { return };
        let mut dirty = self.dirty.remove(&(socket, out));
        if self.inclusion(3) == Some(Inclusion::Inclusive) {
            let per_socket = self.machine.cores_per_socket;
            for core in socket * per_socket..(socket + 1) * per_socket {
                let Some(copy) = self.copies.remove(&(core, out)) else { continue };
                self.l1[core].remove(out);
                if let Some(l2) = self.l2.get_mut(core) {
                    l2.remove(out);
                }
                self.of(step).back_invalidations += 1;
                if matches!(copy.state, State::Modified | State::Owned) {
                    self.of(step).writebacks += 1;
                    dirty = true;
                }
            }
        }
        if dirty {
            self.of(step).memory_writebacks += 1;
        }
    }

    pub(super) fn fill_l2(&mut self, step: Step, line: u64) {
        let core = step.core;
        if matches!(self.inclusion(2), None | Some(Inclusion::Exclusive)) {
            return;
        }
        let Some(out) = self.l2[core].insert(line) else { return };
        if self.inclusion(2) == Some(Inclusion::Inclusive) {
            self.l1[core].remove(out);
        }
        self.lose_unless_held(step, out);
    }

    pub(super) fn fill_l1(&mut self, step: Step, line: u64) {
        let core = step.core;
        let Some(out) = self.l1[core].insert(line) else { return };
        let dirty = matches!(self.state(core, out), State::Modified | State::Owned);
        let goes_to_l2 = match self.inclusion(2) {
            Some(Inclusion::Exclusive) => true,
            Some(Inclusion::NonInclusive) => dirty && !self.l2[core].has(out),
            _ => false,
        };
        if goes_to_l2 && let Some(next) = self.l2[core].insert(out) {
            self.lose_unless_held(step, next);
        }
        self.lose_unless_held(step, out);
    }

    /// One of the core's caches gave a line up.
    pub(super) fn lose_unless_held(&mut self, step: Step, line: u64) {
        let core = step.core;
        if self.l1[core].has(line) || self.l2.get(core).is_some_and(|l2| l2.has(line)) {
            return;
        }
        let copy = self.copies.remove(&(core, line)).expect("a copy");
        let dirty = matches!(copy.state, State::Modified | State::Owned);
        let socket = self.socket(core);
        if dirty {
            self.of(step).writebacks += 1;
        }
        let others_here = self.holders(line).any(|other| self.socket(other) == socket);
        let insert = match self.inclusion(3) {
            Some(Inclusion::Exclusive) => !others_here,
            Some(Inclusion::NonInclusive) => dirty && !self.l3[socket].has(line),
            _ => false,
        };
        if insert {
            self.fill_l3(step, socket, line);
        }
        if dirty {
            self.write_out(step, socket, line);
        }
    }

    /// To L3 where that has the line, or else to memory.
    pub(super) fn write_out(&mut self, step: Step, socket: usize, line: u64) {
        if self.l3.get(socket).is_some_and(|l3| l3.has(line)) {
            self.dirty.insert((socket, line));
        } else {
            self.of(step).memory_writebacks += 1;
        }
    }
}
