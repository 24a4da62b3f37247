//! Do the estimates converge to the values that the simulated program has by construction?
//!
//! A standard error comes from 40 batches of consecutive events. The bound is four of them. Of the some 60
//! comparisons here one would exceed it by chance in one of a hundred choices of the seeds, which are fixed.

mod common;

use carom_base::{AccessKind, SharingEvent};
use carom_base_detect::{Config, Scheme, Watch};
use common::{Budget, Machine, Sampling, false_sharing, fraction, is_false};

const FRACTIONS: [f64; 7] = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0];

const TYPICAL: Machine<'static> = Machine {
    threads: 2,
    board: 127,
    config: Config { watch: Watch::Chunks(4), scheme: Scheme::Balanced },
    period: 50.0,
    sampling: Sampling::Jitter(0.1),
    seed: 1,
    budget: None,
    running: &|_| u64::MAX,
};

fn check_false_fraction(machine: &Machine<'_>, f: f64) {
    let events = machine.run(500_000 / machine.threads as u64, false_sharing(f));
    let (measured, error) = fraction(&events, is_false);
    let what = format!("{machine:?}: {measured:.3} +- {error:.4} of {} events for {f}", events.len());
    assert!(error < 0.03, "too few events to tell: {what}");
    // Where all sharing is of one class there is no error except rounding.
    assert!((measured - f).abs() <= 4.0 * error + 1e-9, "{what}");
}

#[test]
fn the_false_fraction_converges_for_every_fraction() {
    for threads in [2, 8] {
        for sampling in [Sampling::Random, Sampling::Jitter(0.1)] {
            for f in FRACTIONS {
                check_false_fraction(&Machine { threads, sampling, ..TYPICAL }, f);
            }
        }
    }
}

#[test]
fn the_false_fraction_does_not_depend_on_watchpoints_period_or_board() {
    // Boards of one slot, of fewer slots than threads, of the paper's size.
    for threads in [2, 8] {
        for watch in [Watch::Chunks(1), Watch::Chunks(2), Watch::Chunks(3), Watch::Line] {
            let config = Config { watch, ..TYPICAL.config };
            check_false_fraction(&Machine { threads, config, ..TYPICAL }, 0.25);
        }
        for period in [10.0, 100.0, 400.0] {
            check_false_fraction(&Machine { threads, period, ..TYPICAL }, 0.25);
        }
        for board in [1, 5, 17] {
            check_false_fraction(&Machine { threads, board, ..TYPICAL }, 0.25);
        }
    }
}

#[test]
fn the_false_fraction_survives_time_slicing() {
    // 8 threads on 2 processors: even and odd ones take turns of four periods, not in step.
    let running = |step: u64| (1 << (2 * (step / 200 % 4))) | (2 << (2 * (step / 220 % 4)));
    for f in [0.1, 0.25, 0.75] {
        check_false_fraction(&Machine { threads: 8, running: &running, ..TYPICAL }, f);
    }
}

/// A watchpoint that is set and hit costs 2, and there is a sample every 50 accesses, so the full price is .04 for
/// each access. A quarter and a tenth of that is allowed.
#[test]
fn the_false_fraction_does_not_depend_on_how_many_samples_may_watch() {
    for budget in [0.01, 0.004] {
        for watch in [Watch::Chunks(4), Watch::Line] {
            for f in [0.0, 0.1, 0.25, 0.75, 1.0] {
                let config = Config { watch, ..TYPICAL.config };
                let sampling = Sampling::Stratified;
                check_false_fraction(
                    &Machine { config, sampling, budget: Some(Budget(budget)), ..TYPICAL },
                    f,
                );
            }
        }
    }
}

/// The paper's rules push fractions toward one half. A fixme, kept as numbers: if these assertions fail, the crate's
/// documentation is out of date.
#[test]
fn the_papers_scheme_is_biased_toward_one_half() {
    let config = Config { watch: Watch::Chunks(4), scheme: Scheme::Paper };
    let check = |threads, sampling, f, expected: f64| {
        let machine = Machine { threads, sampling, config, ..TYPICAL };
        let (measured, error) = fraction(&machine.run(500_000 / threads as u64, false_sharing(f)), is_false);
        assert!((measured - expected).abs() < 0.02 + 4.0 * error, "{measured} for {f}");
        assert!((measured - f).abs() > 0.03);
    };
    check(2, Sampling::Random, 0.1, 0.18);
    check(2, Sampling::Random, 0.25, 0.33);
    check(2, Sampling::Jitter(0.1), 0.1, 0.26);
    check(2, Sampling::Jitter(0.1), 0.25, 0.39);
    check(8, Sampling::Random, 0.1, 0.15);
    check(8, Sampling::Jitter(0.3), 0.1, 0.27);
}

/// Without watchpoints half of the method is missing. A fixme, as above: these are the numbers in the documentation.
#[test]
fn look_ups_alone_are_nearly_right() {
    for threads in [2, 8] {
        for sampling in [Sampling::Random, Sampling::Jitter(0.3)] {
            for f in [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0] {
                let config = Config { watch: Watch::Nothing, ..TYPICAL.config };
                let machine = Machine { threads, sampling, config, ..TYPICAL };
                let (measured, error) =
                    fraction(&machine.run(300_000 / threads as u64, false_sharing(f)), is_false);
                assert!((measured - f).abs() < 0.04 + 4.0 * error, "{machine:?}: {measured} for {f}");
            }
        }
    }
}

fn volume<'a>(events: impl IntoIterator<Item = &'a SharingEvent>) -> f64 {
    events.into_iter().map(|event| f64::from(event.weight)).sum()
}

/// Listing 5.1: with probability f a store to the shared word, otherwise to one of 100 private lines. Every sample
/// examines one write of the other thread. That write is shared with probability f, and then this thread touches its
/// line before its next sample (the probability that 45 accesses all miss it is below 1% from f = 0.1 on). So the
/// volume is f per sample.
#[test]
fn volume_is_proportional_to_the_fraction_of_shared_accesses() {
    for f in [0.1, 0.2, 0.4, 0.7, 1.0] {
        let events = TYPICAL.run(400_000, |t, dice| {
            let private = 0x100_0000 * (t as u64 + 1) + 64 * dice.below(100) as u64;
            (if dice.unit() < f { 0x40 } else { private }, AccessKind::Store)
        });
        let samples = 2.0 * 400_000.0 / TYPICAL.period;
        let per_sample = volume(&events) / samples;
        // At most one event of weight 2 per sample: variance of a sum of n is at most 2 f n. The jitter of
        // one tenth leaves 1% of the samples without a write in between.
        let error = (2.0 * f / samples).sqrt();
        assert!((per_sample - f).abs() < 4.0 * error + 0.03 * f, "{per_sample} for {f}");
    }
}

/// The same with the watches and samples of translated code.
#[test]
fn the_false_fraction_converges_where_whole_lines_are_watched() {
    let config = Config { watch: Watch::Line, ..TYPICAL.config };
    for threads in [2, 8] {
        for f in FRACTIONS {
            check_false_fraction(&Machine { threads, sampling: Sampling::Stratified, config, ..TYPICAL }, f);
        }
    }
}

/// With probability f a store to any of the eight words of one line, otherwise to a private line. Each examined write
/// is shared with probability f, and this thread touches the line before its next sample (45 accesses in a row miss
/// it with probability 0.75^45). Watched as a whole, the line then counts once: f per sample. Four of its chunks trap
/// as reliably (0.875^45 = 0.2%) and count 2 each time, except where the sample itself is in the line, which counts
/// 1: f · (f + 2 (1 - f)). One pair in eight has the same word and is true sharing.
#[test]
fn a_line_touched_in_many_places_counts_once_where_it_is_watched_as_a_whole() {
    const F: f64 = 0.25;
    let run = |watch| {
        let machine = Machine { config: Config { watch, ..TYPICAL.config }, ..TYPICAL };
        let events = machine.run(400_000, |t, dice| {
            let private = 0x100_0000 * (t as u64 + 1);
            let shared = 0x40 + 8 * dice.below(8) as u64;
            (if dice.unit() < F { shared } else { private }, AccessKind::Store)
        });
        let samples = 2.0 * 400_000.0 / machine.period;
        let (is_true, error) = fraction(&events, |event| !is_false(event));
        assert!((is_true - 0.125).abs() < 4.0 * error, "{watch:?}: {is_true} +- {error}");
        volume(&events) / samples
    };
    // The standard error of a volume per sample of f is sqrt(f / 16,000) < 1%.
    let (whole, chunks) = (run(Watch::Line), run(Watch::Chunks(4)));
    assert!((whole - F).abs() < 0.02, "{whole}");
    assert!((chunks - F * (2.0 - F)).abs() < 0.03, "{chunks}");
}

/// Pairs (0,1) and (2,3) with sharing fractions 1 and 1/2, in steps of 20 us: samples every 1 ms, slices of 4 ms, 4
/// threads on 2 processors under four schedules and without slicing. Where each pair has a processor of its own, the
/// second pair's slices are 10% longer, so its threads meet 10% less often: 0.45, not 0.5.
#[test]
fn point_to_point_volume_lies_in_the_right_cells_in_the_right_ratio() {
    const SLICE: u64 = 200;
    let turn = |step: u64| step / SLICE % 2;
    // The second processor's slices are 10% longer, so that all phases occur.
    let other_turn = |step: u64| step / (SLICE + 20) % 2;
    let pairs_on_one_cpu = |step: u64| (1 << turn(step)) | (4 << other_turn(step));
    let pairs_on_two_cpus = |step: u64| (1 << (2 * turn(step))) | (2 << (2 * other_turn(step)));
    let gang = |step: u64| if turn(step) == 0 { 0b0011 } else { 0b1100 };
    let apart = |step: u64| if turn(step) == 0 { 0b0101 } else { 0b1010 };
    let schedules: [(&str, &dyn Fn(u64) -> u64); 5] = [
        ("four processors", &|_| u64::MAX),
        ("each pair on one processor", &pairs_on_one_cpu),
        ("each pair on two processors", &pairs_on_two_cpus),
        ("each pair at the same time", &gang),
        ("each pair never at the same time", &apart),
    ];
    for (name, running) in schedules {
        let run = |scheme, steps| {
            let config = Config { scheme, ..TYPICAL.config };
            let machine = Machine { threads: 4, running, config, ..TYPICAL };
            let events = machine.run(steps, |t, dice| {
                let (pair, private) = (0x10_0000 + 0x40 * (t as u64 / 2), 0x50_0000 + 0x100 * t as u64);
                (if t < 2 || dice.unit() < 0.5 { pair } else { private }, AccessKind::Store)
            });
            let group = |event: &SharingEvent| (event.earlier.thread.0 / 2, event.thread.0 / 2);
            assert!(events.iter().all(|event| group(event).0 == group(event).1), "only pairs share lines");
            // The second cell's fraction of both is 0.5 / 1.5; the batches give its standard error.
            let (second, error) = fraction(&events, |event| group(event).0 == 1);
            let ratio = second / (1.0 - second);
            println!(
                "{name}, {scheme:?}: {} events, ratio {ratio:.3}, second {second:.3} +- {error:.3}",
                events.len()
            );
            (ratio, second, error)
        };
        let (ratio, second, error) = run(Scheme::Balanced, 1_000_000);
        assert!(
            (second - 1.0 / 3.0).abs() < 4.0 * error + 0.02,
            "{name}: {ratio:.3}, {second:.3} +- {error:.3}"
        );
        assert!((ratio - 0.5).abs() < 0.15, "{name}: {ratio:.3}");
        // A fixme, as above: the paper's slots saturate.
        let (ratio, ..) = run(Scheme::Paper, 200_000);
        assert!((0.7..0.9).contains(&ratio), "{name}: {ratio:.3}");
    }
}

/// Four threads that share everything: no cell of the matrix may be preferred if the intervals vary a little. (With
/// exactly equal periods each thread would always see the one that is sampled before it.)
#[test]
fn all_to_all_fills_all_cells_alike() {
    let machine = Machine { threads: 4, ..TYPICAL };
    let events = machine.run(400_000, |_, _| (0x40, AccessKind::Store));
    for i in 0..4 {
        for j in (0..4).filter(|&j| j != i) {
            let cell = |event: &SharingEvent| (event.earlier.thread.0, event.thread.0) == (i, j);
            let (share, error) = fraction(&events, cell);
            // 12 cells.
            assert!((share - 1.0 / 12.0).abs() < 4.0 * error + 0.005, "{i} {j}: {share:.4} +- {error:.4}");
        }
    }
}

/// Listing 5.1 again: volume per sample over the fraction of shared accesses.
fn found_per_shared_access(machine: &Machine<'_>, f: f64) -> f64 {
    const STEPS: u64 = 200_000;
    let events = machine.run(STEPS, |t, dice| {
        let private = 0x100_0000 * (t as u64 + 1) + 64 * dice.below(100) as u64;
        (if dice.unit() < f { 0x40 } else { private }, AccessKind::Store)
    });
    volume(&events) * machine.period / (2.0 * STEPS as f64 * f)
}

/// Two threads with equal rates, each sampled once in every period of its own. Between two samples of one, at `u` and
/// `1 + v` periods, the other has a sample, except if its samples are at `a` and `1 + b` with `a < u` and `b > v`. That
/// is 1/2 · 1/2 of all cases, in which there is no new write to examine: three quarters of the shared accesses are
/// found. (Where intervals vary by a tenth nearly all are found, and where they are random one half: a factor for all
/// lines alike.)
#[test]
fn drawn_accesses_find_three_quarters_of_the_volume() {
    for f in [0.3, 0.6, 1.0] {
        let found = |sampling| found_per_shared_access(&Machine { sampling, ..TYPICAL }, f);
        let stratified = found(Sampling::Stratified);
        assert!((stratified - 0.75).abs() < 0.05, "{f}: {stratified}");
        assert!((found(Sampling::Random) - 0.5).abs() < 0.05, "{f}");
    }
}

/// The same where only some may watch. A period of 50 accesses earns 0.3, and a watchpoint that is set and hit costs
/// 2. Where every access is shared, some 15% of the 8000 samples of a run may watch, and what they find weighs more
/// in proportion. 1000 events give a standard error of 3%, and 16 runs one of 0.8%, of .75: the bound is more than
/// four of them.
#[test]
fn the_volume_does_not_depend_on_how_many_samples_may_watch() {
    let machine = Machine { sampling: Sampling::Stratified, ..TYPICAL };
    for f in [0.5, 1.0] {
        let all = found_per_shared_access(&machine, f);
        let runs = (0..16).map(|seed| {
            let some = Machine { budget: Some(Budget(0.006)), seed: 100 + seed, ..machine };
            found_per_shared_access(&some, f)
        });
        let mean = runs.sum::<f64>() / 16.0;
        assert!((mean - all).abs() < 0.03, "{f}: {mean} instead of {all}");
    }
}

/// Without watchpoints, as the warning of a report says: less than half is found, and less where more is shared. With
/// every access shared, a slot is taken for two store samples, and each entry is counted once: every fourth sample.
#[test]
fn look_ups_alone_find_less_than_half_of_the_volume() {
    let config = Config { watch: Watch::Nothing, ..TYPICAL.config };
    let found =
        |f| found_per_shared_access(&Machine { sampling: Sampling::Stratified, config, ..TYPICAL }, f);
    let volumes = [0.1, 0.3, 0.6, 1.0].map(found);
    assert!(volumes.is_sorted_by(|a, b| a > b) && volumes[0] < 0.5, "{volumes:?}");
    assert!((volumes[3] - 0.25).abs() < 0.03, "{volumes:?}");
}
