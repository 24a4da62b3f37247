//! The beginning and the end of threads and processes, as sampled reuse sees them.

use std::mem;

use carom_base_reuse::Domain;
use carom_base_sys::signal;
use carom_collect_translate as engine;

use super::{
    super::{
        armed::ArmedWatches,
        positions::{CurrentPositions, Progress},
        thread_table::WatchedThread,
    },
    Sampled, tell,
};
use crate::{
    thread::State,
    translated::{self, undisturbed},
};

impl Sampled {
    /// The calling thread is observed from now on, and watches what other threads have used.
    pub(super) fn join(&self, state: &mut State) {
        let thread = WatchedThread {
            thread: state.id,
            domain: self.domain_of(state),
            tid: signal::thread_id(),
            watches: engine::watches(),
            name: translated::name(&state.slot),
        };
        undisturbed(|| {
            let Some(index) = self.threads.join(thread) else { return };
            let mut armed = self.armed.lock();
            armed.make_room(index);
            for (number, detector) in self.detectors.iter() {
                for watch in detector.active() {
                    armed.set_in(self.detectors.slot(number, watch.id).index, &watch, index, &thread);
                }
            }
            state.of.reuse = Some(index);
        });
    }

    /// The calling thread is about to give its table back to the engine, and watches nothing any more.
    pub(super) fn clear_watches(&self, state: &mut State) {
        let Some(index) = state.of.reuse.filter(|_| self.is_in_software()) else { return };
        undisturbed(|| {
            let mut armed = self.armed.lock();
            armed.forget(index, engine::watches());
            // Under the lock, so that no thread enters anything afterwards.
            self.threads.clear_watches(index);
        });
    }

    /// The calling thread ends, after this number of accesses.
    pub(super) fn leave(&self, state: &mut State, accesses: u64) {
        let Some(index) = state.of.reuse.take() else { return };
        let totals = [(translated::name(&state.slot), accesses)];
        let progress = if translated::is_on() { Progress::Totals(&totals) } else { self.progress() };
        undisturbed(|| {
            let mut armed = self.armed.lock();
            let positions = CurrentPositions::new(&self.threads, progress, state.id, Domain(0));
            for (number, detector) in self.detectors.iter() {
                for over in detector.end_thread(&positions, state.id) {
                    self.remove(&mut armed, self.detectors.slot(number, over.watch.id), over.watch.id);
                    tell(state, &over.event);
                }
            }
            let own = self.threads.all().find(|(at, _)| *at == index);
            armed.forget(index, own.and_then(|(_, thread)| thread.watches));
            self.threads.leave(index, accesses);
        });
    }

    /// The process ends.
    pub(super) fn end_all(&self, state: &mut State, totals: Option<&[(u64, u64)]>) {
        let progress = totals.map_or_else(|| self.progress(), Progress::Totals);
        let positions = CurrentPositions::new(&self.threads, progress, state.id, Domain(0));
        for (_, detector) in self.detectors.iter() {
            detector.end_all(&positions).for_each(|over| tell(state, &over.event));
        }
    }

    /// In a forked child: nothing of the parent's is watched any more.
    pub(super) fn abandon(&self, state: &mut State) {
        let is_whole = !self.armed.is_held();
        self.armed.open();
        let Some(mut armed) = self.armed.try_lock() else { return };
        let index = state.of.reuse.take();
        if !is_whole {
            // Another thread of the parent was changing it. A half changed value can be neither read nor freed. The watches of
            // this thread stay in its table: touches of them cost some time and have no effect.
            return mem::forget(mem::replace(
                &mut *armed,
                ArmedWatches::new(self.delivery, self.detectors.slot_count()),
            ));
        }
        armed.abandon();
        if let Some(index) = index {
            armed.forget(index, engine::watches());
        }
    }
}
