use carom_base::ThreadId;
use carom_study::share::{NotEnough, ThreadPair, Unit};

use carom_store::{Delivery, SampleMeans};

use crate::{
    model::{ProcessCoverage, RemedyKind},
    sample,
    share::report,
};

fn check(actual: &str, expect: &str) {
    assert_eq!(actual, expect);
}

#[test]
fn false_sharing_names_bytes_threads_and_object() {
    let (run, findings) = sample::two();
    check(
        &report(&run, &findings).verdict,
        "2 cache lines take 18% (±2) of thread time; 94% of the accesses there that follow another thread's write are false \
         sharing, most of it between worker-1 and worker-2 on `stats` (app.c:12): `stats.hits` against `stats.misses`.",
    );
}

#[test]
fn a_single_line_owns_all_of_it() {
    let (run, mut findings) = sample::two();
    findings.lines.truncate(1);
    sample::find_each(&mut findings);
    check(
        &report(&run, &findings).verdict,
        "1 cache line takes 18% (±2) of thread time; 96% of the accesses there that follow another thread's write are \
         false sharing between worker-1 and worker-2 on `stats` (app.c:12): `stats.hits` against `stats.misses`.",
    );
}

#[test]
fn true_sharing() {
    let (run, mut findings) = sample::two();
    findings.lines.remove(0);
    sample::find_each(&mut findings);
    findings.false_fraction = Some(sample::estimate(0.03, 0.02));
    findings.contended_share = sample::estimate(0.015, 0.006);
    check(
        &report(&run, &findings).verdict,
        "1 cache line takes 1.5% (±0.6) of thread time; 100% of the accesses there that follow another thread's write are \
         true sharing between app and worker-1 on `stop` (app.c:14), bytes 0-3.",
    );
}

#[test]
fn names_that_are_missing_are_told_in_the_first_sentence() {
    let (run, mut findings) = sample::two();
    for frame in findings.lines.iter_mut().flat_map(|line| &mut line.sites).flat_map(|site| &mut site.frames)
    {
        frame.file = None;
    }
    let report = report(&run, &findings);
    assert!(report.verdict.contains("94% of the accesses"), "{}", report.verdict);
    assert!(
        report.verdict.ends_with(
            "`stats.misses`; app has no debug information: compile it with -g, and do not strip it, to see source lines, \
             variables and fields."
        ),
        "{}",
        report.verdict
    );
    let text = crate::text::render(&report, &crate::text::Options::default());
    assert_eq!(text.matches("compile it").count(), 1, "{text}");
}

/// Not only of the line with the largest share.
#[test]
fn threads_of_all_lines_with_many_events_are_named() {
    let (run, mut findings) = sample::two();
    findings.objects.truncate(1);
    findings.objects[0].lines = vec![0, 1];
    findings.lines[1].events = findings.lines[0].events;
    let verdict = report(&run, &findings).verdict;
    assert!(verdict.contains("among app, worker-1 and worker-2 on `stats`"), "{verdict}");
    findings.lines[1].events = findings.lines[0].events / 5;
    let verdict = report(&run, &findings).verdict;
    assert!(verdict.contains("between worker-1 and worker-2 on `stats`"), "{verdict}");
}

#[test]
fn mixed_sharing_of_accesses() {
    let (mut run, mut findings) = sample::eight();
    (run.engine.load_period, run.engine.store_period) = (1_000_003, 1_000_003);
    run.engine.sample_means = SampleMeans::Accesses;
    findings.unit = Unit::Accesses;
    check(
        &report(&run, &findings).verdict,
        "3 cache lines receive 34% (±1.8) of memory accesses; 63% of the accesses there that follow another thread's \
         write are false sharing, the rest true sharing, most of it among 6 threads on `calloc(64) in make_pool` \
         (pool.c:88).",
    );
}

/// Nobody says that none of it is false.
#[test]
fn what_is_spread_is_called_what_it_is() {
    let verdict = |true_sharing, false_sharing| {
        let (mut run, mut findings) = sample::eight();
        (run.engine.load_period, run.engine.store_period) = (1_000_003, 1_000_003);
        run.engine.sample_means = SampleMeans::Accesses;
        findings.unit = Unit::Accesses;
        let first = &mut findings.objects[0];
        (first.spread, first.following) = (true, Some(0.46));
        (first.true_sharing, first.false_sharing) = (true_sharing, false_sharing);
        report(&run, &findings).verdict
    };
    let ends = |verdict: String, end: &str| assert!(verdict.ends_with(end), "{verdict}");
    ends(verdict(9.0, 0.0), "or more; 100% of that is true sharing.");
    ends(verdict(1.0, 1.0), "or more; 50% of that is false sharing, the rest true sharing.");
    ends(verdict(0.0, 9.0), "or more; 100% of that is false sharing.");
}

/// Beside the advice that padding does not help, plain false sharing would be a riddle.
#[test]
fn false_sharing_that_padding_would_not_end_is_told_apart() {
    let (run, mut findings) = sample::eight();
    let alike = carom_study::share::Remedy::ShareLess { offset: 0, width: 8, handed: None, elements: true };
    findings.objects[0].remedy = alike;
    let verdict = report(&run, &findings).verdict;
    assert!(verdict.contains("are false sharing of neighbours that the same threads use, "), "{verdict}");
    findings.objects[0].false_sharing = 0.0;
    let verdict = report(&run, &findings).verdict;
    assert!(verdict.contains("are false sharing, the rest"), "{verdict}");
}

#[test]
fn nothing_found_states_what_would_have_shown_up() {
    // 7.35 expected samples of 3,180 are 0.23% of them, which is rounded up.
    let (run, _) = sample::two();
    check(
        &report(&run, &sample::nothing(3)).verdict,
        "No line was seen to bounce between threads in 3,180 samples; a line that one thread keeps writing while \
         another uses it, and that takes more than 0.3% of thread time, would have shown up.",
    );
    let mut alone = run;
    alone.threads.truncate(1);
    check(&report(&alone, &sample::nothing(1)).verdict, "The program has one thread: nothing can be shared.");
}

#[test]
fn nothing_was_found_where_something_was_looked_at() {
    let (mut run, _) = sample::two();
    let text = "Shared memory of a process (pid 7) outside of this recording was not compared.";
    run.warnings.push(crate::model::Warning { code: "shared-memory-not-compared".into(), text: text.into() });
    let verdict = report(&run, &sample::nothing(3)).verdict;
    assert!(verdict.starts_with("No line was seen to bounce") && verdict.ends_with(text), "{verdict}");
}

#[test]
fn a_few_events_on_many_samples_are_nothing() {
    let (run, _) = sample::two();
    let mut findings = sample::nothing(3);
    findings.quality.events = 2;
    findings.other_lines = 1;
    findings.not_enough = Some(NotEnough { events: 2, run_seconds: Some(60.0), moving: None });
    assert!(report(&run, &findings).verdict.starts_with(
        "No line was seen to bounce between threads more than once or twice in 3,180 samples; a line"
    ));
    // 7.35 of 300 samples is 2.5%: a line that matters may still hide.
    findings.quality.last_instruction = 300;
    assert!(report(&run, &findings).verdict.starts_with("Not enough data: 2 events"));
}

#[test]
fn the_pair_that_exchanges_nearly_all_is_named() {
    let (run, mut findings) = sample::eight();
    findings.lines[0].pair = Some(ThreadPair { first: ThreadId(2), second: ThreadId(5), fraction: 0.93 });
    let verdict = report(&run, &findings).verdict;
    assert!(verdict.contains("most of it between worker-2 and worker-5 on"), "{verdict}");
}

/// Samples have seen one of three threads that exchange the line.
#[test]
fn nobody_contends_alone() {
    let (run, mut findings) = sample::two();
    let line = &mut findings.lines[0];
    line.sites.retain(|site| site.thread.0 == 1);
    line.pair = Some(ThreadPair { first: ThreadId(1), second: ThreadId(2), fraction: 0.5 });
    let verdict = report(&run, &findings).verdict;
    assert!(verdict.contains(" between worker-1 and worker-2 on `stats` "), "{verdict}");
}

#[test]
fn not_enough_says_how_much_longer() {
    let (run, mut findings) = sample::two();
    findings.lines.iter_mut().for_each(|line| line.events = 12);
    sample::find_each(&mut findings);
    findings.false_fraction = None;
    findings.quality.events = 12;
    findings.not_enough = Some(NotEnough { events: 4, run_seconds: Some(10.05), moving: None });
    check(
        &report(&run, &findings).verdict,
        "Not enough data: 12 events of sharing in 4.0 s, and 30 are needed. Run for at least 11 s; so far `stats` \
         (app.c:12) leads.",
    );
    findings.lines.clear();
    sample::find_each(&mut findings);
    findings.quality.last_instruction = 0;
    findings.quality.events = 0;
    findings.not_enough = Some(NotEnough { events: 0, run_seconds: None, moving: None });
    check(
        &report(&run, &findings).verdict,
        "Not enough data: 0 events of sharing in 4.0 s, and 30 are needed. Run longer, or sample more often with \
         --budget or --period.",
    );
}

#[test]
fn few_events_give_no_advice() {
    let kind_with = |events| {
        let (run, mut findings) = sample::two();
        findings.lines.truncate(1);
        findings.lines[0].events = events;
        sample::find_each(&mut findings);
        findings.false_fraction = None;
        findings.not_enough = Some(NotEnough { events: 4, run_seconds: Some(10.05), moving: None });
        let share = report(&run, &findings).share.expect("a report on sharing");
        (share.findings[0].remedy.kind, share.lines[0].remedy.kind)
    };
    assert_eq!(kind_with(29), (RemedyKind::None, RemedyKind::None));
    assert_eq!(kind_with(30), (RemedyKind::Pad, RemedyKind::Pad));
}

/// Twelve accesses of a run of billions.
#[test]
fn what_costs_too_little_is_called_so() {
    let (run, mut findings) = sample::every_nth();
    findings.lines.truncate(1);
    findings.lines[0].events = 12;
    sample::find_each(&mut findings);
    findings.false_fraction = None;
    findings.quality.events = 12;
    let verdict = |findings: &carom_study::share::ShareFindings| report(&run, findings).verdict;
    let few = |moving| Some(NotEnough { events: 12, run_seconds: Some(10.05), moving });
    findings.not_enough = few(Some(0.004));
    check(
        &verdict(&findings),
        "Little is shared: 12 events of sharing in 4.0 s; `stats` (app.c:12) leads. Lines that move between cores take at \
         most 0.4% of the run, as modelled: there is nothing to gain.",
    );
    let share = report(&run, &findings).share.unwrap();
    assert_eq!([share.findings[0].remedy.kind, share.lines[0].remedy.kind], [RemedyKind::None; 2]);
    for moving in [None, Some(0.021)] {
        findings.not_enough = few(moving);
        assert!(verdict(&findings).starts_with("Not enough data"), "{moving:?}");
    }
    // A line of 1% may hide.
    findings.not_enough = few(Some(0.004));
    findings.quality.step = 700;
    assert!(verdict(&findings).starts_with("Not enough data"));
}

#[test]
fn few_samples_by_posix_timers_never_say_that_nothing_is_there() {
    let (mut run, _) = sample::two();
    run.engine.delivery = Delivery::PosixTimer;
    let mut findings = sample::nothing(3);
    for samples in [1, 29, 30, 300, 734] {
        findings.quality.last_instruction = samples;
        let report = report(&run, &findings);
        assert!(report.verdict.starts_with("Not enough data: 0 events"), "{samples}: {}", report.verdict);
        // 4.02 s brought these samples; a line of 1% takes 735.
        let seconds = report.share.unwrap().not_enough.unwrap().run_s.unwrap().0;
        assert!((seconds - 4.02 * 735.0 / samples as f64).abs() < 1e-6, "{samples}: {seconds}");
        // Nobody runs a program for minutes to fill a report.
        let advice = if seconds > 120.0 {
            "Sample more often with --budget or --period".to_owned()
        } else {
            format!("Run for at least {:.0} s, so that a line that takes 1%", seconds.ceil())
        };
        assert!(report.verdict.contains(&advice), "{}", report.verdict);
    }
    findings.quality.last_instruction = 736;
    assert!(report(&run, &findings).verdict.starts_with("No line was seen to bounce between threads in 736"));
}

#[test]
fn posix_timers_say_what_they_cost() {
    let (mut run, findings) = sample::two();
    run.engine.delivery = Delivery::PosixTimer;
    let verdict = report(&run, &findings).verdict;
    assert!(
        verdict.ends_with(
            "`stats.misses`. Sampled with POSIX timers and without watchpoints: coarse, and lines that bounce rarely are missed."
        ),
        "{verdict}"
    );
}

#[test]
fn sampled_accesses_say_what_their_number_rules_out() {
    let (run, mut findings) = sample::every_nth();
    check(
        &report(&run, &findings).verdict,
        "2 cache lines receive 18% (±2) of memory accesses; 94% of the accesses there that follow another thread's write \
         are false sharing, most of it between worker-1 and worker-2 on `stats` (app.c:12): `stats.hits` against \
         `stats.misses`.",
    );
    // 7.35 of 3,204 step samples are 0.23%; there are no others.
    let nothing = carom_study::share::ShareFindings {
        unit: Unit::Accesses,
        quality: carom_study::share::Quality { last_instruction: 0, ..sample::nothing(3).quality },
        ..sample::nothing(3)
    };
    check(
        &report(&run, &nothing).verdict,
        "No line was seen to bounce between threads in 3,204 samples; a line that one thread keeps writing while \
         another uses it, and that takes more than 0.3% of memory accesses, would have shown up.",
    );
    findings.lines.clear();
    sample::find_each(&mut findings);
    findings.quality.step = 0;
    findings.not_enough = Some(NotEnough { events: 0, run_seconds: None, moving: None });
    assert!(report(&run, &findings).verdict.starts_with("Not enough data"));
}

#[test]
fn accesses_without_watchpoints_say_what_that_costs() {
    let (mut run, findings) = sample::every_nth();
    assert!(report(&run, &findings).quality.warnings.is_empty());
    run.engine.watchpoints = 0;
    let report = report(&run, &findings);
    assert!(report.verdict.ends_with("Sampled without watchpoints: lines that bounce rarely are missed."));
    assert_eq!(report.quality.warnings[0].code, "no-watchpoints");
}

#[test]
fn little_coverage_is_a_warning() {
    let (run, findings) = sample::every_nth();
    let (_, mut counts) = sample::counted();
    let codes = |counts: &carom_study::count::CountFindings| {
        let mut report = report(&run, &findings);
        crate::count::add(&mut report, counts);
        assert!(report.count.is_some());
        report.quality.warnings.iter().map(|each| each.code.clone()).collect::<Vec<_>>()
    };
    // 99.987% of the sample's CPU time is covered.
    assert!(codes(&counts).is_empty());
    // 1.001 ms of a second: 99.8999%.
    counts.coverage.native_ns = 1_001_000;
    counts.coverage.translated_ns = 998_999_000;
    assert_eq!(codes(&counts), ["coverage"]);
}

#[test]
fn unprofiled_says_why() {
    let (mut run, _) = sample::two();
    run.processes[0].coverage =
        ProcessCoverage { profiled: false, reason: Some("./app is statically linked".into()) };
    let mut findings = sample::nothing(0);
    findings.quality = Default::default();
    check(&report(&run, &findings).verdict, "Not profiled: ./app is statically linked.");
}

#[test]
fn a_clear_line_leads_even_where_fractions_must_wait() {
    let (run, mut findings) = sample::two();
    findings.lines.truncate(1);
    findings.lines[0].events = 700;
    sample::find_each(&mut findings);
    findings.false_fraction = None;
    findings.not_enough = Some(NotEnough { events: 13, run_seconds: Some(2.4), moving: None });
    let verdict = report(&run, &findings).verdict;
    assert!(
        verdict.starts_with("1 cache line takes 18% (±2) of thread time: false sharing between worker-1"),
        "{verdict}"
    );
    assert!(verdict.ends_with("take 30 events from samples of executed instructions, of which there are 13: run for at least 3 s."), "{verdict}");
}
