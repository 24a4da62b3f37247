//! Programs that do what translated code cannot follow: they go on natively as they would, and the report says so.

use std::process::Command;

use crate::support::{DENSE, Recorded, Report, compare, compile, run, same_with};

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
