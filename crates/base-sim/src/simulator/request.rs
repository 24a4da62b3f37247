//! What a core asks of all others: for a line, or for the right to write one.

use super::{Simulator, access::Touch};
use crate::{cache::Held, counts::MissClass, input::Reference, machine::Inclusion, protocol::State};

impl Simulator {
    /// The core's caches lack the line.
    pub(super) fn miss_core(&mut self, touch: Touch, in_l1_shadow: bool, in_l2_shadow: bool) {
        let Touch { core, line, .. } = touch;
        let socket = self.socket_of(core);
        let number = self.directory.number(line);
        let class = self.directory.core_class(number, core);
        let has_l2 = self.cores[core].has_l2();
        let counts = self.counts_of(touch);
        counts.l1.add(class, in_l1_shadow);
        if has_l2 {
            counts.l2.add(class, in_l2_shadow);
        }
        counts.coherence_load_misses += u64::from(class == MissClass::Coherence && touch.input.reads());

        self.find_source(touch, number, socket);
        let alone = self.snoop(touch, number, socket);
        let was_dirty = self.pass_l3(touch, number, socket);
        let state = if touch.input.writes() {
            State::Modified
        } else if alone && was_dirty {
            // The duty to write the line back comes with it.
            State::Modified
        } else {
            if was_dirty {
                self.counts_of(touch).memory_writebacks += 1;
            }
            self.protocol.loaded(alone)
        };
        self.directory.gains(number, core, socket, state);
        let getter = touch.input.reference().0;
        let held = Held { line, number, state, mask: touch.mask, getter, home: 0 };
        for lost in self.cores[core].gain(held).into_iter().flatten() {
            self.leave(touch, core, lost);
        }
    }

    /// The core holds the line, and stores to it without the right to.
    pub(super) fn upgrade(&mut self, touch: Touch, number: u32) {
        let socket = self.socket_of(touch.core);
        self.counts_of(touch).upgrades += 1;
        self.invalidate_others(touch, number, socket);
        self.directory.answers(number, touch.core, State::Modified);
    }

    /// Counts where the line comes from, before anything changes.
    fn find_source(&mut self, touch: Touch, number: u32, socket: usize) {
        let known = *self.directory.known(number);
        let in_l3 = known.in_l3 >> socket & 1 != 0;
        let answers = known.owner.map(usize::from);
        let in_own_core = self.socket_holds(number, socket);
        let in_l3_shadow = match &mut self.shadows {
            Some(shadows) if !self.sockets.is_empty() => {
                shadows.l3.get_mut(socket).is_some_and(|l3| l3.use_line(touch.line))
            }
            _ => false,
        };
        let class = self.directory.socket_class(number, socket);
        let anywhere = known.in_l3 != 0 || self.directory.holder(number, 0).is_some();
        let owner_here = answers.is_some_and(|owner| self.socket_of(owner) == socket);
        if let Some(owner) = answers.filter(|_| owner_here || !in_l3) {
            self.transfers[(owner, touch.core)] += 1;
        }
        let counts = self.counts_of(touch);
        if owner_here || in_own_core && !in_l3 {
            counts.sources.core += 1;
        } else if in_l3 {
            counts.sources.l3 += 1;
        } else {
            counts.socket.add(class, in_l3_shadow);
            *if anywhere { &mut counts.sources.remote } else { &mut counts.sources.memory } += 1;
        }
    }

    /// Tells all other cores and sockets of the access. Whether nothing but the own socket's L3 has the line then, and
    /// had it before if it is a load.
    fn snoop(&mut self, touch: Touch, number: u32, socket: usize) -> bool {
        if touch.input.writes() {
            self.invalidate_others(touch, number, socket);
            return true;
        }
        let known = *self.directory.known(number);
        if let Some(owner) = known.owner.map(usize::from)
            && let Some(held) = self.cores[owner].get(touch.line)
        {
            let answer = self.protocol.remote_load(held.state);
            self.cores[owner].set_state(touch.line, answer.state);
            self.directory.answers(number, owner, answer.state);
            if answer.writes_back {
                self.write_back(touch, number, owner, touch.line);
            }
        }
        known.in_l3 & !(1 << socket) == 0 && !self.directory.held_by_others(number, touch.core)
    }

    /// Takes the line from all other cores, and from the L3 of all other sockets.
    fn invalidate_others(&mut self, touch: Touch, number: u32, socket: usize) {
        let mut from = 0;
        let mut sockets = self.directory.known(number).in_l3 & !(1 << socket);
        while let Some(other) = self.directory.holder(number, from) {
            from = other + 1;
            if other == touch.core {
                continue;
            }
            if self.socket_of(other) != socket {
                sockets |= 1 << self.socket_of(other);
            }
            if let Some(held) = self.cores[other].remove(touch.line) {
                self.invalidate(touch, other, held);
            }
        }
        self.directory.taken_from(number, sockets);
        while sockets != 0 {
            let other = sockets.trailing_zeros() as usize;
            sockets &= sockets - 1;
            self.drop_from_l3(touch.line, number, other);
        }
    }

    /// Another core has lost its copy to this store.
    fn invalidate(&mut self, touch: Touch, other: usize, held: Held) {
        let truly = held.mask & touch.mask != 0;
        self.counts_of(touch).caused.add(truly);
        if let Some(counts) = self.counts.get_mut(held.getter as usize) {
            counts.received.add(truly);
        }
        self.invalidations[(touch.core, other)].add(truly);
        let (by, of) = (touch.input.reference(), Reference(held.getter));
        self.invalidated.add(held.line, by, of, touch.mask, held.mask);
        if let Some(shadows) = &mut self.shadows {
            shadows.l1[other].remove(held.line);
            shadows.l2[other].remove(held.line);
        }
        self.directory.loses(held.number, other, true);
        if self.protocol.remote_store(held.state).writes_back {
            self.write_back(touch, held.number, other, held.line);
        }
    }

    fn drop_from_l3(&mut self, line: u64, number: u32, socket: usize) {
        if let Some(shadows) = &mut self.shadows {
            shadows.l3[socket].remove(line);
        }
        if let Some(l3) = self.sockets.get_mut(socket) {
            l3.remove(line);
            self.directory.known_mut(number).in_l3 &= !(1 << socket);
        }
    }

    /// The line passes the socket's L3 on its way to the core. Whether a dirty line left L3.
    fn pass_l3(&mut self, touch: Touch, number: u32, socket: usize) -> bool {
        let Some(l3) = self.sockets.get_mut(socket) else { return false };
        if self.directory.known(number).in_l3 >> socket & 1 != 0 {
            let taken = l3.serve(touch.line);
            if taken.is_some() {
                self.directory.known_mut(number).in_l3 &= !(1 << socket);
            }
            return taken == Some(true);
        }
        if l3.inclusion != Inclusion::Exclusive {
            self.fill_l3(touch, socket, touch.line, number, false);
        }
        false
    }

    pub(super) fn socket_holds(&self, number: u32, socket: usize) -> bool {
        let first = socket * self.cores_per_socket;
        self.directory.holder(number, first).is_some_and(|core| core < first + self.cores_per_socket)
    }
}
