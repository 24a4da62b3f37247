//! What other cores notice of an access: where its line comes from, and what becomes of their copies.

use std::collections::BTreeSet;

use carom_base_sim::{Protocol, Sharing, State};

use super::{Fate, Naive, Step, add_class};

impl Naive {
    pub(super) fn count_source(&mut self, step: Step, line: u64, socket: usize) {
        let would_hit =
            self.machine.l3.is_some() && self.full.as_mut().is_some_and(|full| full[2][socket].touch(line));
        let owner = self
            .holders(line)
            .find(|&core| !matches!(self.state(core, line), State::Shared | State::Invalid));
        let holder_here = self.holders(line).any(|core| self.socket(core) == socket);
        let in_l3 = self.l3.get(socket).is_some_and(|l3| l3.has(line));
        let anywhere = self.holders(line).next().is_some() || self.l3.iter().any(|l3| l3.has(line));
        let owner_here = owner.is_some_and(|owner| self.socket(owner) == socket);
        let fate = self.socket_fates.get(&(socket, line)).copied();
        let counts = self.of(step);
        let mut from_owner = true;
        if owner_here {
            counts.sources.core += 1;
        } else if in_l3 {
            counts.sources.l3 += 1;
            from_owner = false;
        } else if holder_here {
            counts.sources.core += 1;
        } else {
            add_class(&mut counts.socket, fate, would_hit);
            *if anywhere { &mut counts.sources.remote } else { &mut counts.sources.memory } += 1;
        }
        if let Some(owner) = owner.filter(|_| from_owner) {
            *self.transfers.entry((owner, step.core)).or_default() += 1;
        }
    }

    /// Another core loads the line.
    pub(super) fn share_with(&mut self, step: Step, line: u64) {
        for other in self.holders(line).collect::<Vec<_>>() {
            let state = self.state(other, line);
            let (after, flushed) = match (self.machine.protocol, state) {
                (Protocol::Moesi, State::Modified | State::Owned) => (State::Owned, false),
                (_, State::Modified) => (State::Shared, true),
                _ => (State::Shared, false),
            };
            self.copies.get_mut(&(other, line)).expect("a copy").state = after;
            if flushed {
                self.of(step).writebacks += 1;
                self.write_out(step, self.socket(other), line);
            }
        }
    }

    /// This core stores to the line.
    pub(super) fn take_from_others(&mut self, step: Step, line: u64, bytes: &BTreeSet<u64>) {
        let own = self.socket(step.core);
        let others: Vec<usize> = self.holders(line).filter(|&core| core != step.core).collect();
        for other in others {
            let copy = self.copies.remove(&(other, line)).expect("a copy");
            self.l1[other].remove(line);
            if let Some(l2) = self.l2.get_mut(other) {
                l2.remove(line);
            }
            if let Some(full) = &mut self.full {
                full[0][other].remove(line);
                full[1][other].remove(line);
            }
            self.core_fates.insert((other, line), Fate::Taken);
            let truly = copy.bytes.intersection(bytes).next().is_some();
            let add = |sharing: &mut Sharing| {
                if truly {
                    sharing.true_sharing += 1;
                } else {
                    sharing.false_sharing += 1;
                }
            };
            add(&mut self.of(step).caused);
            add(&mut self.counts.entry(copy.getter).or_default().received);
            add(self.invalidations.entry((step.core, other)).or_default());
            let taken = self.invalidated.entry((line, step.reference, copy.getter)).or_default();
            add(&mut taken.sharing);
            taken.stored.extend(bytes);
            taken.accessed.extend(&copy.bytes);
            if copy.state == State::Modified && self.machine.protocol != Protocol::Moesi {
                self.of(step).writebacks += 1;
                self.write_out(step, self.socket(other), line);
            }
            if self.socket(other) != own {
                self.take_from_socket(self.socket(other), line);
            }
        }
        for socket in 0..self.l3.len() {
            if socket != own && self.l3[socket].has(line) {
                self.take_from_socket(socket, line);
                self.l3[socket].remove(line);
                self.dirty.remove(&(socket, line));
            }
        }
    }

    pub(super) fn take_from_socket(&mut self, socket: usize, line: u64) {
        self.socket_fates.insert((socket, line), Fate::Taken);
        if let Some(full) = &mut self.full {
            full[2][socket].remove(line);
        }
    }
}
