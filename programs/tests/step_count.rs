//! `carom-step-count` against the programs of known counts, and those against it: neither knows of the other.

// clippy.toml allows it in test functions, but not in their helpers.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

/// Few: a step takes some microseconds, and one too many or too few shows after one iteration as after many.
const ITERATIONS: i64 = 20;
const THREADS: usize = 3;

/// The counts of one program, as `tally.py` writes them: a thread's are `once + ITERATIONS * each`.
#[derive(Deserialize)]
struct Table {
    /// Flags of `/proc/cpuinfo`.
    needs: Vec<String>,
    once: BTreeMap<String, i64>,
    each: BTreeMap<String, i64>,
}

impl Table {
    fn total(&self) -> BTreeMap<String, i64> {
        self.once.iter().map(|(event, once)| (event.clone(), once + ITERATIONS * self.each[event])).collect()
    }
}

/// Where the programs of known counts lie.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("targets/counts")
}

fn tables() -> BTreeMap<String, Table> {
    serde_json::from_slice(&fs::read(sources().join("counts.json")).unwrap()).unwrap()
}

/// Whether this processor can run the program; says so where not.
fn can_run(name: &str, table: &Table) -> bool {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap();
    let flags = info.lines().find(|line| line.starts_with("flags")).unwrap();
    let missing: Vec<_> =
        table.needs.iter().filter(|&need| !flags.split_whitespace().any(|flag| flag == need)).collect();
    if !missing.is_empty() {
        eprintln!("skipped: processor: {name} needs {missing:?}");
    }
    missing.is_empty()
}

fn compile(folder: &TempDir, sources_and_flags: &[&str]) -> PathBuf {
    let program = folder.path().join("program");
    let mut command = Command::new("cc");
    command.current_dir(sources()).arg(format!("-DITERATIONS={ITERATIONS}")).args(sources_and_flags);
    let status = command.args(["-pthread", "-o"]).arg(&program).status().expect("a C compiler");
    assert!(status.success(), "{sources_and_flags:?}");
    program
}

/// The report on a run that is to end with status 0.
fn step_count(folder: &TempDir, program: &Path, arguments: &[&str]) -> Value {
    let json = folder.path().join("counts.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_carom-step-count"));
    let output = command.arg("--json").arg(&json).arg(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_eq!(report["exit"]["code"], 0);
    report
}

fn counts(thread: &Value) -> BTreeMap<String, i64> {
    serde_json::from_value(thread["counts"].clone()).unwrap()
}

#[test]
fn stepping_agrees_with_the_tables_to_the_unit() {
    let folder = TempDir::new().unwrap();
    for (name, table) in tables().iter().filter(|(name, table)| can_run(name, table)) {
        let program = compile(&folder, &[&format!("{name}.S")]);
        let report = step_count(&folder, &program, &[]);
        let threads = report["threads"].as_array().unwrap();
        assert_eq!(threads.len(), 1);
        assert_eq!(counts(&threads[0]), table.total(), "{name}");
    }
}

#[test]
fn every_thread_is_counted_from_its_start_routine() {
    let folder = TempDir::new().unwrap();
    for (name, table) in tables().iter().filter(|(name, table)| can_run(name, table)) {
        let program = compile(&folder, &["-DTHREADS", &format!("{name}.S"), "threads.c"]);
        let report = step_count(&folder, &program, &[&THREADS.to_string()]);
        let threads = report["threads"].as_array().unwrap();
        assert_eq!(threads.len(), 1 + THREADS);
        for thread in &threads[1..] {
            assert_eq!(counts(thread), table.total(), "{name}");
        }
    }
}

#[test]
fn counting_goes_on_after_main_and_says_what_main_was() {
    let folder = TempDir::new().unwrap();
    let source = folder.path().join("source.S");
    // Two instructions, the second a return with its load. What `exit` does then is the C library's affair, but
    // it ends with a system call.
    fs::write(&source, ".globl main\n.text\nmain: xor %eax, %eax\n ret\n.section .note.GNU-stack\n").unwrap();
    let program = compile(&folder, &[source.to_str().unwrap()]);
    let report = step_count(&folder, &program, &[]);
    let thread = &report["threads"][0];
    let until_return = &thread["until_return"];
    let of_main = ["instructions", "loads", "stores", "loaded_bytes", "branches", "returns", "system_calls"];
    assert_eq!(of_main.map(|event| until_return[event].as_i64().unwrap()), [2, 1, 0, 8, 1, 1, 0]);
    let counts = counts(thread);
    assert!(counts["instructions"] > 2 && counts["system_calls"] >= 1, "{counts:?}");
}

#[test]
fn the_exit_status_is_the_programs() {
    let folder = TempDir::new().unwrap();
    let json = folder.path().join("counts.json");
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_carom-step-count"));
        command.arg("--json").arg(&json).args(words).output().unwrap().status.code()
    };
    assert_eq!(run(&["/bin/sh", "-c", "exit 7"]), Some(7));
    assert_eq!(run(&["/bin/sh", "-c", "kill -TERM $$"]), Some(128 + 15));
    assert_eq!(run(&["/no/such/program"]), Some(125));
}

#[test]
fn the_tables_are_what_the_comments_of_the_assembly_say() {
    let Ok(output) = Command::new("python3").arg(sources().join("tally.py")).arg("--check").output() else {
        return eprintln!("skipped: tool: python3 is not installed");
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
