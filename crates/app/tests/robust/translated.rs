//! The same programs, run from the code cache: with samples as dense as they can be, and with counts alone.

use crate::support::{compile, same_with};

/// One access in a thousand is sampled: far more than anybody wants, so every defect has many chances to show.
const DENSE: [&str; 4] = ["--engine", "translate", "--period", "1000"];

/// The same, and every access is looked up.
const WATCHING: [&str; 6] = ["--engine", "translate", "--period", "1000", "--watch", "software"];

fn keeps(file: &str, arguments: &[&str]) {
    let program = compile(&format!("robust/{file}"), &[]);
    for (options, watch) in [(&DENSE[..], "registers"), (&WATCHING, "software")] {
        let (_, report) = same_with(options, &program, arguments);
        let engine = &report.0["engine"];
        assert_eq!(
            (&engine["name"], &engine["watch"]),
            (&"translate".into(), &watch.into()),
            "{file} {arguments:?}"
        );
    }
}

#[test]
fn signals_masks_and_stacks_stay_its_own() {
    for (file, arguments) in [
        ("trap_handlers.c", &[][..]),
        ("trap_on_stack.c", &[]),
        ("trap_on_stack.c", &["own"]),
        ("early_handler.c", &[]),
        ("errno.c", &[]),
        ("prof_timer.c", &[]),
        ("alt_stack.c", &[]),
        ("masks.c", &[]),
        ("handler_stacks.c", &[]),
        ("handler_stacks.c", &["raw"]),
        ("preempted.c", &[]),
        ("fault_address.c", &[]),
        ("trap_blocked.c", &["raw"]),
        ("guarded_coroutine.c", &[]),
        ("single_steps.c", &[]),
        ("waits.c", &[]),
        ("waits_with_mask.c", &[]),
        ("jumps.c", &[]),
        ("state.c", &[]),
    ] {
        keeps(file, arguments);
    }
}

#[test]
fn signals_by_older_names_are_signals() {
    keeps("old_names.c", &[]);
}

#[test]
fn threads_come_go_and_are_cancelled() {
    keeps("cancel.c", &[]);
    keeps("exceptions.cpp", &[]);
    keeps("many_threads.c", &["1000", "8"]);
    keeps("many_threads.c", &["300", "300"]);
    keeps("many_threads.c", &["100", "50", "min"]);
}

#[test]
fn processes_fork_and_become_others() {
    keeps("forks.c", &["500"]);
    keeps("clone_tls.c", &[]);
    keeps("clones.c", &["2000", "files"]);
    keeps("parent_goes_on.c", &[]);
    keeps("execs.c", &["4"]);
}

#[test]
fn it_ends_as_it_would() {
    for how in [
        "return",
        "_exit",
        "quick_exit",
        "abort",
        "segv",
        "overflow",
        "kill",
        "term",
        "trap",
        "int3",
        "exit-in-thread",
        "main-leaves",
    ] {
        keeps("ends.c", &[how]);
    }
}

#[test]
fn its_descriptors_are_its_own() {
    for how in ["plain", "limit", "closefrom", "close_range"] {
        keeps("descriptors.c", &[how]);
    }
}
