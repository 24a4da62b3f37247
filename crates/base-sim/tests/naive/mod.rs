//! A simulator that follows the rules in the crate's documentation by the shortest way, without regard to time: what
//! each core and each L3 has is a plain list, states and masks are looked up in maps, and who holds a line is found by
//! asking everybody. It shares no code with the one that it checks, only the types of inputs and counts.

mod invariants;
mod lists;

use std::collections::{BTreeMap, BTreeSet};

use carom_base::AccessKind;
use carom_base_sim::{Counts, Inclusion, Level, Machine, Protocol, Sharing, State};
use lists::{Full, Lists};

/// One access.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub core: usize,
    pub addr: u64,
    pub width: u32,
    pub kind: AccessKind,
    pub reference: u32,
}

#[derive(Clone, Debug)]
pub struct Copy {
    pub state: State,
    pub bytes: BTreeSet<u64>,
    pub getter: u32,
}

/// How a core or socket lost a line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Replaced,
    Taken,
}

pub struct Naive {
    pub machine: Machine,
    mask_bytes: u64,
    l1: Vec<Lists>,
    l2: Vec<Lists>,
    pub l3: Vec<Lists>,
    /// Lines of an L3 that are newer than memory.
    dirty: BTreeSet<(usize, u64)>,
    /// By core and line.
    pub copies: BTreeMap<(usize, u64), Copy>,
    core_fates: BTreeMap<(usize, u64), Fate>,
    socket_fates: BTreeMap<(usize, u64), Fate>,
    full: Option<[Vec<Full>; 3]>,
    pub counts: BTreeMap<u32, Counts>,
    pub invalidations: BTreeMap<(usize, usize), Sharing>,
    pub transfers: BTreeMap<(usize, usize), u64>,
}

impl Naive {
    pub fn new(machine: &Machine, mask_bytes: u32, conflicts: bool) -> Self {
        let cores = machine.cores();
        let lists = |level: Option<Level>, count: usize, number: &dyn Fn(usize) -> usize| -> Vec<Lists> {
            let level = level.into_iter();
            level.flat_map(|level| (0..count).map(move |at| Lists::new(machine, level, number(at)))).collect()
        };
        let full = |level: Option<Level>, count: usize| -> Vec<Full> {
            let lines = level.map_or(0, |level| level.bytes / u64::from(machine.line_bytes));
            vec![Full::new(lines as usize); count]
        };
        Self {
            l1: lists(Some(machine.l1), cores, &|core| 2 * core),
            l2: lists(machine.l2, cores, &|core| 2 * core + 1),
            l3: lists(machine.l3, machine.sockets, &|socket| 2 * cores + socket),
            full: conflicts.then(|| {
                [full(Some(machine.l1), cores), full(machine.l2, cores), full(machine.l3, machine.sockets)]
            }),
            machine: machine.clone(),
            mask_bytes: u64::from(mask_bytes),
            dirty: BTreeSet::new(),
            copies: BTreeMap::new(),
            core_fates: BTreeMap::new(),
            socket_fates: BTreeMap::new(),
            counts: BTreeMap::new(),
            invalidations: BTreeMap::new(),
            transfers: BTreeMap::new(),
        }
    }

    pub fn step(&mut self, step: Step) {
        let counts = self.counts.entry(step.reference).or_default();
        match step.kind {
            AccessKind::Load => counts.loads += 1,
            AccessKind::Store => counts.stores += 1,
            AccessKind::ReadModifyWrite => counts.read_modify_writes += 1,
        }
        let line_bytes = u64::from(self.machine.line_bytes);
        let mut by_line: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for byte in step.addr..step.addr + u64::from(step.width) {
            by_line.entry(byte / line_bytes).or_default().insert(byte % line_bytes / self.mask_bytes);
        }
        for (line, bytes) in by_line {
            self.touch(step, line, bytes);
            self.assert_invariants();
        }
    }

    fn of(&mut self, step: Step) -> &mut Counts {
        self.counts.entry(step.reference).or_default()
    }

    fn touch(&mut self, step: Step, line: u64, bytes: BTreeSet<u64>) {
        let core = step.core;
        let socket = self.socket(core);
        let would_hit_l1 = self.full.as_mut().is_some_and(|full| full[0][core].touch(line));
        if self.l1[core].has(line) {
            self.l1[core].touch(line);
            self.store_to_own(step, line, &bytes);
        } else {
            let would_hit_l2 =
                self.machine.l2.is_some() && self.full.as_mut().is_some_and(|full| full[1][core].touch(line));
            if self.l2.get(core).is_some_and(|l2| l2.has(line)) {
                add_replaced(&mut self.of(step).l1, would_hit_l1);
                if self.inclusion(2) == Some(Inclusion::Exclusive) {
                    self.l2[core].remove(line);
                } else {
                    self.l2[core].touch(line);
                }
                self.store_to_own(step, line, &bytes);
                self.fill_l1(step, line);
            } else {
                self.miss(step, line, &bytes, would_hit_l1, would_hit_l2, socket);
            }
        }
        if let Some(copy) = self.copies.get_mut(&(core, line)) {
            copy.bytes.extend(bytes);
        }
    }

    /// A core touches a line that it holds.
    fn store_to_own(&mut self, step: Step, line: u64, bytes: &BTreeSet<u64>) {
        let state = self.state(step.core, line);
        if step.kind.writes() {
            if !matches!(state, State::Modified | State::Exclusive) {
                self.of(step).upgrades += 1;
                self.take_from_others(step, line, bytes);
            }
            self.copies.get_mut(&(step.core, line)).expect("a copy").state = State::Modified;
        }
    }

    fn miss(&mut self, step: Step, line: u64, bytes: &BTreeSet<u64>, hit1: bool, hit2: bool, socket: usize) {
        let core = step.core;
        let fate = self.core_fates.get(&(core, line)).copied();
        add_class(&mut self.of(step).l1, fate, hit1);
        if self.machine.l2.is_some() {
            add_class(&mut self.of(step).l2, fate, hit2);
        }
        if fate == Some(Fate::Taken) && step.kind.reads() {
            self.of(step).coherence_load_misses += 1;
        }
        self.count_source(step, line, socket);
        if step.kind.writes() {
            self.take_from_others(step, line, bytes);
        } else {
            self.share_with(step, line);
        }
        let in_cores = self.holders(line).count();
        let in_other_l3 = (0..self.l3.len()).filter(|&l3| l3 != socket && self.l3[l3].has(line)).count();
        let alone = in_cores + in_other_l3 == 0;
        let took_dirty = self.pass_l3(step, socket, line);
        let state = match (step.kind.writes(), self.machine.protocol, alone) {
            (true, ..) => State::Modified,
            (false, _, true) if took_dirty => State::Modified,
            (false, Protocol::Msi, _) => State::Shared,
            (false, _, true) => State::Exclusive,
            (false, Protocol::Mesif, false) => State::Forward,
            (false, ..) => State::Shared,
        };
        if took_dirty && state != State::Modified {
            self.of(step).memory_writebacks += 1;
        }
        self.copies.insert((core, line), Copy { state, bytes: BTreeSet::new(), getter: step.reference });
        self.core_fates.insert((core, line), Fate::Replaced);
        self.socket_fates.insert((socket, line), Fate::Replaced);
        self.fill_l2(step, line);
        self.fill_l1(step, line);
    }

    fn count_source(&mut self, step: Step, line: u64, socket: usize) {
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
    fn share_with(&mut self, step: Step, line: u64) {
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
    fn take_from_others(&mut self, step: Step, line: u64, bytes: &BTreeSet<u64>) {
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

    fn take_from_socket(&mut self, socket: usize, line: u64) {
        self.socket_fates.insert((socket, line), Fate::Taken);
        if let Some(full) = &mut self.full {
            full[2][socket].remove(line);
        }
    }

    /// Whether a dirty line left an exclusive L3.
    fn pass_l3(&mut self, step: Step, socket: usize, line: u64) -> bool {
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

    fn fill_l3(&mut self, step: Step, socket: usize, line: u64) {
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

    fn fill_l2(&mut self, step: Step, line: u64) {
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

    fn fill_l1(&mut self, step: Step, line: u64) {
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
    fn lose_unless_held(&mut self, step: Step, line: u64) {
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
    fn write_out(&mut self, step: Step, socket: usize, line: u64) {
        if self.l3.get(socket).is_some_and(|l3| l3.has(line)) {
            self.dirty.insert((socket, line));
        } else {
            self.of(step).memory_writebacks += 1;
        }
    }

    pub fn socket(&self, core: usize) -> usize {
        core / self.machine.cores_per_socket
    }

    pub fn state(&self, core: usize, line: u64) -> State {
        self.copies.get(&(core, line)).map_or(State::Invalid, |copy| copy.state)
    }

    pub fn holders(&self, line: u64) -> impl Iterator<Item = usize> {
        (0..self.machine.cores()).filter(move |&core| self.copies.contains_key(&(core, line)))
    }

    fn inclusion(&self, level: u32) -> Option<Inclusion> {
        let level = if level == 2 { self.machine.l2 } else { self.machine.l3 };
        level.map(|level| level.inclusion)
    }
}

fn add_class(misses: &mut carom_base_sim::Misses, fate: Option<Fate>, would_hit: bool) {
    match fate {
        None => misses.cold += 1,
        Some(Fate::Taken) => misses.coherence += 1,
        Some(Fate::Replaced) => add_replaced(misses, would_hit),
    }
}

fn add_replaced(misses: &mut carom_base_sim::Misses, would_hit: bool) {
    if would_hit {
        misses.conflict += 1;
    } else {
        misses.capacity += 1;
    }
}
