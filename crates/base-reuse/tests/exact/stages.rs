//! Both stages behind a router, against the naive reference.

use std::collections::VecDeque;

use carom_base::{Access, AccessKind, Addr, Ip, Nanos, Scope, ThreadId};
use carom_base_reuse::exact::{
    Config, Domain, Exact, Input, Pairs, Router, Sampling, Stage, Task, TopStage, Tops,
};
use carom_base_stream::Sink;
use proptest::prelude::*;

use super::naive::{Counts, Naive, add, nearer_together};

const GRANULARITIES: [u32; 3] = [1, 64, 4096];

/// Pairs nearer than this many places are not distinguished.
const NEAREST: u64 = 8;

#[derive(Clone, Debug)]
enum Step {
    /// Handed on individually, or in a vector.
    Accesses(ThreadId, Domain, Vec<Access>, bool),
    End(ThreadId),
    /// One of the stages runs for this many tasks.
    Work(bool, usize),
    Drain,
}

fn accesses(bytes: u64) -> impl Strategy<Value = Vec<Access>> {
    let width = prop::sample::select(vec![1u32, 4, 8, 8, 8, 64, 200]);
    let kind = prop::sample::select(vec![AccessKind::Load, AccessKind::Store, AccessKind::ReadModifyWrite]);
    let access = (0..6u64, 0..bytes, width, kind).prop_map(|(ip, addr, width, kind)| Access {
        ip: Ip(0x1000 + ip),
        addr: Addr(0x7fff_0000_0f00 + addr),
        width,
        kind,
    });
    prop::collection::vec(access, 1..40)
}

/// By the threads below `threads`, of which the last one sometimes moves to another domain.
fn step(bytes: u64, threads: u32) -> impl Strategy<Value = Step> {
    let placed = (0..threads, 0..9u32).prop_map(move |(thread, moved)| {
        (ThreadId(thread), Domain(if moved == 0 && thread + 1 == threads { 3 } else { 5 }))
    });
    prop_oneof![
        16 => (placed, accesses(bytes), any::<bool>()).prop_map(|((t, d), a, whole)| Step::Accesses(t, d, a, whole)),
        1 => (0..threads).prop_map(|thread| Step::End(ThreadId(thread))),
        4 => (any::<bool>(), 0..9usize).prop_map(|(shared, most)| Step::Work(shared, most)),
        1 => Just(Step::Drain),
    ]
}

/// A router and its stages, driven as threads would: each stage at its own time.
struct Analysis {
    router: Router,
    inputs: VecDeque<Input>,
    top: TopStage,
    stages: [Stage; 2],
    tasks: [VecDeque<Task>; 2],
    counts: Counts,
}

impl Analysis {
    fn new(sampling: Sampling) -> Self {
        let pairs = Some(Pairs { granularity: 64, capacity: 1 << 14, nearest: NEAREST });
        let granularities = GRANULARITIES.into();
        let config = Config { granularities, private: true, shared: false, pairs, sampling };
        let exact = Exact::new(&config).expect("a valid configuration");
        let top = TopStage::new(Tops::new(&config).expect("a valid configuration"));
        let stages = [Stage::private(exact), Stage::shared()];
        let (router, inputs, tasks) = Default::default();
        Self { router, inputs, top, stages, tasks, counts: Counts::new() }
    }

    /// The stage with this number processes at most this many tasks.
    fn work(&mut self, number: usize, most: usize) {
        for _ in 0..most {
            if !self.stages[number].has_begun() {
                return;
            }
            let Some(task) = self.tasks[number].pop_front() else { return };
            let counts = &mut self.counts;
            if let Some(exact) = self.stages[number].take(&task, Exact::work, |cells| add(counts, cells)) {
                assert_eq!(number, 0);
                self.stages[1].begin(exact);
            }
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Accesses(thread, domain, accesses, true) => {
                self.router.batch(*thread, *domain, &mut accesses.clone(), Nanos(0));
            }
            Step::Accesses(thread, domain, accesses, false) => {
                accesses.chunks(1).for_each(|one| self.router.accesses(*thread, *domain, one, Nanos(0)));
            }
            Step::End(thread) => self.router.ended(*thread),
            Step::Work(shared, most) => self.work(usize::from(*shared), *most),
            Step::Drain => {
                self.top.empty();
                let counts = &mut self.counts;
                self.stages.iter_mut().for_each(|stage| stage.drain(|cells| add(counts, cells)));
            }
        }
        // Only sometimes, so that sequences contain several threads.
        if let Step::Work(_, most) = step {
            self.answer(2 * most);
        }
    }

    /// The top processes at most this many inputs.
    fn answer(&mut self, most: usize) {
        self.inputs.extend(self.router.inputs().drain(..));
        for input in self.inputs.drain(..most.min(self.inputs.len())) {
            if let Some(sequence) = self.top.take(input, Tops::sequence) {
                self.router.give_back(sequence);
            }
        }
        let tasks = self.top.tasks();
        self.tasks[0].extend(tasks.private.drain(..));
        self.tasks[1].extend(tasks.shared.drain(..));
    }

    fn finish(mut self) -> Counts {
        self.answer(usize::MAX);
        self.top.empty();
        self.answer(0);
        (0..2).for_each(|number| self.work(number, usize::MAX));
        self.step(&Step::Drain);
        self.counts
    }
}

/// The reference's counts.
fn naive(steps: &[Step]) -> Counts {
    let mut naive: Vec<Naive> = [Scope::Private, Scope::Shared]
        .into_iter()
        .flat_map(|scope| GRANULARITIES.map(|bytes| Naive::new(scope, bytes, bytes == 64)))
        .collect();
    for step in steps {
        match step {
            Step::Accesses(thread, domain, accesses, _) => {
                for access in accesses {
                    naive.iter_mut().for_each(|naive| naive.access(*thread, *domain, access));
                }
            }
            Step::End(thread) => naive.iter_mut().for_each(|naive| naive.end(*thread)),
            Step::Work(..) | Step::Drain => {}
        }
    }
    nearer_together(naive.into_iter().flat_map(|naive| naive.counts).collect(), NEAREST)
}

fn run(steps: &[Step], sampling: Sampling) -> Counts {
    let mut analysis = Analysis::new(sampling);
    steps.iter().for_each(|step| analysis.step(step));
    analysis.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// One thread for a while, then several: the shared caches are made from a private one, at any time.
    #[test]
    fn equal_the_naive_one(
        alone in prop::collection::vec(step(3000, 1), 0..30),
        together in prop::collection::vec(step(3000, 4), 0..60),
    ) {
        let steps = [alone, together].concat();
        prop_assert_eq!(run(&steps, Sampling::All), naive(&steps));
    }

    /// While one thread is alone, its cache is the shared one up to the last access, also if no other thread comes.
    #[test]
    fn one_thread_is_counted_for_both(steps in prop::collection::vec(step(100_000, 1), 1..60)) {
        let private_as_shared: Counts = run(&steps, Sampling::Rate(1.0));
        prop_assert_eq!(private_as_shared, naive(&steps));
    }
}
