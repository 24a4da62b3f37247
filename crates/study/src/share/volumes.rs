//! Estimates over all lines, from the events of step samples only.

use carom_base::{AccessKind, Cpu, Population, SharingClass, SharingEvent, ThreadId};
use carom_study_stats::TimeBlocks;

use super::matrix::Cells;
use super::{Distance, ENOUGH_EVENTS, Kinds, NotEnough};
use crate::estimate::{Estimate, WeightedCount};

/// Sums over the step events of a recording. Time-weighted events would bias every proportion towards slow
/// accesses, so they are not let in.
#[derive(Default)]
pub(super) struct Volumes {
    pub events: usize,
    pub all: WeightedCount,
    pub kinds: Kinds,
    pub distance: Distance,
    pub threads: Cells<ThreadId>,
    pub cpus: Cells<Cpu>,
    false_sharing: TimeBlocks,
}

impl Volumes {
    /// `weight`: how much sharing the event stands for.
    pub fn add(
        &mut self,
        event: &SharingEvent,
        class: SharingClass,
        weight: f64,
        core_of: impl Fn(Cpu) -> Option<u32>,
    ) {
        if event.population != Population::Step {
            return;
        }
        self.events += 1;
        self.all.add(weight);
        self.threads.add(event.earlier.thread, event.thread, class, weight);
        self.cpus.add(event.earlier.cpu, event.cpu, class, weight);
        self.false_sharing.observe(event.time.0, class == SharingClass::False, weight);
        *match event.later.kind {
            AccessKind::Load => &mut self.kinds.read_after_write,
            AccessKind::Store | AccessKind::ReadModifyWrite => &mut self.kinds.write_after_write,
        } += weight;
        *self.distance.between(event.earlier.cpu, event.cpu, core_of) += weight;
    }

    pub fn false_fraction(&self) -> Option<Estimate> {
        fraction(&self.false_sharing, self.events)
    }

    /// More time at the same rate gives enough events, but of those of data that moved once. `transfer`: the seconds of one
    /// transfer, where events stand for accesses.
    pub fn not_enough(&self, seconds: f64, moved_once: usize, transfer: Option<f64>) -> Option<NotEnough> {
        let events = self.events.saturating_sub(moved_once);
        // A recording that was cut short may not know how long it is.
        let known = events > 0 && seconds.is_finite() && seconds > 0.0;
        let run_seconds = known.then(|| seconds * ENOUGH_EVENTS as f64 / events as f64);
        let accesses = self.all.estimate().map(|all| all.high);
        let moving = accesses.zip(transfer).filter(|_| known).map(|(all, one)| all * one / seconds);
        (self.events < ENOUGH_EVENTS).then_some(NotEnough { events, run_seconds, moving })
    }
}

impl Distance {
    fn between(&mut self, a: Cpu, b: Cpu, core_of: impl Fn(Cpu) -> Option<u32>) -> &mut f64 {
        let same_core = matches!((core_of(a), core_of(b)), (Some(a), Some(b)) if a == b);
        match (a == b, same_core) {
            (true, _) => &mut self.same_cpu,
            (false, true) => &mut self.smt_siblings,
            // Also where the recording has no topology: different processors usually are different cores.
            (false, false) => &mut self.cross_core,
        }
    }
}

/// The proportion of false sharing, if there are enough events for one.
pub(super) fn fraction(false_sharing: &TimeBlocks, events: usize) -> Option<Estimate> {
    (events >= ENOUGH_EVENTS).then(|| false_sharing.proportion()).flatten().map(Estimate::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::{
        scale::Scale,
        testing::{Event, Synthetic},
    };

    fn volumes(events: impl IntoIterator<Item = Event>) -> Volumes {
        let mut volumes = Volumes::default();
        // Processors 0 and 1 are one core, 2 and 3 another; of 9 nothing is known.
        let core_of = |cpu: Cpu| (cpu.0 < 4).then_some(cpu.0 / 2);
        let recording = Synthetic::new(10);
        for event in events.into_iter().map(Event::build) {
            volumes.add(&event, event.class, Scale::of(&recording).event(&event), core_of);
        }
        volumes
    }

    #[test]
    fn volume_splits_by_distance() {
        let v = volumes([
            Event::new(0, 1).cpus(0, 1).weight(1.0),
            Event::new(0, 1).cpus(1, 2).weight(2.0),
            Event::new(0, 1).cpus(3, 3).weight(4.0),
            Event::new(0, 1).cpus(9, 1).weight(8.0),
            Event::new(0, 1).cpus(9, 9).weight(16.0),
        ]);
        assert_eq!(v.distance, Distance { smt_siblings: 1.0, cross_core: 10.0, same_cpu: 20.0 });
    }

    #[test]
    fn a_later_atomic_is_a_write_after_write() {
        let v = volumes([
            Event::new(0, 1).later(AccessKind::Load, 0, 8).weight(2.0),
            Event::new(0, 1).later(AccessKind::Store, 0, 8),
            Event::new(0, 1).later(AccessKind::ReadModifyWrite, 0, 8),
        ]);
        assert_eq!(v.kinds, Kinds { read_after_write: 2.0, write_after_write: 2.0 });
    }

    #[test]
    fn time_weighted_events_and_broken_weights_do_not_count() {
        let v = volumes([
            Event::new(0, 1).last_instruction(),
            Event::new(0, 1).weight(f32::NAN),
            Event::new(0, 1).weight(-3.0),
            Event::new(0, 1).weight(f32::INFINITY),
        ]);
        assert_eq!(v.events, 3);
        assert_eq!(v.kinds, Kinds::default());
    }

    #[test]
    fn the_fraction_needs_thirty_events_and_is_weighted() {
        let mixed = |n: u64| {
            (0..n).map(|i| {
                Event::new(0, 1).at_ms(i).class_false(i % 3 == 0).weight(if i % 3 == 0 { 2.0 } else { 1.0 })
            })
        };
        assert_eq!(volumes(mixed(29)).false_fraction(), None);
        // 10 false events of weight 2 and 20 true ones of weight 1: 20 / 40.
        let estimate = volumes(mixed(30)).false_fraction().unwrap();
        assert_eq!(estimate.value, 0.5);
        // Σw = 40, Σw² = 60: 26.7 equal events, ±1.96 √(0.25 / 26.7) = ±0.19; Wilson is a little narrower.
        assert!((0.30..0.36).contains(&estimate.low), "{estimate:?}");
        assert!((0.64..0.70).contains(&estimate.high), "{estimate:?}");
    }

    #[test]
    fn too_few_events_say_how_long_to_run() {
        let v = volumes((0..6).map(|_| Event::new(0, 1)));
        // 6 in 2 s is 3 per second; 30 take 10 s.
        assert_eq!(
            v.not_enough(2.0, 0, None),
            Some(NotEnough { events: 6, run_seconds: Some(10.0), moving: None })
        );
        // Three of them will not come again: 1.5 per second.
        assert_eq!(
            v.not_enough(2.0, 3, None),
            Some(NotEnough { events: 3, run_seconds: Some(20.0), moving: None })
        );
        assert_eq!(
            volumes([]).not_enough(2.0, 0, None),
            Some(NotEnough { events: 0, run_seconds: None, moving: None })
        );
        assert_eq!(volumes((0..30).map(|_| Event::new(0, 1))).not_enough(2.0, 0, None), None);
    }

    /// 100 accesses of 50 ns are 5 us of 2 s; 4 of 25 accesses each are, at most, 10.24 (Poisson).
    #[test]
    fn too_few_events_say_what_they_cost_at_most() {
        let v = volumes((0..4).map(|_| Event::new(0, 1).weight(25.0)));
        let moving = v.not_enough(2.0, 0, Some(50e-9)).and_then(|few| few.moving);
        assert!(
            moving.is_some_and(|part| (part / (25.0 * 10.24 * 50e-9 / 2.0) - 1.0).abs() < 0.01),
            "{moving:?}"
        );
        assert_eq!(volumes([]).not_enough(2.0, 0, Some(50e-9)).and_then(|few| few.moving), None);
    }
}
