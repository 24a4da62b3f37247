use crate::{
    cache::{Front, Held, HeldCache},
    machine::{Inclusion, Level, Machine},
    protocol::State,
};

/// The private caches of a core.
///
/// While a line is in L1, what L1 knows of it is right; what L2 knows of it may be old.
#[derive(Debug)]
pub struct Core {
    pub l1: HeldCache,
    /// Of L1.
    pub front: Front,
    l2: Option<(HeldCache, Inclusion)>,
}

impl Core {
    pub fn new(machine: &Machine, core: usize) -> Self {
        let number = |level: u64| 2 * core as u64 + level;
        let l2 = |level: &Level| (HeldCache::new(machine, level, number(1)), level.inclusion);
        let l1 = HeldCache::new(machine, &machine.l1, number(0));
        Self { front: Front::new(l1.cache.slots()), l1, l2: machine.l2.as_ref().map(l2) }
    }

    /// What the core knows of a line.
    pub fn get(&self, line: u64) -> Option<Held> {
        self.l1.get(line).or_else(|| self.l2.as_ref()?.0.get(line))
    }

    pub fn has_l2(&self) -> bool {
        self.l2.is_some()
    }

    /// Changes the state of the core's copy.
    pub fn set_state(&mut self, line: u64, state: State) {
        self.l1.set_state(line, state);
        if let Some((l2, _)) = &mut self.l2 {
            l2.set_state(line, state);
        }
    }

    /// The core has to give the line up.
    pub fn remove(&mut self, line: u64) -> Option<Held> {
        let in_l2 = self.l2.as_mut().and_then(|(l2, _)| l2.remove(line));
        self.l1.remove(line).or(in_l2)
    }

    /// The line, if L2 has it: on its way to L1, which lacks it.
    pub fn take_from_l2(&mut self, line: u64) -> Option<Held> {
        let (l2, inclusion) = self.l2.as_mut()?;
        let slot = l2.cache.find(line)?;
        let held = l2.held(slot);
        if *inclusion == Inclusion::Exclusive {
            l2.cache.remove(slot);
        } else {
            l2.cache.used(line, slot);
        }
        held.map(|held| Held { home: slot as u32, ..held })
    }

    /// The core gets a line that it lacks. What it has no more, because of L2 and of L1.
    pub fn gain(&mut self, mut held: Held) -> [Option<Held>; 2] {
        let mut lost = None;
        if let Some((l2, inclusion)) = &mut self.l2
            && *inclusion != Inclusion::Exclusive
        {
            let (slot, out) = l2.insert(held);
            held.home = slot as u32;
            lost = out.and_then(|out| match inclusion {
                Inclusion::Inclusive => Some(self.l1.remove(out.line).unwrap_or(out)),
                _ => self.l1.cache.find(out.line).is_none().then_some(out),
            });
        }
        [lost, self.fill_l1(held)]
    }

    /// L1 gets a line that it lacks. What the core has no more.
    pub fn fill_l1(&mut self, held: Held) -> Option<Held> {
        let (slot, out) = self.l1.insert(held);
        self.front.note(held.line, slot);
        let out = out?;
        let Some((l2, inclusion)) = &mut self.l2 else { return Some(out) };
        if *inclusion != Inclusion::Exclusive && l2.update(out) {
            return None;
        }
        // A clean line that L2 lacks too is dropped; a dirty one has to go there.
        if *inclusion == Inclusion::NonInclusive && !out.state.is_dirty() {
            return Some(out);
        }
        let (_, next) = l2.insert(out);
        next.filter(|next| *inclusion == Inclusion::Exclusive || self.l1.cache.find(next.line).is_none())
    }

    /// Whether inclusion or exclusion of L1 and L2 holds for a line.
    #[cfg(debug_assertions)]
    pub fn is_sound(&self, line: u64) -> bool {
        let Some((l2, inclusion)) = &self.l2 else { return true };
        let (in_l1, in_l2) = (self.l1.cache.find(line).is_some(), l2.cache.find(line).is_some());
        match inclusion {
            Inclusion::Inclusive => in_l2 || !in_l1,
            Inclusion::Exclusive => !(in_l1 && in_l2),
            Inclusion::NonInclusive => true,
        }
    }
}
