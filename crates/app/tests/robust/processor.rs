//! What the processor and the kernel keep for each thread: control registers, flags, restartable sequences.

use crate::support::{Recorded, compare, compile, run, same};
use std::process::Command;

/// What stands between the program and each way to observe it.
const WAYS: [(&str, &[&str]); 5] = [
    ("count", &[]),
    ("share", &["--engine", "translate", "--period", "1000"]),
    ("share", &["--engine", "translate", "--period", "1000", "--watch", "software"]),
    ("reuse", &[]),
    ("reuse", &["--exact"]),
];

/// Runs the program alone and in all of these ways: output, errors and end must be the same.
fn keeps(file: &str) {
    let program = compile(&format!("robust/{file}"), &[]);
    let alone = run(&mut Command::new(&program));
    for (command, options) in WAYS {
        let mut recorded = Recorded::by(command, options, &program, &[]);
        let observed = recorded.run();
        compare(&recorded.command, &alone, &observed);
    }
}

#[test]
fn control_registers_and_flags_are_its_own() {
    keeps("float_traps.c");
    same("float_traps.c", &[]);
}

#[test]
fn restartable_sequences_stay_whole() {
    keeps("restartable.c");
}
