//! Lines that make room: from a core to L3, and from L3 to memory.

use super::{Simulator, access::Touch, socket::Out};
use crate::{cache::Held, machine::Inclusion};

impl Simulator {
    /// A core has given a line up, because another one needed the place.
    pub(super) fn leave(&mut self, touch: Touch, core: usize, held: Held) {
        let Held { line, number, .. } = held;
        let dirty = held.state.is_dirty();
        let socket = self.socket_of(core);
        self.directory.loses(number, core, false);
        self.counts_of(touch).writebacks += u64::from(dirty);
        let in_l3 = self.directory.known(number).in_l3 >> socket & 1 != 0;
        let takes_in = match self.sockets.get(socket).map(|l3| l3.inclusion) {
            Some(Inclusion::Exclusive) => !self.socket_holds(number, socket),
            Some(Inclusion::NonInclusive) => dirty && !in_l3,
            Some(Inclusion::Inclusive) | None => false,
        };
        if takes_in {
            self.fill_l3(touch, socket, line, number, dirty);
        } else if dirty {
            self.store_back(touch, number, socket, line);
        }
    }

    /// A core keeps its copy, or loses it to another core's store, and writes it back.
    pub(super) fn write_back(&mut self, touch: Touch, number: u32, core: usize, line: u64) {
        self.counts_of(touch).writebacks += 1;
        self.store_back(touch, number, self.socket_of(core), line);
    }

    /// To the socket's L3, if that has the line, or else to memory.
    fn store_back(&mut self, touch: Touch, number: u32, socket: usize, line: u64) {
        if self.directory.known(number).in_l3 >> socket & 1 != 0 {
            self.sockets[socket].set_dirty(line);
        } else {
            self.counts_of(touch).memory_writebacks += 1;
        }
    }

    /// The socket's L3, which lacks the line, takes it in.
    pub(super) fn fill_l3(&mut self, touch: Touch, socket: usize, line: u64, number: u32, dirty: bool) {
        let l3 = &mut self.sockets[socket];
        let out = l3.insert(line, number, dirty);
        let is_inclusive = l3.inclusion == Inclusion::Inclusive;
        self.directory.known_mut(number).in_l3 |= 1 << socket;
        let Some(Out { line, number, mut dirty }) = out else { return };
        self.directory.known_mut(number).in_l3 &= !(1 << socket);
        if is_inclusive {
            dirty |= self.back_invalidate(touch, socket, line, number);
        }
        self.counts_of(touch).memory_writebacks += u64::from(dirty);
    }

    /// The socket's cores lose a line because its L3 does. Whether one of the copies was dirty.
    fn back_invalidate(&mut self, touch: Touch, socket: usize, line: u64, number: u32) -> bool {
        let first = socket * self.cores_per_socket;
        let mut dirty = false;
        for core in first..first + self.cores_per_socket {
            let Some(held) = self.cores[core].remove(line) else { continue };
            self.directory.loses(number, core, false);
            dirty |= held.state.is_dirty();
            let counts = self.counts_of(touch);
            counts.back_invalidations += 1;
            counts.writebacks += u64::from(held.state.is_dirty());
        }
        dirty
    }
}
