//! Where perf_event_open is denied, as in a default container, and where it signals through its descriptor.

use std::process::Command;

use crate::support::{DENSE, Report, Share, carom, compare, compile, run};

/// Programs that do to signals, stacks, threads and processes what a guest in them must not disturb, with their arguments.
const HOSTILE: [(&str, &[&str]); 10] = [
    ("robust/trap_handlers.c", &[]),
    ("robust/alt_stack.c", &[]),
    ("robust/masks.c", &[]),
    ("robust/waits.c", &[]),
    ("robust/jumps.c", &[]),
    ("robust/cancel.c", &[]),
    ("robust/state.c", &[]),
    ("robust/forks.c", &["100"]),
    ("robust/many_threads.c", &["400", "200", "min"]),
    ("robust/execs.c", &["4"]),
];

/// Under a filter that answers perf_event_open with EPERM. Returns the profile and the report.
fn under_filter(options: &[&str], file: &str, arguments: &[&str]) -> (Share, Report) {
    let program = compile(file, &[]);
    let launcher = compile("robust/deny_perf.c", &[]);
    let alone = run(Command::new(&launcher).arg(&program).args(arguments));
    let mut share = Share::under("share", Some(&launcher), options, &program, arguments);
    let shared = share.run();
    compare(&share.command, &alone, &shared);
    let report = share.report();
    (share, report)
}

/// The same with dense samples by the burst engine. Returns the report.
fn denied(file: &str, arguments: &[&str]) -> Report {
    denied_share(file, arguments).1
}

/// The same, with the profile.
fn denied_share(file: &str, arguments: &[&str]) -> (Share, Report) {
    let (share, report) = under_filter(&DENSE, file, arguments);
    assert_eq!(report.delivery(), "posix-timer");
    assert_eq!(report.0["engine"]["watchpoints"], 0);
    (share, report)
}

#[test]
fn calls_are_not_interrupted_by_timers() {
    for _ in 0..3 {
        let report = denied("robust/no_eintr.c", &[]);
        assert!(report.samples() > 0);
    }
}

#[test]
fn the_report_says_what_denial_costs() {
    let report = denied("counters.c", &["30000000"]);
    let reason = report.0["engine"]["reason"].as_str().expect("engine.reason");
    assert!(reason.contains("perf_event_open"), "{reason}");
    assert!(report.verdict().contains("POSIX timers and without watchpoints"), "{}", report.verdict());
}

#[test]
fn few_samples_are_not_enough_and_never_nothing() {
    // 60 ms of two threads at no more than 1,000 samples a second: 120 samples, in threads that share nothing.
    let (share, few) = denied_share("robust/ends.c", &["return"]);
    let (events, samples) = (few.count("events"), few.samples());
    assert!(events < 30 && (1..=240).contains(&samples), "{events} events, {samples} samples");
    let verdict = few.verdict();
    assert!(verdict.starts_with("Not enough data"), "{verdict}");
    assert!(verdict.contains("Run for at least"), "{verdict}");
    assert!(!verdict.contains("No line was seen"), "{verdict}");
    assert!(verdict.contains("POSIX timers"), "{verdict}");
    let not_enough = &few.0["share"]["not_enough"];
    assert_eq!(not_enough["needed"], 30);
    // A line of 1% needs 735 last-instruction samples, many times what there are.
    let wall = few.0["program"]["wall_s"].as_f64().expect("program.wall_s");
    assert!(not_enough["run_s"].as_f64().expect("run_s") > 2.0 * wall, "{not_enough}");
    assert_eq!(few.0["share"]["false_fraction"], serde_json::Value::Null);
    // The report as text has no matrix at all, not one of dots.
    let text = run(Command::new(carom()).arg("report").arg(share.profile()));
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.starts_with("Not enough data"), "{text}");
    assert!(!text.contains("Who communicates"), "{text}");
}

#[test]
fn programs_are_the_same_without_perf_events() {
    for (file, arguments) in HOSTILE {
        denied(file, arguments);
    }
}

/// Code that is translated samples and watches by itself, without any perf event.
const TRANSLATED: [&str; 4] = ["--engine", "translate", "--period", "1000"];

/// Per thread 200 million increments, each a load and a store, one in eight of them shared: 20,000 samples, each of which
/// examines a write of the other thread if there is a new one. One in eight of those is to the shared line, which this
/// thread then touches at once: some 2,500 events where the two run side by side. Where they have to share a processor,
/// there is a new write in each of their 1,000 turns: some 125 events of each. Look-ups alone find one in eight of them.
#[test]
fn translated_code_watches_what_samples_miss() {
    let (_, report) = under_filter(&["--period", "20000"], "counters_apart.c", &[]);
    let engine = &report.0["engine"];
    assert_eq!(engine["name"], "translate");
    assert_eq!((&engine["watch"], &engine["watchpoints"]), (&"software".into(), &1.into()));
    let reason = engine["reason"].as_str().expect("engine.reason");
    assert!(reason.contains("in software") && reason.contains("perf_event_open"), "{reason}");
    assert!(
        !report.warns("no-watchpoints") && !report.verdict().contains("without watchpoints"),
        "{}",
        report.verdict()
    );
    let (events, traps) = (report.count("events"), report.count("watchpoint_traps"));
    assert!(traps >= 30 && traps >= events / 2, "{events} events, {traps} of them watched for");
    let line = &report.0["share"]["lines"][0];
    assert_eq!(line["object"]["name"], "stats", "{}", report.verdict());
    // Two counters, each of one thread.
    assert!(line["false"].as_f64() > Some(0.0) && line["true"] == 0.0, "{line}");
}

#[test]
fn registers_that_cannot_be_had_are_refused() {
    let launcher = compile("robust/deny_perf.c", &[]);
    let mut command = Command::new(launcher);
    command.arg(carom()).args(["share", "--engine", "translate", "--watch", "registers", "--", "true"]);
    let refused = run(&mut command);
    assert_eq!(refused.code(), Some(125));
    assert!(refused.complaint().contains("perf_event_open"), "{}", refused.complaint());
    assert!(refused.complaint().contains("watch in software"), "{}", refused.complaint());
}

#[test]
fn translated_programs_are_the_same_without_perf_events() {
    let more: [(&str, &[&str]); 4] = [
        ("robust/prof_timer.c", &[]),
        ("robust/no_eintr.c", &[]),
        ("robust/ends.c", &["main-leaves"]),
        ("robust/ends.c", &["segv"]),
    ];
    for (file, arguments) in HOSTILE.into_iter().chain(more) {
        let (_, report) = under_filter(&TRANSLATED, file, arguments);
        assert_eq!(report.0["engine"]["watch"], "software", "{file}");
    }
}

/// With F_SETSIG delivery. Returns the report.
fn setsig(file: &str, arguments: &[&str]) -> Report {
    let mut options = vec!["--delivery", "setsig"];
    options.extend(DENSE);
    let (_, report) = crate::support::same_with(&options, &compile(file, &[]), arguments);
    assert_eq!(report.delivery(), "setsig");
    report
}

#[test]
fn old_kernels_delivery_finds_sharing() {
    let report = setsig("counters.c", &["900000000"]);
    assert!(report.count("events") > 30, "{} events", report.count("events"));
    let lines = report.0["share"]["lines"].as_array().expect("share.lines");
    let first = lines.first().expect("a line");
    assert_eq!(first["object"]["name"], "stats", "{}", report.verdict());
    // Two counters, each of one thread: nothing but false sharing.
    assert!(report.0["share"]["false_fraction"]["estimate"].as_f64().expect("a fraction") > 0.9);
}

#[test]
fn old_kernels_delivery_leaves_programs_alone() {
    let more: [(&str, &[&str]); 1] = [("robust/no_eintr.c", &[])];
    for (file, arguments) in HOSTILE.into_iter().chain(more) {
        setsig(file, arguments);
    }
}
