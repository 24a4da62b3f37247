//! The processor's state, and that of the heap.

use std::process::Command;

use crate::support::{Recorded, compare, compile, keeps, run};

#[test]
fn registers_flags_modes_and_errno_are_kept() {
    keeps("state.c", &[]);
}

/// Which data share a line depends on it. The agent looks for functions that a program may not have: of C++, of OpenMP.
#[test]
fn blocks_lie_where_they_lie_natively() {
    let commands: [(&str, &[&str]); 6] = [
        ("count", &[]),
        ("share", &["--engine", "translate"]),
        ("share", &["--engine", "burst"]),
        ("reuse", &[]),
        ("simulate", &[]),
        ("profile", &[]),
    ];
    for flags in [&[][..], &["-fopenmp"], &["-Wl,--no-as-needed", "-lstdc++"]] {
        let program = compile("robust/heap_layout.c", flags);
        let alone = run(&mut Command::new(&program));
        assert_eq!(alone.code(), Some(0), "{flags:?}: {}", alone.complaint());
        for (command, options) in commands {
            let mut recorded = Recorded::by(command, options, &program, &[]);
            let observed = recorded.run();
            compare(&recorded.command, &alone, &observed);
        }
    }
}
