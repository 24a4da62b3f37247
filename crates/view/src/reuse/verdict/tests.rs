use carom_study::reuse::ReuseFindings;

use crate::{RunInfo, model::ProcessCoverage, reuse, sample};

fn verdict((run, findings): (RunInfo, ReuseFindings)) -> String {
    reuse::report(&run, &findings).verdict
}

#[track_caller]
fn check(sample: (RunInfo, ReuseFindings), expect: &str) {
    assert_eq!(verdict(sample), expect);
}

/// Worker 2's 21% are nearly twice the 11% of all, so that it is named alone.
#[test]
fn who_misses_what_and_what_would_do() {
    check(
        sample::relaxed(),
        "At 1 MiB of private L2 worker-2 misses 21% of its accesses; 80% of them reuse `grid` between relax.c:40 and \
         relax.c:77 at 3.1 MiB. A cache of 4 MiB would remove 90% of the capacity misses.",
    );
}

#[test]
fn threads_that_miss_alike_are_named_together() {
    let (run, mut findings) = sample::relaxed();
    findings.fits[1].ratio = sample::estimate(0.12, 0.0);
    let text = verdict((run, findings));
    assert!(
        text.starts_with("At 1 MiB of private L2 the 3 threads miss 11% of their accesses; 80% of them"),
        "{text}"
    );
}

/// Worker 2 misses as often as before, but of a hundred accesses: none of the misses of all matter to it.
#[test]
fn a_thread_that_does_next_to_nothing_is_not_named_alone() {
    let (run, mut findings) = sample::relaxed();
    let thread = findings.fits[1].scope;
    for curve in findings.curves.iter_mut().filter(|curve| curve.scope == thread) {
        curve.accesses = 100.0;
    }
    let text = verdict((run, findings));
    assert!(text.starts_with("At 1 MiB of private L2 the 3 threads miss 11% of their accesses"), "{text}");
}

#[test]
fn a_model_is_named_with_its_band() {
    let text = verdict(sample::sampled_reuse());
    assert!(
        text.starts_with(
            "At 1 MiB of private L2 worker-2 misses 21% (±2) of its accesses, by StatStack; 80% of"
        ),
        "{text}"
    );
    assert!(text.contains(
        "In the shared cache 62% of the reuses by another thread after a write, 3% of all accesses, are false sharing of \
         `stats` (relax.c:14)."
    ));
    assert!(
        text.ends_with(
            "Fetching neighbouring lines is predicted to cost more than it brings: G = -0.35 s < 0."
        ),
        "{text}"
    );
}

#[test]
fn what_fits_is_no_problem() {
    let (run, mut findings) = sample::relaxed();
    findings.fits.truncate(1);
    findings.fits[0].ratio = sample::estimate(0.002, 0.0);
    check(
        (run, findings),
        "At 1 MiB of private L2 the 3 threads miss 0.2% of their accesses: what is reused fits.",
    );
}

#[test]
fn a_wide_band_is_no_all_clear() {
    let (run, mut findings) = sample::sampled_reuse();
    findings.fits.truncate(1);
    findings.fits[0].ratio = sample::estimate(0.002, 0.3);
    let text = verdict((run, findings));
    assert!(
        text.contains("miss 0.2% (±30) of their accesses, by StatStack; too few uses were followed"),
        "{text}"
    );
}

/// Worker 2's 21% may as well be 5%, less than the 11% of all.
#[test]
fn a_thread_of_which_little_is_known_is_not_named() {
    let (run, mut findings) = sample::sampled_reuse();
    findings.fits[1].ratio = sample::estimate(0.21, 0.16);
    let text = verdict((run, findings));
    assert!(text.starts_with("At 1 MiB of private L2 the 3 threads miss 11% (±2)"), "{text}");
}

#[test]
fn what_no_size_avoids_is_said() {
    let (run, mut findings) = sample::relaxed();
    findings.fits.truncate(1);
    findings.fits[0].ratio = sample::estimate(0.2, 0.0);
    findings.fits[0].compulsory = 0.19;
    check(
        (run, findings),
        "At 1 MiB of private L2 the 3 threads miss 20% of their accesses; 95% of them are first accesses or follow \
         another thread's write, which no size avoids.",
    );
}

#[test]
fn a_cache_that_the_machine_does_not_have() {
    let (run, mut findings) = sample::relaxed();
    findings.chosen_bytes = 3 << 20;
    let text = verdict((run, findings));
    assert!(text.starts_with("At 3 MiB worker-2 misses"), "{text}");
}

#[test]
fn too_little_data_says_how_long_to_run() {
    check(
        sample::hardly_reused(),
        "Not enough data: 12 uses were followed to their end in 4.0 s, and 100 are needed. Run for at least 34 s, or \
         sample more often with --period.",
    );
    let (run, mut findings) = sample::hardly_reused();
    findings.not_enough = Some(carom_study::reuse::NotEnough { seen: 1, run_seconds: Some(393.0) });
    let text = verdict((run, findings));
    assert!(text.ends_with("A longer run would not help: sample more often with --period."), "{text}");
    let (run, mut findings) = sample::hardly_reused();
    findings.not_enough = Some(carom_study::reuse::NotEnough { seen: 0, run_seconds: None });
    let text = verdict((run, findings));
    assert!(text.ends_with("are needed. Run longer, or sample more often with --period."), "{text}");
}

/// Sampling more often would not help where most samples are left out.
#[test]
fn where_the_budget_leaves_samples_out_it_is_named() {
    let (run, mut findings) = sample::hardly_reused();
    findings.quality.losses.counters.uses = 14;
    findings.quality.losses.counters.budget_skipped = 15;
    let text = verdict((run, findings));
    assert!(text.ends_with("Run for at least 34 s, or allow them more time with --budget."), "{text}");
}

/// False sharing in one access of a thousand is not worth a sentence, however large its part of what little is shared.
#[test]
fn a_line_that_hardly_moves_is_not_spoken_of() {
    let (run, mut findings) = sample::sampled_reuse();
    findings.false_sharing[0].share_of_accesses = 0.001;
    let text = verdict((run, findings));
    assert!(!text.contains("false sharing"), "{text}");
}

/// 4 ms of 7.8 s: half a thousandth.
#[test]
fn a_prediction_of_next_to_nothing_is_none() {
    let (run, mut findings) = sample::sampled_reuse();
    findings.prefetch.as_mut().unwrap().gain_s = 0.004;
    let text = verdict((run, findings));
    assert!(text.contains("is predicted to make next to no difference: G = +"), "{text}");
}

#[test]
fn an_exact_run_that_followed_nothing() {
    let (_, findings) = sample::hardly_reused();
    check(
        (sample::relaxed().0, findings),
        "Not enough data: 0 accesses were followed in 4.0 s, and 100 are needed.",
    );
}

/// 0.25 × 0.89 of 0.99 are below 3, and 0.75 × 0.89 more below 16: half is reached there.
#[test]
fn times_alone_tell_no_misses() {
    let (run, mut findings) = sample::relaxed();
    findings.fits.clear();
    findings.curves.retain(|curve| curve.miss_ratio.is_empty());
    findings.curves[0].unit = carom_study::reuse::Unit::Nanoseconds;
    check(
        (run, findings),
        "Half of the reuses come within 16 ns; what caches would miss cannot be told from that.",
    );
}

#[test]
fn an_unprofiled_program_is_said_first() {
    let (mut run, _) = sample::relaxed();
    run.processes[0].coverage = ProcessCoverage { profiled: false, reason: Some("setuid".into()) };
    check((run, ReuseFindings::default()), "Not profiled: setuid.");
}
