//! System calls answer what they would answer natively, whatever they are given.

use std::process::Command;

use crate::support::{DENSE, Recorded, compare, compile, run};

/// Natively, from the code cache without and with samples, and under the other engine: the same.
fn keeps(file: &str) {
    let translate = ["--engine", "translate", "--period", "1000"];
    keeps_under(file, &[("count", &[]), ("share", &translate), ("share", &DENSE)]);
}

fn keeps_under(file: &str, commands: &[(&str, &[&str])]) {
    let program = compile(&format!("robust/{file}"), &[]);
    let alone = run(&mut Command::new(&program));
    assert_eq!(alone.code(), Some(0), "{file}: {}", alone.complaint());
    for (command, options) in commands {
        let mut recorded = Recorded::by(command, options, &program, &[]);
        let ending = recorded.run();
        compare(&recorded.command, &alone, &ending);
        recorded.report();
    }
}

#[test]
fn what_it_refuses_it_refuses_for_the_same_reason() {
    keeps("arguments.c");
}

#[test]
fn arguments_may_be_as_long() {
    keeps("long_arguments.c");
}

#[test]
fn a_thread_may_unmap_its_own_stack() {
    keeps("unmapped_stack.c");
}

#[test]
fn the_vdso_may_be_unmapped() {
    keeps("no_vdso.c");
}

#[test]
fn address_space_is_as_free() {
    keeps("room.c");
}

#[test]
fn counting_keeps_no_descriptor() {
    keeps_under("open_files.c", &[("count", &[])]);
}
