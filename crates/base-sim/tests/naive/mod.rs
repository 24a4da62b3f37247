//! A simulator that follows the rules in the crate's documentation by the shortest way, without regard to time: what
//! each core and each L3 has is a plain list, states and masks are looked up in maps, and who holds a line is found by
//! asking everybody. It shares no code with the one that it checks, only the types of inputs and counts.

mod coherence;
mod invariants;
mod lists;
mod room;

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

/// What one reference's stores took of one line from another.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    pub sharing: Sharing,
    pub stored: BTreeSet<u64>,
    pub accessed: BTreeSet<u64>,
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
    /// By line, and by the references that stored and lost.
    pub invalidated: BTreeMap<(u64, u32, u32), Taken>,
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
            invalidated: BTreeMap::new(),
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
