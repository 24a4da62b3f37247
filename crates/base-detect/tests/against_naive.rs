//! The detectors against a slow model that keeps the whole history and searches all of it every time.

use std::sync::atomic::AtomicU32;

use carom_base::{
    Access, AccessKind, Addr, Cpu, Ip, Line, Nanos, Population, SharingClass, StackId, ThreadId, Via,
};
use carom_base_detect::{
    Board, Config, Decision, Input, Publisher, Scheme, Slot, ThreadDetector, Trap, Watch,
};
use proptest::prelude::*;

const THREADS: usize = 3;

#[derive(Clone, Copy, Debug)]
struct Sample {
    thread: usize,
    time: u64,
    addr: u64,
    width: u32,
    writes: bool,
}

/// One thing that happens: a sample, or a trap of the thread's watchpoint number `chunk`.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Sample { thread: usize, after: u64, addr: u64, width: u32, kind: u8 },
    Trap { thread: usize, chunk: usize },
}

/// Indices into `history` everywhere.
#[derive(Default)]
struct Naive {
    history: Vec<Sample>,
    slots: Vec<Option<usize>>,
    counted: [Vec<usize>; THREADS],
    /// What is watched, and the sample that set it.
    armed: [Option<(usize, usize)>; THREADS],
}

fn line(sample: Sample) -> u64 {
    sample.addr / 64
}

impl Naive {
    fn samples_of(&self, thread: usize, until: usize) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..until).filter(move |&i| self.history[i].thread == thread)
    }

    fn news(&self, entry: usize, now: usize) -> bool {
        let (entry, me) = (self.history[entry], self.history[now]);
        let counted = self.counted[me.thread].iter().any(|&c| self.history[c].time >= entry.time);
        entry.thread != me.thread && entry.time <= me.time && !counted
    }

    fn recent(&self, entry: usize, now: usize) -> bool {
        let previous = self.samples_of(self.history[now].thread, now).next_back();
        previous.is_none_or(|previous| self.history[entry].time > self.history[previous].time)
    }

    /// Store samples of the publisher since the publication, the one at `now` included.
    fn publisher_stores(&self, entry: usize, now: usize) -> usize {
        let publisher = self.history[entry].thread;
        self.samples_of(publisher, now + 1).filter(|&i| i > entry && self.history[i].writes).count()
    }

    fn expired(&self, entry: usize, now: usize) -> bool {
        let own = self.samples_of(self.history[now].thread, now).filter(|&i| self.history[i].writes);
        let own_later = own.filter(|&i| self.history[i].time > self.history[entry].time).count();
        self.publisher_stores(entry, now) >= 2 || own_later >= 2
    }

    fn watch_is_old(&self, now: usize) -> bool {
        let thread = self.history[now].thread;
        self.armed[thread]
            .is_none_or(|(_, set)| self.samples_of(thread, now + 1).filter(|&i| i > set).count() >= 2)
    }

    /// Checks a decision against the right ones here; then applies it.
    fn check(&mut self, sample: Sample, scheme: Scheme, watchpoints: u8, decision: &Decision) {
        self.history.push(sample);
        let now = self.history.len() - 1;
        let slot = line(sample) as usize % self.slots.len();
        let on_board: Vec<usize> = self.slots.iter().copied().flatten().collect();
        let occupant = self.slots[slot];
        let balanced = scheme == Scheme::Balanced && watchpoints > 0;

        let (found, candidates, may_arm) = if balanced {
            let recent = on_board.iter().copied();
            let recent = recent.filter(|&e| {
                let (entry, me) = (self.history[e], self.history[now]);
                entry.thread != me.thread && entry.time <= me.time && self.recent(e, now)
            });
            let latest = recent.max_by_key(|&e| self.history[e].time);
            let found = latest.filter(|&e| line(self.history[e]) == line(sample));
            (found, Vec::from_iter(latest), latest.is_some() || self.watch_is_old(now))
        } else {
            let found = occupant.filter(|&e| line(self.history[e]) == line(sample) && self.news(e, now));
            let mut candidates = on_board.clone();
            candidates
                .retain(|&e| self.news(e, now) && self.recent(e, now) && self.publisher_stores(e, now) < 2);
            (found, candidates, watchpoints > 0 && self.watch_is_old(now))
        };

        let had = self.armed[sample.thread].is_some();
        match found {
            Some(entry) => {
                let event = decision.event.expect("an event");
                let write = self.history[entry];
                let overlap = sample.addr < write.addr + u64::from(write.width)
                    && write.addr < sample.addr + u64::from(sample.width);
                assert_eq!(event.class == SharingClass::True, overlap);
                assert_eq!(
                    (event.earlier.time.0, event.earlier.thread.0 as usize),
                    (write.time, write.thread)
                );
                assert_eq!((event.weight, event.via, event.exact), (1.0, Via::Lookup, true));
                assert_eq!((decision.arm, decision.disarm), (None, balanced && had));
                if balanced {
                    self.armed[sample.thread] = None;
                } else {
                    self.counted[sample.thread].push(entry);
                }
            }
            None => {
                assert_eq!(decision.event, None);
                assert_eq!(decision.arm.is_some(), may_arm && !candidates.is_empty());
                assert_eq!(decision.disarm, may_arm && candidates.is_empty() && had);
                if may_arm {
                    self.armed[sample.thread] = decision.arm.map(|plan| {
                        let watched = candidates.iter().find(|&&e| Line(line(self.history[e])) == plan.line);
                        (*watched.expect("a candidate"), now)
                    });
                }
            }
        }
        let live = occupant.filter(|&e| !self.expired(e, now));
        let other_line = live.is_some_and(|e| line(self.history[e]) != line(sample));
        assert_eq!(decision.collision, sample.writes && other_line);
        assert_eq!(decision.published, sample.writes && (balanced || live.is_none()));
        if decision.published {
            self.slots[slot] = Some(now);
        }
    }
}

fn happening() -> impl Strategy<Value = Happening> {
    let sample = (0..THREADS, 1..4u64, 0..6u64, 0..64u64, prop::sample::select(vec![1u32, 4, 8, 32]), 0..3u8);
    prop_oneof![
        5 => sample.prop_map(|(thread, after, line, offset, width, kind)| Happening::Sample {
            thread, after, addr: line * 64 + offset, width, kind
        }),
        1 => (0..THREADS, 0..4usize).prop_map(|(thread, chunk)| Happening::Trap { thread, chunk }),
    ]
}

fn input(sample: Sample, kind: AccessKind) -> Input {
    let access = Access { ip: Ip(1), addr: Addr(sample.addr), width: sample.width, kind };
    let time = Nanos(sample.time);
    Input {
        access,
        time,
        cpu: Cpu(0),
        stack: StackId::NONE,
        population: Population::Step,
        weight: 1.0,
        watch: Some(1.0),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_decision_agrees_with_the_history(
        happenings in prop::collection::vec(happening(), 1..150),
        size in 1..9usize,
        watchpoints in 0..5u8,
        paper in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let scheme = if paper { Scheme::Paper } else { Scheme::Balanced };
        let slots: Vec<Slot> = (0..size).map(|_| Slot::default()).collect();
        let publishers: Vec<_> = (0..THREADS).map(|_| Publisher::default()).collect();
        let threads = AtomicU32::new(0);
        let board = Board::new(&slots, &publishers, &threads);
        let config = Config { watch: Watch::Chunks(watchpoints), scheme };
        let mut detectors: Vec<_> =
            (0..THREADS).map(|i| ThreadDetector::new(ThreadId(i as u32), config, seed ^ i as u64)).collect();
        let mut naive = Naive { slots: vec![None; size], ..Naive::default() };
        let mut time = 0;
        for happening in happenings {
            match happening {
                Happening::Sample { thread, after, addr, width, kind } => {
                    time += after;
                    let kind = AccessKind::from_u8(kind).unwrap();
                    let sample = Sample { thread, time, addr, width, writes: kind != AccessKind::Load };
                    let decision = detectors[thread].on_sample(&board, input(sample, kind));
                    naive.check(sample, scheme, watchpoints, &decision);
                    if let Some(plan) = decision.arm {
                        let mut chunks = plan.watched().to_vec();
                        prop_assert!(chunks.iter().all(|c| c.line() == plan.line && c.0 % 8 == 0));
                        chunks.sort();
                        chunks.dedup();
                        prop_assert_eq!(chunks.len(), usize::from(watchpoints));
                    }
                }
                Happening::Trap { thread, chunk } => {
                    time += 1;
                    let Some(&chunk) = detectors[thread].armed().and_then(|plan| plan.watched().get(chunk)) else {
                        continue;
                    };
                    let trap = Trap {
                        chunk, time: Nanos(time), cpu: Cpu(0), stack: StackId::NONE,
                        access: None, kind: None, ip: Ip(2),
                    };
                    let event = detectors[thread].on_trap(trap).unwrap();
                    let (entry, _) = naive.armed[thread].take().unwrap();
                    let write = naive.history[entry];
                    prop_assert_eq!(event.earlier.thread.0 as usize, write.thread);
                    prop_assert_ne!(event.earlier.thread, event.thread);
                    prop_assert_eq!(event.earlier.time.0, write.time);
                    prop_assert!((event.weight - 8.0 / f32::from(watchpoints)).abs() < 1e-6);
                    naive.counted[thread].push(entry);
                }
            }
            for (thread, detector) in detectors.iter().enumerate() {
                prop_assert_eq!(detector.armed().is_some(), naive.armed[thread].is_some());
            }
        }
    }
}
