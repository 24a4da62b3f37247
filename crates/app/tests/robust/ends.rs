//! The ways in which a program can end.

use crate::support::same;

const SIGTRAP: i32 = 5;
const SIGABRT: i32 = 6;
const SIGKILL: i32 = 9;
const SIGSEGV: i32 = 11;
const SIGTERM: i32 = 15;

/// Ends by `how` with this status or, where negative, by this signal.
fn ends(how: &str, status: i32) {
    let (ending, report) = same("ends.c", &[how]);
    let expected = if status < 0 { (None, Some(-status)) } else { (Some(status), None) };
    assert_eq!((ending.code(), ending.signal()), expected, "{how}");
    // 60 ms of two threads at a sample every 60 us are 2,000, and a few dozen where traps are dear at the moment: then the
    // budget stretches the period. What matters is that the profile was kept.
    assert!(report.samples() > 20, "{how}: {} samples", report.samples());
    assert_eq!(report.warns("cut-short"), status < 0, "{how}");
    let exit = &report.0["program"]["exit"];
    let known = if status < 0 { exit["signal"].as_i64() } else { exit["code"].as_i64() };
    assert_eq!(known, Some(i64::from(status.abs())), "{how}: {exit}");
}

#[test]
fn orderly_ends_are_whole_recordings() {
    ends("return", 7);
    ends("_exit", 8);
    ends("_Exit", 9);
    ends("quick_exit", 10);
    ends("exit-in-thread", 1);
    ends("main-leaves", 1);
}

#[test]
fn deaths_keep_the_profile_and_say_so() {
    ends("abort", -SIGABRT);
    ends("segv", -SIGSEGV);
    ends("overflow", -SIGSEGV);
    ends("kill", -SIGKILL);
    ends("term", -SIGTERM);
}

#[test]
fn the_default_action_of_sigtrap_is_death() {
    ends("trap", -SIGTRAP);
    ends("trap-process", -SIGTRAP);
    ends("int3", -SIGTRAP);
    ends("int3-ignored", -SIGTRAP);
}
