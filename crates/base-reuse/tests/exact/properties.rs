//! Random traces of several threads in several domains, at every granularity at once.

use carom_base::{Access, AccessKind, Addr, Ip, ReuseCell, Scope, ThreadId};
use carom_base_reuse::exact::{Config, Domain, Exact, Pairs, Sampling};
use proptest::prelude::*;

use super::naive::{Counted, Counts, Naive, add, nearer_together};

const GRANULARITIES: [u32; 5] = [1, 8, 64, 128, 4096];

#[derive(Clone, Debug)]
enum Step {
    Accesses(ThreadId, Domain, Vec<Access>),
    Drain(ThreadId),
    End(ThreadId),
}

/// Within this many bytes, by this many threads.
fn step(bytes: u64, threads: u32, most: usize) -> impl Strategy<Value = Step> {
    let width = prop::sample::select(vec![1u32, 2, 4, 4, 8, 8, 8, 16, 32, 64, 100, 200]);
    let kind = prop::sample::select(vec![
        AccessKind::Load,
        AccessKind::Load,
        AccessKind::Store,
        AccessKind::ReadModifyWrite,
    ]);
    let addr = prop_oneof![0..bytes, (0..bytes / 8).prop_map(|word| word * 8)];
    let access = (0..6u64, addr, width, kind).prop_map(|(ip, addr, width, kind)| Access {
        ip: Ip(0x1000 + ip),
        addr: Addr(0x7fff_0000_0f00 + addr),
        width,
        kind,
    });
    let thread = (0..threads).prop_map(ThreadId);
    // A thread mostly stays in its domain.
    let placed = (thread.clone(), 0..9u32)
        .prop_map(|(thread, moved)| (thread, Domain(if moved == 0 { 7 } else { thread.0 % 2 })));
    prop_oneof![
        40 => (placed, prop::collection::vec(access, 1..most)).prop_map(|((t, d), a)| Step::Accesses(t, d, a)),
        1 => thread.clone().prop_map(Step::Drain),
        1 => thread.prop_map(Step::End),
    ]
}

/// Runs both and returns their counts.
fn run(steps: &[Step], granularities: &[u32], sampling: Sampling, pairs: Pairs) -> (Counts, Counts) {
    let config = Config {
        granularities: granularities.into(),
        private: true,
        shared: true,
        pairs: Some(pairs),
        sampling,
    };
    let mut exact = Exact::new(&config).expect("a valid configuration");
    let mut naive: Vec<Naive> = [Scope::Private, Scope::Shared]
        .into_iter()
        .flat_map(|scope| granularities.iter().map(move |bytes| Naive::new(scope, *bytes, *bytes == 64)))
        .collect();
    let mut counts = Counts::new();
    for step in steps {
        match step {
            Step::Accesses(thread, domain, accesses) => {
                exact.accesses(*thread, *domain, accesses);
                for access in accesses {
                    naive.iter_mut().for_each(|naive| naive.access(*thread, *domain, access));
                }
            }
            Step::Drain(thread) => add(&mut counts, &exact.drain(*thread)),
            Step::End(thread) => {
                add(&mut counts, &exact.end(*thread));
                naive.iter_mut().for_each(|naive| naive.end(*thread));
            }
        }
    }
    let threads: Vec<ThreadId> = exact.threads().collect();
    for thread in threads {
        add(&mut counts, &exact.end(thread));
    }
    let mut wanted = Counts::new();
    naive.into_iter().for_each(|naive| wanted.extend(naive.counts));
    (counts, nearer_together(wanted, pairs.nearest))
}

/// Pairs that all fit. Places that are nearer than the nearest pair may be in the top: none, a few, or as many as there is
/// room for.
fn pairs() -> impl Strategy<Value = Pairs> {
    prop::sample::select(vec![0, 8, 64]).prop_map(|nearest| Pairs {
        granularity: 64,
        capacity: 1 << 14,
        nearest,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// A few lines, so that threads meet all the time. Pairs fit.
    #[test]
    fn equals_the_naive_one_where_threads_collide(
        steps in prop::collection::vec(step(1500, 5, 12), 1..120),
        pairs in pairs(),
    ) {
        let (counts, wanted) = run(&steps, &GRANULARITIES, Sampling::All, pairs);
        prop_assert_eq!(counts, wanted);
    }

    /// SHARDS that follows all places is exact.
    #[test]
    fn equals_the_naive_one_at_a_rate_of_one(
        steps in prop::collection::vec(step(3000, 3, 12), 1..60),
        pairs in pairs(),
    ) {
        let (counts, wanted) = run(&steps, &GRANULARITIES, Sampling::Rate(1.0), pairs);
        prop_assert_eq!(counts, wanted);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5))]

    /// Many lines, so that tables grow, slots run out, and presence is crowded.
    #[test]
    fn equals_the_naive_one_where_there_are_many_places(
        steps in prop::collection::vec(step(1 << 18, 3, 200), 40..120),
        pairs in pairs(),
    ) {
        let (counts, wanted) = run(&steps, &[1, 64], Sampling::All, pairs);
        let whole = |counts: &Counts| -> Counts {
            counts.iter().filter(|(key, _)| key.pair.is_none()).map(|(key, counted)| (*key, *counted)).collect()
        };
        prop_assert_eq!(whole(&counts), whole(&wanted));
    }

    /// More threads than presence distinguishes.
    #[test]
    fn equals_the_naive_one_with_many_threads(
        steps in prop::collection::vec(step(600, 100, 6), 1..200),
        pairs in pairs(),
    ) {
        let (counts, wanted) = run(&steps, &[1, 64], Sampling::All, pairs);
        prop_assert_eq!(counts, wanted);
    }

    /// Where pairs do not fit, none is counted too often, and together with the rest, which has no address, they are
    /// complete.
    #[test]
    fn pairs_that_do_not_fit_are_counted_together(steps in prop::collection::vec(step(9000, 2, 40), 40..80)) {
        let pairs = Pairs { granularity: 64, capacity: 16, nearest: 0 };
        let (counts, wanted) = run(&steps, &[64], Sampling::All, pairs);
        let mut difference = Counts::new();
        for (key, Counted { count, .. }) in &wanted {
            let found = counts.get(key).map_or(0, |found| found.count);
            prop_assert!(found <= *count, "{key:?}: {found} of {count}");
            if key.pair.is_some() && found < *count {
                let rest = super::naive::Key { pair: Some(ReuseCell::REST), ..*key };
                difference.entry(rest).or_default().count += count - found;
            }
        }
        let rest: Counts = counts.into_iter().filter(|(key, _)| key.pair == Some(ReuseCell::REST)).collect();
        prop_assert_eq!(rest, difference);
    }
}
