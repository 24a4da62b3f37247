//! What holds for a line after each access; debug builds check it.

use super::Simulator;
use crate::{machine::Inclusion, protocol::State};

impl Simulator {
    /// # Panics
    /// The line's copies contradict each other, the directory, or a cache's inclusion: an error of the simulator.
    pub(super) fn check(&self, line: u64) {
        let states: Vec<State> =
            self.cores.iter().map(|core| core.get(line).map_or(State::Invalid, |held| held.state)).collect();
        let copies = states.iter().filter(|state| **state != State::Invalid).count();
        let may_write = states.iter().filter(|state| state.may_write()).count();
        assert!(may_write == 0 || copies == 1, "who may write is alone: {states:?}");
        assert!(states.iter().filter(|state| state.answers()).count() <= 1, "one copy answers: {states:?}");

        let Some(number) = self.directory.existing(line) else { return };
        let known = self.directory.known(number);
        let owner = states.iter().position(|state| state.answers());
        assert_eq!(known.owner.map(usize::from), owner, "{states:?}");
        for (core, state) in states.iter().enumerate() {
            let holds = self.directory.holder(number, core) == Some(core);
            assert_eq!(holds, *state != State::Invalid, "core {core}: {states:?}");
            assert!(self.cores[core].is_sound(line), "L1 and L2 of core {core}");
        }
        for (socket, l3) in self.sockets.iter().enumerate() {
            let in_l3 = l3.cache.find(line).is_some();
            assert_eq!(known.in_l3 >> socket & 1 != 0, in_l3);
            let in_cores = self.socket_holds(number, socket);
            match l3.inclusion {
                Inclusion::Inclusive => assert!(in_l3 || !in_cores, "socket {socket}"),
                Inclusion::Exclusive => assert!(!(in_l3 && in_cores), "socket {socket}"),
                Inclusion::NonInclusive => {}
            }
            let writer_elsewhere =
                owner.is_some_and(|owner| states[owner].may_write() && self.socket_of(owner) != socket);
            assert!(!(in_l3 && writer_elsewhere), "L3 of socket {socket} would become stale");
        }
    }
}
