//! Children and successors.

use crate::support::{DENSE, compile, keeps, same, same_with};

#[test]
fn five_hundred_children() {
    let report = keeps("forks.c", &["500"]);
    // 500 alone, 50 from a program with threads and one with everything blocked, besides the program itself. The
    // children of vfork run no code of their own but _exit.
    assert_eq!(report.0["processes"].as_array().map(Vec::len), Some(552));
    assert!(!report.warns("cut-short"));
}

/// They have no session, and write nothing into that of their parent.
#[test]
fn children_by_clone_are_told() {
    for arguments in [&["100"][..], &["100", "files"]] {
        let program = compile("robust/clones.c", &[]);
        let report = same_with(&["--engine", "translate", "--period", "1000"], &program, arguments).1;
        assert!(report.warns("unprofiled-children") && !report.warns("garbage"), "{arguments:?}");
        same_with(&DENSE, &program, arguments);
    }
}

/// What they inherit of ours is not theirs to find, and what they set is in force.
#[test]
fn children_that_are_not_followed_have_their_own_handlers() {
    for kind in ["raw", "copy", "vfork", "shared", "by_hand"] {
        let program = compile("robust/handlers_of_children.c", &["-rdynamic", "-ldl"]);
        for options in [&["--engine", "translate", "--period", "1000"][..], &DENSE] {
            let ending = same_with(options, &program, &[kind]).0;
            assert_eq!(ending.code(), Some(0), "{kind}");
        }
    }
}

#[test]
fn the_parent_stays_sampled_after_fork() {
    // Two threads for 400 ms each: at 60 us between samples more than 10,000, and a tenth of them where handlers take so
    // long that they pause. Before the fork each has a millisecond: some dozens. Events, which need both threads to be
    // sampled, all lie behind it.
    let report = keeps("parent_goes_on.c", &[]);
    assert!(report.samples() > 300, "{} samples", report.samples());
    assert!(report.count("events") > 30, "{} events", report.count("events"));
}

#[test]
fn what_it_executes_is_followed() {
    let (ending, report) = same("execs.c", &["4"]);
    // Status 11 at last, one more for each of the two programs that waited for a child.
    assert_eq!(ending.code(), Some(13));
    assert_eq!(report.0["processes"].as_array().map(Vec::len), Some(5));
}
