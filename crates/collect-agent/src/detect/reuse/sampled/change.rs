//! Episodes begin and end: the engine is told, and uses that are still watched at an end are censored.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use carom_base_reuse::Domain;
use carom_base_sys::clock;
use carom_collect_translate as engine;

use super::{
    super::{
        episodes::{Episodes, Part},
        positions::CurrentPositions,
    },
    Sampled,
};
use crate::{thread::State, translated::undisturbed};

/// The engine is in the mode in which there are episodes. Children of a fork inherit that.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

impl Episodes {
    /// For a process that begins, of a session with this period. The child of one that is past its beginning is past it, too: it
    /// has its parent's code, in which nothing is looked up.
    pub(super) fn begin(period: u64) -> Self {
        // Any number that is another one in the next child will do.
        let random = clock::now().0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        if !HAS_BEGUN.load(Relaxed) {
            engine::double_periods(Part::Beginning.doublings());
            return Self::new(period, random);
        }
        undisturbed(engine::end_episode);
        Self::between(period, random)
    }
}

impl Sampled {
    /// How many times more a sample stands for because of the part of the run; `None`: for nothing.
    pub(super) fn weight(&self) -> Option<f32> {
        self.episodes.as_ref().map_or(Some(1.0), |episodes| episodes.part().weight())
    }

    /// Samples were drawn that stand for `accesses`: the next part may begin.
    pub(super) fn pass(&self, state: &mut State, accesses: u64) {
        let Some(episodes) = &self.episodes else { return };
        if let Some((from, to)) = episodes.pass(accesses, self.running()) {
            self.censor_all(state, from);
            undisturbed(|| self.begin(from, to));
        }
    }

    /// Between episodes nothing is sampled: there the timer tells how far the calling thread is. In a handler.
    pub(super) fn note_accesses(&self, state: &mut State) {
        let (Some(episodes), Some(index)) = (&self.episodes, state.of.reuse) else { return };
        if episodes.part() == Part::Beginning {
            return;
        }
        let accesses = engine::accesses().map_or(0, |accesses| self.threads.note_accesses(index, accesses));
        if episodes.part() == Part::Between
            && let Some((from, to)) = episodes.pass(accesses, self.running())
        {
            self.begin(from, to);
        }
        // Two threads may have brought two changes about in another order.
        match episodes.part() {
            Part::Beginning => {}
            Part::Between => engine::end_episode(),
            Part::Sampled | Part::Followed => engine::begin_episode(),
        }
    }

    /// How many threads can run at once.
    fn running(&self) -> u64 {
        (self.threads.all().count() as u64).min(self.processors)
    }

    /// The beginning is over: changes the engine's mode. It allocates.
    pub(super) fn end_beginning(&self) {
        if self.is_over.swap(false, Relaxed) {
            let (loads, stores) = self.periods;
            HAS_BEGUN.store(true, Relaxed);
            undisturbed(|| engine::set_mode(engine::Mode::Episodes { loads, stores }));
        }
    }

    fn begin(&self, from: Part, to: Part) {
        match (from, to) {
            // As soon as that may be.
            (Part::Beginning, _) => self.is_over.store(true, Relaxed),
            (_, Part::Sampled) => engine::begin_episode(),
            (_, Part::Between) => engine::end_episode(),
            _ => {}
        }
        if let Some(episodes) = &self.episodes {
            engine::double_periods(episodes.doublings(to));
        }
    }

    /// Gives up all uses that are watched at the end of this part, if it has any: their distances so far are lower bounds.
    fn censor_all(&self, state: &mut State, part: Part) {
        if !matches!(part, Part::Beginning | Part::Followed) {
            return;
        }
        let positions = CurrentPositions::new(&self.threads, self.progress(), state.id, Domain(0));
        for (number, detector) in self.detectors.iter() {
            for watch in detector.active() {
                if let Some(over) = detector.censor(&positions, watch.id) {
                    self.end(state, self.detectors.slot(number, watch.id), &over);
                }
            }
        }
    }
}
