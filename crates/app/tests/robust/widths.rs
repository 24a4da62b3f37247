//! `carom widths`, the example of `docs/adding-a-study.md`, on a program whose answer is known.

use std::process::Command;

use crate::support::{Recorded, carom, compare, compile, run};

/// The program makes 40 million accesses: half of them 8 bytes wide, a quarter 4 bytes, a quarter 1 byte. One in 1,000 is
/// sampled, of which a busy machine drops some: a share of 10,000 has a standard error of 0.5 percentage points.
#[test]
fn the_widths_are_those_of_the_program() {
    const ROUNDS: &str = "10000000";
    let program = compile("widths.c", &["-O2"]);
    let alone = run(Command::new(&program).arg(ROUNDS));
    let mut recorded = Recorded::by("widths", &["--period", "1000"], &program, &[ROUNDS]);
    let under = recorded.run();
    compare(&recorded.command, &alone, &under);
    let report = recorded.report().0;
    let share = |bytes: u64| {
        let widths = report["widths"]["by_width"].as_array().expect("widths");
        let found = widths.iter().find(|width| width["bytes"] == bytes);
        found.and_then(|width| width["share"].as_f64()).unwrap_or_default()
    };
    for (bytes, expected) in [(8, 0.5), (4, 0.25), (1, 0.25)] {
        assert!((share(bytes) - expected).abs() < 0.03, "{bytes}: {}", report["widths"]);
    }
    let number = |part: &str, name: &str| report[part][name].as_u64().expect("a number");
    let samples = number("widths", "samples") + number("quality", "dropped");
    assert!((39_000..41_000).contains(&samples), "{samples}");
}

#[test]
fn the_example_is_not_offered() {
    let output = |arguments: &[&str]| {
        let done = Command::new(carom()).args(arguments).output().expect("carom starts");
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    assert!(!output(&["--help"]).contains("widths"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(!output(&["completions", shell]).contains("widths"), "{shell}");
    }
    assert!(output(&["widths", "--help"]).contains("docs/adding-a-study.md"));
}
