use std::collections::BTreeSet;

use carom_base_sim::{Inclusion, Protocol, State};

use super::Naive;

impl Naive {
    /// What holds after each touch, for all lines.
    pub fn assert_invariants(&self) {
        let lines: BTreeSet<u64> = self.copies.keys().map(|&(_, line)| line).collect();
        for line in lines {
            let states: Vec<State> = self.holders(line).map(|core| self.state(core, line)).collect();
            let writers = states.iter().filter(|state| state.may_write()).count();
            assert!(writers == 0 || states.len() == 1, "a single writer: {states:?}");
            let owners = states.iter().filter(|state| **state != State::Shared).count();
            assert!(owners <= 1, "at most one owner: {states:?}");
            let allowed = match self.machine.protocol {
                Protocol::Msi => "MS",
                Protocol::Mesi => "MES",
                Protocol::Mesif => "MESF",
                Protocol::Moesi => "MOES",
            };
            assert!(states.iter().all(|state| allowed.contains(state.letter())), "{states:?}");
            if writers == 1 {
                let own = self.holders(line).next().map(|core| self.socket(core));
                let stale = (0..self.l3.len()).any(|socket| Some(socket) != own && self.l3[socket].has(line));
                assert!(!stale, "no other socket keeps what may be written");
            }
        }
        for core in 0..self.machine.cores() {
            self.assert_private(core);
        }
        for (socket, l3) in self.l3.iter().enumerate() {
            let held = |line| self.holders(line).any(|core| self.socket(core) == socket);
            match self.machine.l3.expect("an L3").inclusion {
                Inclusion::Inclusive => {
                    let mut lines = self.copies.keys().filter(|(core, _)| self.socket(*core) == socket);
                    assert!(lines.all(|(_, line)| l3.has(*line)), "L3 has what the cores have");
                }
                Inclusion::Exclusive => assert!(!l3.lines().any(held), "L3 has nothing that the cores have"),
                Inclusion::NonInclusive => {}
            }
        }
    }

    fn assert_private(&self, core: usize) {
        let l1: BTreeSet<u64> = self.l1[core].lines().collect();
        let l2: BTreeSet<u64> = self.l2.get(core).map(|l2| l2.lines().collect()).unwrap_or_default();
        let held: BTreeSet<u64> =
            self.copies.keys().filter(|(holder, _)| *holder == core).map(|&(_, line)| line).collect();
        assert_eq!(&l1 | &l2, held, "a state for each line in L1 or L2");
        match self.machine.l2.map(|level| level.inclusion) {
            Some(Inclusion::Inclusive) => assert!(l1.is_subset(&l2)),
            Some(Inclusion::Exclusive) => assert!(l1.is_disjoint(&l2)),
            _ => {}
        }
    }
}
