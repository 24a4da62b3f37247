//! Where a sampled use is stored, and which use it replaces.

use carom_base::ReuseOutcome;

use super::clocks::{Stand, Until};
use super::config::{MAX_SLOTS, Positions, Replacement};
use super::detector::{Detector, Over, Sampled};
use super::random::Random;
use super::reservoir::{gives_way, varopt};
use super::slot::{Slot, Use};
use super::state::{Phase, State};
use super::watch::{Watch, WatchId};

/// How often a sample looks for a slot when other threads have just changed the one that it chose. Two in a row are
/// already rare, and a handler must not wait.
const ATTEMPTS: usize = 3;

/// A use that wants a slot.
pub(super) struct NewWatch {
    pub held: Use,
    /// The number of the sample.
    pub number: u64,
    pub weight: f64,
}

/// A slot as a sample has read it.
#[derive(Clone, Copy)]
struct Occupied<'a> {
    index: u8,
    slot: &'a Slot,
    state: State,
}

/// Uses of which one is to be replaced.
struct Candidates<'a> {
    /// `None`: the new use.
    occupied: [Option<Occupied<'a>>; MAX_SLOTS + 1],
    weights: [f64; MAX_SLOTS + 1],
    count: usize,
}

impl<'a> Candidates<'a> {
    fn of(occupied: impl Iterator<Item = Occupied<'a>>) -> Self {
        let mut all = Self { occupied: [None; MAX_SLOTS + 1], weights: [0.0; MAX_SLOTS + 1], count: 0 };
        for it in occupied {
            all.add(Some(it), it.slot.weight());
        }
        all
    }

    fn add(&mut self, it: Option<Occupied<'a>>, weight: f64) {
        if let (Some(at), Some(of)) = (self.occupied.get_mut(self.count), self.weights.get_mut(self.count)) {
            (*at, *of) = (it, weight);
            self.count += 1;
        }
    }
}

impl<'a> Detector<'a> {
    pub(super) fn place(self, positions: &impl Positions, new: &NewWatch, random: &mut Random) -> Sampled {
        for _ in 0..ATTEMPTS {
            if let Some(arm) = self.fill_free(new) {
                return Sampled { arm: Some(arm), replaced: None };
            }
            let decided = match self.config.replacement {
                Replacement::Balanced => self.replace_balanced(positions, new, random),
                Replacement::Reservoir => self.replace_by_reservoir(positions, new, random),
            };
            if let Some(sampled) = decided {
                return sampled;
            }
        }
        Sampled::default()
    }

    /// The first free slot, if any.
    fn fill_free(self, new: &NewWatch) -> Option<Watch> {
        (0..).zip(self.slots).find_map(|(index, slot)| {
            let state = slot.state();
            let taken = state.phase == Phase::Free && slot.take(state);
            taken.then(|| {
                slot.offer_first();
                Occupied { index, slot, state }.arm(new, new.weight)
            })
        })
    }

    fn occupied(self) -> impl Iterator<Item = Occupied<'a>> {
        let all = (0..).zip(self.slots).map(|(index, slot)| Occupied { index, slot, state: slot.state() });
        all.filter(|it| it.state.phase == Phase::Active)
    }

    /// `None`: another thread was faster.
    fn replace_balanced(
        self,
        positions: &impl Positions,
        new: &NewWatch,
        random: &mut Random,
    ) -> Option<Sampled> {
        let trial = self.config.trial(self.slots.len());
        // Another thread may have stored a later sample meanwhile: that is on trial, too.
        let tried = |it: &Occupied<'_>| new.number >= it.slot.number().saturating_add(trial);
        let mut candidates = Candidates::of(self.occupied().filter(tried));
        let safe = trial > 0 && candidates.count > 1;
        if !safe {
            candidates = Candidates::of(self.occupied());
            candidates.add(None, new.weight);
        }
        let weights = candidates.weights.get(..candidates.count).filter(|weights| weights.len() > 1)?;
        let plan = varopt(weights, random);
        let own = if safe { new.weight } else { new.weight.max(plan.threshold) };
        let sampled = match candidates.occupied.get(plan.victim).copied().flatten() {
            // Its weight passes to those that stay.
            Some(victim) => victim.replace(positions, new, own, |_| 0.0)?,
            None => Sampled::default(),
        };
        for (index, (it, weight)) in candidates.occupied.iter().zip(weights).enumerate() {
            if let Some(it) = it.filter(|_| index != plan.victim && *weight < plan.threshold) {
                it.slot.add_weight(plan.threshold - weight);
            }
        }
        Some(sampled)
    }

    /// Algorithm 2, lines 4 to 16. `None`: another thread was faster.
    fn replace_by_reservoir(
        self,
        positions: &impl Positions,
        new: &NewWatch,
        random: &mut Random,
    ) -> Option<Sampled> {
        match self.occupied().find(|it| gives_way(it.slot.offer(), random)) {
            Some(victim) => victim.replace(positions, new, new.weight, Slot::weight),
            None => Some(Sampled::default()),
        }
    }
}

impl Occupied<'_> {
    /// Replaces this use by another, and reports it with its remaining weight. `None`: another thread was faster.
    fn replace(
        self,
        positions: &impl Positions,
        new: &NewWatch,
        weight: f64,
        weight_left: impl Fn(&Slot) -> f64,
    ) -> Option<Sampled> {
        let Self { index, slot, state } = self;
        if !slot.take(state) {
            return None;
        }
        let replaced = slot.taken_use().map(|held| {
            let now = Stand::of(positions, held.scope, held.touch.thread, held.domain);
            let id = WatchId { slot: index, generation: state.generation };
            let event = held.event(ReuseOutcome::Replaced, None, (&now, Until::Now), weight_left(slot));
            Over { watch: held.watch(id), event, had_pending: false }
        });
        Some(Sampled { arm: Some(self.arm(new, weight)), replaced })
    }

    /// Writes a use to the slot, which this thread has taken.
    fn arm(self, new: &NewWatch, weight: f64) -> Watch {
        let generation = self.slot.write(self.state, &new.held, new.number, weight);
        new.held.watch(WatchId { slot: self.index, generation })
    }
}
