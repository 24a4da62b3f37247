//! Programs that do what translated code cannot follow: they go on natively as they would, and the report says so.

use std::process::Command;

use crate::support::{DENSE, Recorded, Report, carom, compare, compile, run, same_with};

/// Runs the program alone and under `carom count`, which must be the same, and returns the report.
fn counted(file: &str, arguments: &[&str]) -> Report {
    let program = compile(&format!("robust/{file}"), &["-ldl"]);
    let alone = run(Command::new(&program).args(arguments));
    assert_eq!(alone.code(), Some(0), "{file} {arguments:?}: {}", alone.complaint());
    let mut count = Recorded::by("count", &[], &program, arguments);
    let counted = count.run();
    compare(&count.command, &alone, &counted);
    count.report()
}

fn coverage(Report(report): &Report) -> f64 {
    report["count"]["coverage"]["fraction"].as_f64().expect("coverage")
}

#[test]
fn a_thread_may_use_gs_itself() {
    for how in ["null", "flat", "pop", "call", "base"] {
        let report = counted("own_gs.c", &[how]);
        assert!(coverage(&report) < 0.99, "{how}: {}", coverage(&report));
        let program = compile("robust/own_gs.c", &["-ldl"]);
        same_with(&DENSE, &program, &[how]);
        same_with(&["--engine", "translate", "--period", "1000"], &program, &[how]);
    }
}

#[test]
fn destructors_of_keys_are_counted() {
    /// Two instructions in each round of each destructor's loop.
    const KNOWN: u64 = 2 * 2 * 10_000_000;
    let report = counted("thread_data.c", &[]);
    let instructions = report.0["count"]["events"][0]["total"].as_u64().expect("instructions");
    assert!((KNOWN..KNOWN + KNOWN / 1000).contains(&instructions), "{instructions}");
}

#[test]
fn a_library_that_comes_where_another_was_is_the_one_that_runs() {
    let plugin = |number: u32| {
        let define = format!("-DNUMBER={number}");
        compile("robust/plugin.c", &["-shared", "-fPIC", &define]).to_string_lossy().into_owned()
    };
    counted("reloaded.c", &[&plugin(1), &plugin(2)]);
}

/// The agent has a function for this test, in builds like this one, that leads the calling thread out of the cache unbooked.
#[cfg(debug_assertions)]
#[test]
fn coverage_is_witnessed() {
    let report = counted("lost.c", &[]);
    let coverage = &report.0["count"]["coverage"];
    let part = |name: &str| coverage[name].as_f64().unwrap_or_else(|| panic!("{name}: {coverage}"));
    assert!(part("books") > 0.95, "nobody has told the books: {coverage}");
    assert!(part("witness") < 0.9 && part("fraction") == part("witness"), "{coverage}");
    assert!(report.warns("coverage") || report.verdict().contains("ran natively"), "{}", report.verdict());
    // It came back each time: what is computed is mostly counted.
    assert!(part("witness") > 0.5, "{coverage}");
}

/// Filters that forbid what carom needs, in one thread and in several.
const FORBIDDING: [&str; 5] = ["few", "handler", "threads", "all-threads", "strict"];

#[test]
fn a_filter_that_forbids_what_carom_needs_is_stepped_aside_for() {
    for how in FORBIDDING {
        let report = counted("filters.c", &[how]);
        assert!(report.warns("aside-seccomp"), "{how}");
        assert!(coverage(&report) < 0.9, "{how}: {}", coverage(&report));
        let program = compile("robust/filters.c", &["-ldl"]);
        for options in [&DENSE[..], &["--engine", "burst", "--delivery", "posix-timer"], &["--objects"]] {
            same_with(options, &program, &[how]);
        }
    }
}

#[test]
fn a_process_of_one_thread_waits_for_nobody_when_it_steps_aside() {
    assert!(counted("filters.c", &["alone"]).warns("aside-seccomp"));
}

#[test]
fn a_filter_that_allows_what_carom_needs_changes_nothing() {
    for how in ["most", "none"] {
        let report = counted("filters.c", &[how]);
        assert!(!report.warns("aside-seccomp"), "{how}");
        // Their witness looks every 10 ms, three times in so short a program: one look may find it outside of counted code.
        let coverage = &report.0["count"]["coverage"];
        assert!(coverage["books"].as_f64().is_some_and(|books| books > 0.9), "{how}: {coverage}");
        assert!(coverage["unbooked_ns"].as_u64().is_some_and(|ns| ns <= 10_000_000), "{how}: {coverage}");
    }
}

#[test]
fn a_program_that_a_filtered_child_executes_runs_without_the_agent() {
    counted("filters.c", &["child"]);
    same_with(&DENSE, &compile("robust/filters.c", &["-ldl"]), &["child"]);
}

#[test]
fn a_program_that_cannot_see_the_agent_runs_without_it() {
    let dir = carom().parent().expect("a folder").to_string_lossy();
    let program = compile("robust/hidden.c", &[]);
    let alone = run(Command::new(&program).arg(&*dir));
    if !String::from_utf8_lossy(&alone.stdout).starts_with("hidden") {
        return eprintln!("skipped: root: this user cannot hide a directory");
    }
    let report = counted("hidden.c", &[&dir]);
    assert!(report.warns("aside-program") && report.warns("unprofiled-children"));
    assert!(!report.warns("cut-short"));
    assert!(coverage(&report) < 0.9, "{}", coverage(&report));
    same_with(&DENSE, &program, &[&dir]);
}

#[test]
fn what_looks_into_the_process_finds_the_program_alone() {
    for (how, code) in
        [("dispatch", "dispatch"), ("elsewhere", "dispatch"), ("tsc", "tsc"), ("traced", "traced")]
    {
        let report = counted("looked_into.c", &[how]);
        assert!(report.warns(&format!("aside-{code}")), "{how}");
        assert!(coverage(&report) < 0.9, "{how}: {}", coverage(&report));
        let program = compile("robust/looked_into.c", &["-ldl"]);
        for options in [&DENSE[..], &["--engine", "burst"]] {
            same_with(options, &program, &[how]);
        }
    }
}
