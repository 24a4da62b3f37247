//! Are the results unbiased? Simulated, with seeds.

use carom_base::{AccessKind, Locality, ReuseEvent, ReuseOutcome, Scope};

use super::program::{Setup, Step, access, distances, load, run, truth};
use crate::sampled::random::Random;
use crate::sampled::*;

const PRIVATE_TEMPORAL: Odds = Odds { private_temporal: 1, ..Odds::NONE };

fn setup(replacement: Replacement, slots: usize, rate: f64, seed: u64) -> Setup {
    let config = Config { replacement, odds: PRIVATE_TEMPORAL, ..Config::default() };
    Setup { config, slots, rate, seed }
}

/// 32 samples of places that are never used again, many times: each is equally likely to be the one that is left.
fn survivors(replacement: Replacement, slots: usize, runs: u32) -> [u32; 32] {
    let trace: Vec<Step> = (0..32).map(|place| load(place * 64)).collect();
    let mut left = [0; 32];
    for seed in 0..runs {
        let (events, _) = run(setup(replacement, slots, 1.0, u64::from(seed)), &[0], &trace);
        for event in events.iter().filter(|event| event.outcome == ReuseOutcome::Ended) {
            left[event.earlier.time.0 as usize] += 1;
        }
    }
    left
}

/// The expectation is 8000 * slots / samples, its standard deviation at most the root of that: within five of them.
fn fair(left: &[u32], slots: u32) {
    let expected = 8000 * slots / left.len() as u32;
    let allowed = 5 * expected.isqrt();
    assert!(left.iter().all(|count| count.abs_diff(expected) < allowed), "{expected}: {left:?}");
}

#[test]
fn one_slot_is_fair_by_algorithm_2() {
    fair(&survivors(Replacement::Reservoir, 1, 8000), 1);
}

/// One of four slots is for the latest use, which is on trial; three are for all others.
#[test]
fn balanced_slots_are_fair() {
    fair(&survivors(Replacement::Balanced, 1, 8000), 1);
    let left = survivors(Replacement::Balanced, 4, 8000);
    assert_eq!(left[31], 8000);
    fair(&left[..31], 3);
}

/// With four slots, Algorithm 2 offers a sample to each in turn until one takes it. The last slot then gets samples
/// that three others have refused, so samples are no longer equally likely. This is asserted as it is, for the
/// record.
#[test]
fn four_slots_by_algorithm_2_are_less_so() {
    let left = survivors(Replacement::Reservoir, 4, 8000);
    assert_eq!(left.iter().sum::<u32>(), 4 * 8000);
    let (earliest, latest) = (left[4..12].iter().sum::<u32>(), left[24..].iter().sum::<u32>());
    assert!(latest > earliest + earliest / 20, "{left:?}");
}

/// Random places, the nearer ones more often: distances from 0 to tens of thousands.
fn mixture(accesses: usize, seed: u64) -> Vec<Step> {
    let mut random = Random::new(seed);
    let mut place = || match random.below(10) {
        0..4 => random.below(4),
        4..8 => 8 + random.below(50),
        _ => 1000 + random.below(500),
    };
    (0..accesses).map(|_| load(u64::from(place()) * 64)).collect()
}

/// The largest difference between the true and the found share of distances below any bound that is a power of two.
fn largest_difference(truth: &[u64], found: &[(u64, f64)]) -> f64 {
    let total: f64 = found.iter().map(|(_, weight)| weight).sum();
    let difference = |bound: u64| {
        let is = truth.partition_point(|distance| *distance < bound) as f64 / truth.len() as f64;
        let seen: f64 =
            found.iter().filter(|(distance, _)| *distance < bound).map(|(_, weight)| weight).sum();
        (is - seen / total).abs()
    };
    (0..24).map(|power| difference(1 << power)).fold(0.0, f64::max)
}

fn reused(events: &[ReuseEvent]) -> Vec<(u64, f64)> {
    let reused = events.iter().filter(|event| event.outcome == ReuseOutcome::Reused);
    reused.map(|event| (event.distance, f64::from(event.weight))).collect()
}

/// A fifth of the uses is reused after some 2500 accesses, when a hundred more have been sampled, and there are four
/// slots: few of these are watched to their ends.
#[test]
fn long_distances_are_found_in_proportion_with_four_slots() {
    let trace = mixture(100_000, 1);
    let truth = distances(&trace);
    let mut found = Vec::new();
    for seed in 0..4 {
        let (events, counts) = run(setup(Replacement::Balanced, 4, 0.04, seed), &[0], &trace);
        assert!(counts.replaced + counts.rejected > 1000, "{counts:?}");
        found.extend(reused(&events));
    }
    let difference = largest_difference(&truth, &found);
    assert!(difference < 0.04, "{difference} in {} reuses", found.len());
}

/// Half of the accesses go round a large array, as in a loop that streams: when one is reused, a thousand have been
/// sampled. Without trials these would fill all slots, and of the other half, reused at once, few would be found.
#[test]
fn what_is_reused_at_once_is_not_crowded_out() {
    let step = |index: u64| {
        load(if index.is_multiple_of(2) { index % 16 * 64 } else { (1000 + index % 20_000) * 64 })
    };
    let trace: Vec<_> = (0..100_000).map(step).collect();
    let near = |reach| {
        let setup = setup(Replacement::Balanced, 16, 0.05, 1);
        let config = Config { reach, ..setup.config };
        let found = reused(&run(Setup { config, ..setup }, &[0], &trace).0);
        let all: f64 = found.iter().map(|(_, weight)| weight).sum();
        let near: Vec<_> = found.iter().filter(|(distance, _)| *distance < 100).collect();
        (near.len(), near.iter().map(|(_, weight)| weight).sum::<f64>() / all)
    };
    let (on_trial, crowded_out) = (near(Reach::Line), near(Reach::Chunk));
    // Half of 5000 samples.
    assert!(on_trial.0 > 2300 && crowded_out.0 < 500, "{on_trial:?} {crowded_out:?}");
}

/// As above, with a slot for nearly all.
#[test]
fn with_many_slots_they_are_found_exactly() {
    let trace = mixture(100_000, 2);
    let (events, _) = run(setup(Replacement::Balanced, 64, 0.04, 1), &[0], &trace);
    let difference = largest_difference(&distances(&trace), &reused(&events));
    assert!(difference < 0.025, "{difference}");
}

/// Product-limit estimate (Kaplan and Meier, J. Am. Stat. Assoc. 53, 1958) from unweighted events: the share of
/// distances below each bound that is a power of two. A censored distance is a lower bound, not at risk at its own.
fn kaplan_meier(events: &[ReuseEvent]) -> Vec<f64> {
    let mut sorted: Vec<_> = events.iter().map(|event| (event.distance, event.later.is_some())).collect();
    sorted.sort_unstable();
    let mut survival = 1.0;
    let mut steps = Vec::new();
    for (index, (distance, reused)) in sorted.iter().enumerate() {
        if *reused {
            survival *= 1.0 - 1.0 / (sorted.len() - index) as f64;
        }
        steps.push((*distance, survival));
    }
    let below = |bound: u64| steps.iter().take_while(|(distance, _)| *distance < bound).last();
    (0..24).map(|power| 1.0 - below(1 << power).map_or(1.0, |(_, survival)| *survival)).collect()
}

/// In a program without phases Algorithm 2 is unbiased, too, if a replaced use counts as censored.
#[test]
fn algorithm_2_with_censored_observations_is_right_without_phases() {
    let trace = mixture(100_000, 3);
    let mut truth = distances(&trace);
    // As many uses are never reused as there are places: their distance is infinite.
    truth.resize(trace.len(), u64::MAX);
    let mut events = Vec::new();
    for seed in 0..4 {
        events.extend(run(setup(Replacement::Reservoir, 4, 0.04, seed), &[0], &trace).0);
    }
    for (power, share) in kaplan_meier(&events).into_iter().enumerate() {
        let is = truth.partition_point(|distance| *distance < 1 << power) as f64 / truth.len() as f64;
        assert!((share - is).abs() < 0.04, "below 2^{power}: {share}, not {is}");
    }
}

/// Four threads in two domains on a few hundred places, with four slots: for either cache and each locality, the
/// weights of uses that are reused near, reused far, invalidated and never reused have the right proportions.
#[test]
fn threads_and_invalidations_are_found_in_proportion() {
    const DOMAINS: [u32; 4] = [0, 0, 1, 1];
    let mut random = Random::new(9);
    let step = |random: &mut Random| {
        let thread = random.below(4) as usize;
        // Mostly its own places, near and far; one access in eight is to places that all share, and half of these
        // write.
        let (base, places, shared) = match random.below(8) {
            0 => (1 << 20, 200, true),
            1..4 => ((thread as u64) << 16, 400, false),
            _ => ((thread as u64) << 16, 8, false),
        };
        let kind = if shared && random.below(2) == 0 { AccessKind::Store } else { AccessKind::Load };
        Step { thread, access: access(base + u64::from(random.below(places)) * 8, 8, kind) }
    };
    let trace: Vec<_> = (0..8000).map(|_| step(&mut random)).collect();
    let class = |outcome, distance: u64| match outcome {
        ReuseOutcome::Reused => usize::from(distance >= 100),
        ReuseOutcome::Invalidated => 2,
        _ => 3,
    };
    let scopes = [Scope::Private, Scope::Shared];
    let localities = [Locality::Temporal, Locality::Spatial, Locality::Line];
    let mut is = [[[0.0; 4]; 3]; 2];
    for index in (0..trace.len()).step_by(5) {
        for scope in scopes {
            for locality in localities {
                let (outcome, distance) = truth(&DOMAINS, &trace, index, scope, locality);
                is[scope as usize][locality as usize][class(outcome, distance)] += 5.0 / trace.len() as f64;
            }
        }
    }
    const SEEDS: usize = 60;
    let mut found = vec![[[[0.0; 4]; 3]; 2]; SEEDS];
    for (seed, found) in found.iter_mut().enumerate() {
        let setup = Setup { config: Config::default(), slots: 4, rate: 0.05, seed: seed as u64 };
        let (events, counts) = run(setup, &DOMAINS, &trace);
        assert!(counts.replaced + counts.rejected > counts.samples / 4, "{counts:?}");
        for event in events {
            let share = f64::from(event.weight) / counts.samples as f64;
            found[event.scope as usize][event.locality as usize][class(event.outcome, event.distance)] +=
                share;
        }
    }
    for (scope, locality) in scopes.into_iter().flat_map(|scope| localities.map(|locality| (scope, locality)))
    {
        for class in 0..4 {
            let of = |shares: &[[[f64; 4]; 3]; 2]| shares[scope as usize][locality as usize][class];
            let mean = found.iter().map(of).sum::<f64>() / SEEDS as f64;
            let variance = found.iter().map(|found| (of(found) - mean).powi(2)).sum::<f64>() / SEEDS as f64;
            // The truth is computed for every fifth use, some 4000 in all.
            let error = (variance / SEEDS as f64 + of(&is) * (1.0 - of(&is)) / 4000.0).sqrt();
            let apart = (mean - of(&is)).abs();
            assert!(apart < 4.0 * error, "{scope:?} {locality:?} {class}: {mean}, not {} ({error})", of(&is));
            assert!(error < 0.05);
        }
    }
}
