//! Programs whose counts are known to the unit: the comments of their assembly say what each instruction counts as, and
//! `counts.json` has the sums.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use serde_json::Value;

use crate::support::{Recorded, Report, compile};

pub const ITERATIONS: i64 = 100;
pub const THREADS: usize = 2;

/// Folder of the programs.
pub const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/targets/counts");

/// Counts by event.
pub type Counts = BTreeMap<String, i64>;

/// What each thread of a program counts, by the program's name; without those that this processor cannot run.
pub fn known() -> BTreeMap<String, Counts> {
    let json = fs::read(Path::new(SOURCES).join("counts.json")).expect("counts.json");
    let tables: Value = serde_json::from_slice(&json).expect("JSON");
    let info = fs::read_to_string("/proc/cpuinfo").expect("/proc/cpuinfo");
    let flags = info.lines().find(|line| line.starts_with("flags")).expect("flags");
    let mut known = BTreeMap::new();
    for (name, table) in tables.as_object().expect("tables") {
        let mut needs = table["needs"].as_array().expect("flags").iter().filter_map(Value::as_str);
        if let Some(missing) = needs.find(|need| !flags.split(' ').any(|flag| flag == *need)) {
            eprintln!("skipped: processor: {name} needs {missing}");
            continue;
        }
        let number = |table: &Value| table.as_i64().expect("a number");
        let once = table["once"].as_object().expect("counts");
        let counts = once
            .iter()
            .map(|(event, once)| (event.clone(), number(once) + ITERATIONS * number(&table["each"][event])));
        known.insert(name.clone(), counts.collect());
    }
    known
}

/// What was counted in each thread.
fn counted(flags: &[&str], name: &str, arguments: &[&str]) -> Vec<Counts> {
    by_thread(&reported(&[], flags, name, arguments))
}

/// The report of `carom count` with these options.
fn reported(options: &[&str], flags: &[&str], name: &str, arguments: &[&str]) -> Report {
    let iterations = format!("-DITERATIONS={ITERATIONS}");
    let flags: Vec<&str> = flags.iter().copied().chain([iterations.as_str()]).collect();
    let program = compile(&format!("counts/{name}.S"), &flags);
    let mut count = Recorded::by("count", options, &program, arguments);
    let ending = count.run();
    assert_eq!(ending.code(), Some(0), "{name}: {}", ending.complaint());
    count.report()
}

fn by_thread(Report(report): &Report) -> Vec<Counts> {
    let events = report["count"]["events"].as_array().expect("events");
    let threads = report["threads"].as_array().expect("threads").len();
    let of_thread = |thread: usize| {
        let count = |event: &Value| {
            let name = event["name"].as_str().expect("a name").replace('-', "_");
            (name, event["values"][thread].as_i64().unwrap_or(-1))
        };
        events.iter().map(count).collect()
    };
    (0..threads).map(of_thread).collect()
}

#[test]
fn every_event_is_counted_to_the_unit() {
    let known = known();
    assert!(known.len() > 5, "{:?}", known.keys());
    for (name, expected) in &known {
        assert_eq!(counted(&[], name, &[]), std::slice::from_ref(expected), "{name}");
    }
}

#[test]
fn every_event_of_every_thread_is() {
    let threads_c = format!("{SOURCES}/threads.c");
    for (name, expected) in &known() {
        let found = counted(&[&threads_c, "-DTHREADS"], name, &[&THREADS.to_string()]);
        // The first thread makes the others, with the help of the C library, whose counts nobody knows.
        assert_eq!(found.get(1..), Some(vec![expected.clone(); THREADS].as_slice()), "{name}");
    }
}

/// Right below the stack there is no room for counters beside the code, so that they are named in another way.
#[test]
fn code_right_below_the_stack_is_counted() {
    let flags = [
        "-pie",
        "-Wl,-no-pie,--no-relax,-Ttext-segment=0x7fff00000000",
        &format!("-DITERATIONS={ITERATIONS}"),
    ];
    for (name, expected) in &known() {
        let program = compile(&format!("counts/{name}.S"), &flags);
        let mut count = Recorded::by("count", &[], &program, &[]);
        // Without address space randomisation the stack is where it always is.
        let mut fixed = Command::new("setarch");
        fixed.arg("-R").arg(count.command.get_program()).args(count.command.get_args());
        count.command = fixed;
        let ending = count.run();
        assert_eq!(ending.code(), Some(0), "{name}: {}", ending.complaint());
        assert_eq!(by_thread(&count.report()), std::slice::from_ref(expected), "{name}");
    }
}

/// Accesses that are written down, added up or sampled for nobody are counted all the same.
#[test]
fn trials_count() {
    for trial in ["stream", "checksums", "samples"] {
        for (name, expected) in &known() {
            let report = reported(&["--trial", trial, "--trial-period", "100"], &[], name, &[]);
            assert_eq!(by_thread(&report), std::slice::from_ref(expected), "{name}");
        }
    }
}

#[test]
fn a_trial_of_translation_counts_nothing_and_says_so() {
    let report = reported(&["--trial", "translation"], &[], "memory", &[]);
    let all: i64 = by_thread(&report).iter().flat_map(Counts::values).sum();
    assert_eq!(all, 0);
    assert!(report.warns("trial"));
    let coverage = &report.0["count"]["coverage"]["fraction"];
    assert!(coverage.as_f64().expect("a fraction") > 0.5, "it was translated: {coverage}");
}

/// Its handlers run when their signals are released, or leave the call that does so: six rounds of 6 million instructions, and
/// little else.
#[test]
fn handlers_of_released_signals_are_counted() {
    const ROUNDS: i64 = 36_000_000;
    let program = compile("robust/released.c", &[]);
    let mut count = Recorded::by("count", &[], &program, &[]);
    let ending = count.run();
    assert_eq!(ending.code(), Some(0), "{}", ending.complaint());
    let counts = by_thread(&count.report());
    let instructions = counts[0]["instructions"];
    assert!((ROUNDS..ROUNDS + 100_000).contains(&instructions), "{instructions}");
}
