//! Sampled reuse: all threads of the process watch the bytes of a sampled access until one of them reuses or invalidates
//! it.
//!
//! `carom_base_reuse::sampled` decides that, without a lock. Which thread watches what is kept under a lock. Handlers try
//! that for a moment. Where it is taken, a new sample is given up, and the watch of a use that is over stays until its next
//! touch.

mod change;
mod detector;
mod life;
mod traps;

use std::{hint, sync::atomic::AtomicBool};

use carom_base::{Access, Cpu, ReuseEvent, StackId, Touch};
use carom_base_reuse::{
    Domain,
    sampled::{Over, Positions, Touched, Watch, WatchId},
};
use carom_base_sys::clock;
use carom_base_wire::{Counter, Domains, Record};
use carom_collect_translate as engine;

use super::{
    armed::ArmedWatches,
    detector_set::{DetectorSet, MAX_DETECTORS, SlotIndex},
    episodes::Episodes,
    positions::{CurrentPositions, Progress},
    thread_table::ThreadTable,
};
use crate::{
    account,
    lock::{Guard, Lock},
    objects,
    sampler::Mode,
    scene::Scene,
    thread::State,
    translated,
};

/// How often handlers try the lock: for some microseconds, as long as setting a watch in a few threads takes.
const TRIES: usize = 1000;

/// The most touches of a watched line that decide nothing, because they are of other bytes. A loop may make them for ever,
/// and each costs as much as hundreds of its accesses: beyond this number the use is given up.
const MOST_UNDECIDED: u32 = 64;

/// The sampled reuse of one process.
pub struct Sampled {
    detectors: DetectorSet,
    domains: Domains,
    /// How traps of debug registers are delivered, where these watch.
    delivery: Option<Mode>,
    /// Mean accesses between two samples: loads, stores.
    periods: (u64, u64),
    threads: ThreadTable,
    armed: Lock<ArmedWatches>,
    /// Processors that the process may use.
    processors: u64,
    /// Where accesses are not looked up all the time.
    episodes: Option<Episodes>,
    /// The beginning of the process is over, and the engine does not know yet.
    is_over: AtomicBool,
}

impl Sampled {
    /// Whether the translated code watches.
    fn is_in_software(&self) -> bool {
        self.delivery.is_none()
    }

    /// An access was sampled. It stands for `weight` times as many accesses as the most frequent samples do. The burst engine
    /// pays for its samples itself.
    fn on_sample(&self, scene: &mut Scene<'_>, access: Access, weight: f32) {
        scene.state.slot.count(Counter::Uses, 1);
        self.follow(scene, access, weight);
        if translated::is_on() {
            account::pay(scene.state, scene.time, account::EXITS_OF_A_SAMPLE);
        }
    }

    fn follow(&self, scene: &mut Scene<'_>, access: Access, weight: f32) {
        let Some(index) = scene.state.of.reuse else { return };
        let domain = self.domain_of(scene.state);
        self.threads.set_domain(index, domain);
        let stack = scene.stack(access.ip.0);
        let touch = Touch { thread: scene.state.id, time: scene.time, cpu: scene.cpu, access, stack };
        let positions = CurrentPositions::new(&self.threads, self.progress(), scene.state.id, domain);
        self.threads.note_pace(index, positions.of_thread(scene.state.id));
        let mut asked: [Option<(SlotIndex, Watch)>; MAX_DETECTORS] = [None; MAX_DETECTORS];
        for ((number, detector), asked) in self.detectors.iter().zip(&mut asked) {
            let sampled = detector.on_sample(&positions, touch, weight, scene.state.random());
            if let Some(Over { watch, event, .. }) = &sampled.replaced {
                // A use that takes its slot also takes its watches.
                if sampled.arm.is_none_or(|armed| armed.id.slot != watch.id.slot)
                    && let Some(mut armed) = self.briefly()
                {
                    self.remove(&mut armed, self.detectors.slot(number, watch.id), watch.id);
                }
                tell(scene.state, event);
            }
            *asked = sampled.arm.map(|watch| (self.detectors.slot(number, watch.id), watch));
        }
        self.arm(scene.state, &asked, &touch);
    }

    /// Has all threads watch the bytes of a use, for each detector.
    ///
    /// All watches are published before the first is set. A watch stops the thread that touches it for longer than it takes to
    /// set the others. Published later, these would miss the touch, and meet the thread where the first one had stopped it.
    /// (When the first watched writes alone, shared reuses were found to be writes ten times as often as they are.)
    fn arm(&self, state: &mut State, asked: &[Option<(SlotIndex, Watch)>], touch: &Touch) {
        let asked = || asked.iter().flatten();
        if asked().next().is_none() {
            return;
        }
        let Some(mut armed) = self.briefly() else {
            for (slot, watch) in asked() {
                if let Some(detector) = self.detectors.get(slot.detector) {
                    detector.give_up(watch.id);
                }
                state.slot.count(Counter::ArmFailures, 1);
            }
            return;
        };
        // Another thread may have given its slot to another use meanwhile, and set the watch for that.
        for (slot, watch) in asked().filter(|(slot, watch)| self.detectors.is_active(*slot, watch.id)) {
            // Accesses are sampled before they happen.
            let traps = !self.is_in_software() && watch.touched_by(touch.access);
            self.detectors.publish(*slot, watch, traps.then_some(touch.access));
        }
        for (slot, watch) in asked().filter(|(slot, watch)| self.detectors.is_active(*slot, watch.id)) {
            self.set(state, &mut armed, *slot, watch, touch);
        }
    }

    /// Sets a watch in all threads.
    fn set(
        &self,
        state: &mut State,
        armed: &mut ArmedWatches,
        slot: SlotIndex,
        watch: &Watch,
        touch: &Touch,
    ) {
        let counters = state.slot;
        let Some(detector) = self.detectors.get(slot.detector) else { return };
        let begin = clock::now();
        detector.arm(watch.id, engine::ticks());
        let set = armed.set(slot.index, watch, &self.threads);
        let done = clock::now();
        if !self.is_in_software() && set.armed > 1 {
            // The other threads were interrupted for about as long, and their time is the program's as well.
            account::pay(state, begin, 0);
        }
        counters.count(Counter::ThreadsUnarmed, set.unarmed);
        if set.owner_unarmed {
            detector.give_up(watch.id);
            self.remove(armed, slot, watch.id);
            return counters.count(Counter::ArmFailures, 1);
        }
        counters.count(Counter::UsesArmed, 1);
        counters.count(Counter::ArmNanos, done.0.saturating_sub(touch.time.0));
        // Only those of the other threads.
        counters.count(Counter::ThreadsArmed, set.armed.saturating_sub(1));
    }

    /// Translated code is about to make an access that may concern some watches.
    fn on_touches(&self, scene: &mut Scene<'_>, access: Access) {
        // Once for all of them: to read it takes as long as to decide on one.
        let position = engine::accesses();
        for watch in self.detectors.candidates(access.addr) {
            self.on_touch(scene, watch, access, position);
        }
        account::pay(scene.state, scene.time, account::EXITS_OF_A_TOUCH);
    }

    /// The calling thread touches a line that no active use concerns: its watches of uses that are over are removed.
    fn on_stale(&self, state: &mut State, access: Access) {
        if let (Some(index), Some(mut armed)) = (state.of.reuse, self.armed.try_lock()) {
            let is_over = |index, id| !self.detectors.is_active(self.detectors.slot_at(index), id);
            armed.sweep(access.addr, index, engine::watches(), is_over);
        }
    }

    /// An access touches the bytes of the watch `id`. `position`: the accesses of the thread before it, where that is known
    /// better than from the engine.
    fn on_touch(
        &self,
        scene: &mut Scene<'_>,
        (slot, id): (SlotIndex, WatchId),
        access: Access,
        position: Option<u64>,
    ) {
        let Some(detector) = self.detectors.get(slot.detector) else { return };
        let domain = self.domain_of(scene.state);
        let positions =
            CurrentPositions::new(&self.threads, self.progress(), scene.state.id, domain).at(position);
        // Most touches decide nothing: the call path is taken only when one does.
        let thread = scene.state.id;
        // Now, because the use may have been sampled after the scene was set.
        let touch = Touch { thread, time: clock::now(), cpu: scene.cpu, access, stack: StackId::NONE };
        match detector.on_touch(&positions, id, touch) {
            Touched::Over(mut over) => {
                scene.state.slot.count(Counter::UsesTouched, 1);
                scene.state.slot.count(Counter::EarlyTouches, u64::from(over.had_pending));
                // Of an earlier touch by another thread only the instruction is known.
                if let Some(later) = over.event.later.as_mut().filter(|later| later.thread == thread) {
                    later.stack = scene.stack(access.ip.0);
                }
                self.end(scene.state, slot, &over);
            }
            Touched::Active if self.detectors.count_undecided(slot) >= MOST_UNDECIDED => {
                scene.state.slot.count(Counter::Undecided, 1);
                if let Some(over) = detector.censor(&positions, id) {
                    self.end(scene.state, slot, &over);
                }
            }
            Touched::Active => {}
            Touched::Late => {
                scene.state.slot.count(Counter::StaleTraps, 1);
                if let (Some(index), Some(mut armed)) = (scene.state.of.reuse, self.armed.try_lock()) {
                    armed.remove_in(slot.index, id, index, engine::watches());
                }
            }
        }
    }

    /// A use is over. Tables in memory are cleared at once. To change another thread's register takes an interrupt, so it
    /// stays until it traps there, or the slot is used again.
    fn end(&self, state: &mut State, slot: SlotIndex, over: &Over) {
        self.detectors.withdraw(slot, over.watch.id);
        if let Some(mut armed) = self.briefly() {
            match state.of.reuse.filter(|_| !self.is_in_software()) {
                Some(index) => armed.remove_in(slot.index, over.watch.id, index, None),
                None => armed.remove(slot.index, over.watch.id, &self.threads),
            }
        }
        tell(state, &over.event);
    }

    fn remove(&self, armed: &mut ArmedWatches, slot: SlotIndex, id: WatchId) {
        self.detectors.withdraw(slot, id);
        armed.remove(slot.index, id, &self.threads);
    }

    /// The watches, if their lock is free within some microseconds.
    fn briefly(&self) -> Option<Guard<'_, ArmedWatches>> {
        (0..TRIES).find_map(|_| {
            hint::spin_loop();
            self.armed.try_lock()
        })
    }

    fn progress(&self) -> Progress<'static> {
        if translated::is_on() { Progress::Engine } else { Progress::Clock(clock::now()) }
    }

    /// The domain of the processor on which the calling thread runs.
    fn domain_of(&self, state: &State) -> Domain {
        let domain = self.domains.domain(state.id, Cpu(clock::current_cpu()));
        state.slot.header().domain.store(u64::from(domain) + 1, std::sync::atomic::Ordering::Relaxed);
        Domain(u32::from(domain))
    }
}

/// Tells the host what became of a use.
fn tell(state: &mut State, event: &ReuseEvent) {
    // An event whose weight has passed on to other uses says nothing.
    if event.weight == 0.0 {
        return;
    }
    state.slot.push(&Record::Reuse(*event));
    for touch in [Some(event.earlier), event.later].into_iter().flatten() {
        objects::report_access(state, &touch.access, touch.time);
    }
}
