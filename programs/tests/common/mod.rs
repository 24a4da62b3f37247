//! Runs `carom-workloads` and reads what it prints.

use std::process::{Command, Output};

use serde_json::Value;

/// The binary under test.
pub const WORKLOADS: &str = env!("CARGO_BIN_EXE_carom-workloads");

/// Runs with the arguments, split at blanks.
pub fn run(arguments: &str) -> Output {
    Command::new(WORKLOADS).args(arguments.split_whitespace()).output().expect("the binary starts")
}

/// Runs with the arguments and parses the one object on stdout.
pub fn json(arguments: &str) -> Value {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{arguments}: {error}"))
}
