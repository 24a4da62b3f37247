//! Nothing is waited for that another thread holds, which does not exist in a forked child, stands below a signal handler, or
//! cannot run.

use crate::support::{DENSE, compile, same_with};

/// By both engines, and with counts alone.
fn keeps(program: &std::path::Path, arguments: &[&str]) {
    for options in [&DENSE[..], &["--engine", "translate", "--period", "1000"], &["--engine", "translate"]] {
        let (ending, _) = same_with(options, program, arguments);
        assert_eq!(ending.code(), Some(0), "{arguments:?}: {}", ending.complaint());
    }
}

#[test]
fn a_child_needs_no_lock_of_the_loader() {
    keeps(&compile("robust/held.c", &[]), &["loader"]);
}

#[test]
fn handlers_fork_and_end_processes_whatever_they_interrupt() {
    keeps(&compile("robust/held.c", &[]), &["handler"]);
}

#[test]
fn urgent_threads_let_those_run_that_they_wait_for() {
    keeps(&compile("robust/held.c", &[]), &["priorities"]);
}

#[test]
fn a_call_that_waits_for_a_thread_of_the_program_lets_it_run() {
    keeps(&compile("robust/held.c", &[]), &["memory"]);
}

#[test]
fn handlers_before_a_fork_may_wait_for_threads_to_end() {
    let library = compile("robust/workers.c", &["-shared", "-fPIC", "-DLIBRARY"]);
    keeps(&compile("robust/workers.c", &[&library.to_string_lossy()]), &[]);
}
