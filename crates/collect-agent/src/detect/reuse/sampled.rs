//! Sampled reuse: a sampled access is watched by all threads of the process until one of them decides what became of
//! it.
//!
//! What is decided is `carom_base_reuse::sampled`'s business, and needs no lock. Who watches what is kept under one:
//! handlers try it for a moment, and where it is taken a sample is given up, or a watch stays that is over, until its next
//! touch.

mod detector;
mod traps;

use std::{hint, mem};

use carom_base::{Access, Cpu, ReuseEvent, StackId, Touch};
use carom_base_reuse::{
    Domain,
    sampled::{Over, Positions, Touched, Watch, WatchId},
};
use carom_base_sys::{clock, signal};
use carom_base_wire::{Counter, Domains, Record};
use carom_collect_translate as engine;

use super::{
    armoury::Armoury,
    people::{Here, Newcomer, People, Progress},
    questions::{MOST_QUESTIONS, Questions, Spot},
};
use crate::{
    account,
    lock::{Guard, Lock},
    objects,
    sampler::Mode,
    scene::Scene,
    thread::State,
    translated::{self, undisturbed},
};

/// How often handlers look whether the armoury is free: some microseconds, as long as setting a watch in a few threads takes.
const TRIES: usize = 1000;

/// Touches of a watched line that may decide nothing, because they are of other bytes. A loop may go on with them for
/// ever, and each costs as much as hundreds of its accesses: beyond this the use is given up.
const MOST_UNDECIDED: u32 = 64;

/// The sampled reuse of one process.
pub struct Sampled {
    questions: Questions,
    domains: Domains,
    /// How debug registers are delivered, where these watch.
    delivery: Option<Mode>,
    /// Mean accesses between two samples: loads, stores.
    periods: (u64, u64),
    people: People,
    armoury: Lock<Armoury>,
}

impl Sampled {
    /// Whether the translated code watches.
    fn is_in_software(&self) -> bool {
        self.delivery.is_none()
    }

    /// The calling thread is to be watched from now on, and watches what others have used.
    fn join(&self, state: &mut State) {
        let newcomer = Newcomer {
            thread: state.id,
            domain: self.domain_of(state),
            tid: signal::thread_id(),
            watches: engine::watches(),
            name: translated::name(&state.slot),
        };
        undisturbed(|| {
            let Some(place) = self.people.join(newcomer) else { return };
            let mut armoury = self.armoury.lock();
            armoury.make_room(place);
            for (question, detector) in self.questions.detectors() {
                for watch in detector.active() {
                    armoury.set_in(self.questions.spot(question, watch.id).index, &watch, place, &newcomer);
                }
            }
            state.of.reuse = Some(place);
        });
    }

    /// The calling thread is about to give its tables back to the engine: it watches for nothing any more.
    fn lay_down(&self, state: &mut State) {
        let Some(place) = state.of.reuse.filter(|_| self.is_in_software()) else { return };
        undisturbed(|| {
            let mut armoury = self.armoury.lock();
            armoury.forget(place, engine::watches());
            // Under the lock, so that nobody enters anything afterwards.
            self.people.lay_down(place);
        });
    }

    /// The calling thread has made so many accesses, and makes no more.
    fn leave(&self, state: &mut State, accesses: u64) {
        let Some(place) = state.of.reuse.take() else { return };
        let totals = [(translated::name(&state.slot), accesses)];
        let progress = if translated::is_on() { Progress::Totals(&totals) } else { self.progress() };
        undisturbed(|| {
            let mut armoury = self.armoury.lock();
            let here = Here::new(&self.people, progress, state.id, Domain(0));
            for (question, detector) in self.questions.detectors() {
                for over in detector.end_thread(&here, state.id) {
                    self.remove(&mut armoury, self.questions.spot(question, over.watch.id), over.watch.id);
                    tell(state, &over.event);
                }
            }
            let own = self.people.all().find(|(at, _)| *at == place);
            armoury.forget(place, own.and_then(|(_, person)| person.watches));
            self.people.leave(place, accesses);
        });
    }

    /// The process ends.
    fn end_all(&self, state: &mut State, totals: Option<&[(u64, u64)]>) {
        let progress = totals.map_or_else(|| self.progress(), Progress::Totals);
        let here = Here::new(&self.people, progress, state.id, Domain(0));
        for (_, detector) in self.questions.detectors() {
            detector.end_all(&here).for_each(|over| tell(state, &over.event));
        }
    }

    /// In a forked child: nothing of the parent's is watched any more.
    fn abandon(&self, state: &mut State) {
        let whole = !self.armoury.is_held();
        self.armoury.open();
        let Some(mut armoury) = self.armoury.try_lock() else { return };
        let place = state.of.reuse.take();
        if !whole {
            // Another thread was changing it, and what is half changed cannot be read, nor freed. What this thread watched
            // stays in its tables: its touches cost some time, and are about nothing.
            return mem::forget(mem::replace(
                &mut *armoury,
                Armoury::new(self.delivery, self.questions.spots()),
            ));
        }
        armoury.abandon();
        if let Some(place) = place {
            armoury.forget(place, engine::watches());
        }
    }

    /// An access was sampled, which stands for `weight` times as many as the most frequent samples do. Bursts are paid for by
    /// whoever makes them.
    fn on_sample(&self, scene: &mut Scene<'_>, access: Access, weight: f32) {
        scene.state.slot.count(Counter::Uses, 1);
        self.follow(scene, access, weight);
        if translated::is_on() {
            account::pay(scene.state, scene.time, account::EXITS_OF_A_SAMPLE);
        }
    }

    fn follow(&self, scene: &mut Scene<'_>, access: Access, weight: f32) {
        let Some(place) = scene.state.of.reuse else { return };
        let domain = self.domain_of(scene.state);
        self.people.set_domain(place, domain);
        let stack = scene.stack(access.ip.0);
        let touch = Touch { thread: scene.state.id, time: scene.time, cpu: scene.cpu, access, stack };
        let here = Here::new(&self.people, self.progress(), scene.state.id, domain);
        self.people.note_pace(place, here.of_thread(scene.state.id));
        let mut asked: [Option<(Spot, Watch)>; MOST_QUESTIONS] = [None; MOST_QUESTIONS];
        for ((question, detector), asked) in self.questions.detectors().zip(&mut asked) {
            let sampled = detector.on_sample(&here, touch, weight, scene.state.random());
            if let Some(Over { watch, event, .. }) = &sampled.replaced {
                // What takes its slot also takes its places.
                if sampled.arm.is_none_or(|armed| armed.id.slot != watch.id.slot)
                    && let Some(mut armoury) = self.briefly()
                {
                    self.remove(&mut armoury, self.questions.spot(question, watch.id), watch.id);
                }
                tell(scene.state, event);
            }
            *asked = sampled.arm.map(|watch| (self.questions.spot(question, watch.id), watch));
        }
        self.arm(scene.state, &asked, &touch);
    }

    /// Has all threads watch for what becomes of a use.
    ///
    /// All that is asked is published before the first watch is set. A watch stops the thread that touches it for longer
    /// than it takes to set the others: published after that, they would miss what it was stopped at, and meet the thread
    /// where the first had stopped it. (Shared reuses came out as writes ten times as often as they are, when the watch
    /// before waited for writes alone.)
    fn arm(&self, state: &mut State, asked: &[Option<(Spot, Watch)>], touch: &Touch) {
        let asked = || asked.iter().flatten();
        if asked().next().is_none() {
            return;
        }
        let Some(mut armoury) = self.briefly() else {
            for (spot, watch) in asked() {
                if let Some(detector) = self.questions.detector(spot.question) {
                    detector.give_up(watch.id);
                }
                state.slot.count(Counter::ArmFailures, 1);
            }
            return;
        };
        // Another thread may have given its slot to another use meanwhile, and set the watch for that.
        for (spot, watch) in asked().filter(|(spot, watch)| self.questions.is_active(*spot, watch.id)) {
            // Accesses are sampled before they happen.
            let traps = !self.is_in_software() && watch.touched_by(touch.access);
            self.questions.publish(*spot, watch, traps.then_some(touch.access));
        }
        for (spot, watch) in asked().filter(|(spot, watch)| self.questions.is_active(*spot, watch.id)) {
            self.set(state, &mut armoury, *spot, watch, touch);
        }
    }

    /// Sets a watch in all threads.
    fn set(&self, state: &mut State, armoury: &mut Armoury, spot: Spot, watch: &Watch, touch: &Touch) {
        let slot = state.slot;
        let Some(detector) = self.questions.detector(spot.question) else { return };
        let begin = clock::now();
        detector.arm(watch.id, engine::ticks());
        let set = armoury.set(spot.index, watch, &self.people);
        let armed = clock::now();
        if !self.is_in_software() && set.armed > 1 {
            // The others were interrupted for about as long, and their time is the program's as well.
            account::pay(state, begin, 0);
        }
        slot.count(Counter::ThreadsUnarmed, set.unarmed);
        if set.owner_unarmed {
            detector.give_up(watch.id);
            self.remove(armoury, spot, watch.id);
            return slot.count(Counter::ArmFailures, 1);
        }
        slot.count(Counter::UsesArmed, 1);
        slot.count(Counter::ArmNanos, armed.0.saturating_sub(touch.time.0));
        // Its own is none of the others'.
        slot.count(Counter::ThreadsArmed, set.armed.saturating_sub(1));
    }

    /// Translated code is about to make an access that may be about some watches.
    fn on_touches(&self, scene: &mut Scene<'_>, access: Access) {
        for watch in self.questions.candidates(access.addr) {
            self.on_touch(scene, watch, access, None);
        }
        account::pay(scene.state, scene.time, account::EXITS_OF_A_TOUCH);
    }

    /// The calling thread touches a line that it has no watch for any more: none that is over stays.
    fn on_stale(&self, state: &mut State, access: Access) {
        if let (Some(place), Some(mut armoury)) = (state.of.reuse, self.armoury.try_lock()) {
            let is_over = |index, id| !self.questions.is_active(self.questions.numbered(index), id);
            armoury.sweep(access.addr, place, engine::watches(), is_over);
        }
    }

    /// An access touches what the watch `id` is about, the thread having made `position` before it, where that is known
    /// better than by asking the engine.
    fn on_touch(
        &self,
        scene: &mut Scene<'_>,
        (spot, id): (Spot, WatchId),
        access: Access,
        position: Option<u64>,
    ) {
        let Some(detector) = self.questions.detector(spot.question) else { return };
        let domain = self.domain_of(scene.state);
        let here = Here::new(&self.people, self.progress(), scene.state.id, domain).at(position);
        // Most touches decide nothing: the call path waits until one does.
        let thread = scene.state.id;
        // Now, because the use may have been sampled after the scene was set.
        let touch = Touch { thread, time: clock::now(), cpu: scene.cpu, access, stack: StackId::NONE };
        match detector.on_touch(&here, id, touch) {
            Touched::Over(mut over) => {
                scene.state.slot.count(Counter::UsesTouched, 1);
                scene.state.slot.count(Counter::EarlyTouches, u64::from(over.was_early));
                // Of what another thread did before, only the instruction is known.
                if let Some(later) = over.event.later.as_mut().filter(|later| later.thread == thread) {
                    later.stack = scene.stack(access.ip.0);
                }
                self.end(scene.state, spot, &over);
            }
            Touched::Active if self.questions.count_undecided(spot) >= MOST_UNDECIDED => {
                scene.state.slot.count(Counter::Undecided, 1);
                if let Some(over) = detector.censor(&here, id) {
                    self.end(scene.state, spot, &over);
                }
            }
            Touched::Active => {}
            Touched::Late => {
                scene.state.slot.count(Counter::StaleTraps, 1);
                if let (Some(place), Some(mut armoury)) = (scene.state.of.reuse, self.armoury.try_lock()) {
                    armoury.remove_in(spot.index, id, place, engine::watches());
                }
            }
        }
    }

    /// A use is over. Tables in memory are cleared at once; to change another thread's register takes an interrupt, so
    /// that is left until it traps there, or the slot is used again.
    fn end(&self, state: &mut State, spot: Spot, over: &Over) {
        self.questions.withdraw(spot, over.watch.id);
        if let Some(mut armoury) = self.briefly() {
            match state.of.reuse.filter(|_| !self.is_in_software()) {
                Some(place) => armoury.remove_in(spot.index, over.watch.id, place, None),
                None => armoury.remove(spot.index, over.watch.id, &self.people),
            }
        }
        tell(state, &over.event);
    }

    fn remove(&self, armoury: &mut Armoury, spot: Spot, id: WatchId) {
        self.questions.withdraw(spot, id);
        armoury.remove(spot.index, id, &self.people);
    }

    /// The armoury, if it is free within some microseconds.
    fn briefly(&self) -> Option<Guard<'_, Armoury>> {
        (0..TRIES).find_map(|_| {
            hint::spin_loop();
            self.armoury.try_lock()
        })
    }

    fn progress(&self) -> Progress<'static> {
        if translated::is_on() { Progress::Engine } else { Progress::Clock(clock::now()) }
    }

    /// Where the calling thread is.
    fn domain_of(&self, state: &State) -> Domain {
        let domain = self.domains.domain(state.id, Cpu(clock::current_cpu()));
        state.slot.header().domain.store(u64::from(domain) + 1, std::sync::atomic::Ordering::Relaxed);
        Domain(u32::from(domain))
    }
}

/// Tells the host what became of a use.
fn tell(state: &mut State, event: &ReuseEvent) {
    // Where the weight has passed on to others, nothing is left to be told.
    if event.weight == 0.0 {
        return;
    }
    state.slot.push(&Record::Reuse(*event));
    for touch in [Some(event.earlier), event.later].into_iter().flatten() {
        objects::report_access(state, &touch.access, touch.time);
    }
}
