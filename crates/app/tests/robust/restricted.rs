//! Programs that take the right to open files from themselves, or enter a root without /proc, and go on as before.

use std::process::Command;

use crate::support::{Recorded, compare, compile, run};

/// What it sorts in is code that is first translated afterwards: there must be room for it, which the mappings tell of.
#[test]
fn code_is_translated_where_files_can_no_longer_be_opened() {
    let program = compile("robust/restricted.c", &[]);
    for (how, facility) in [("landlock", "kernel"), ("root", "root")] {
        let alone = run(Command::new(&program).arg(how));
        if alone.code() == Some(77) {
            eprintln!("skipped: {facility}: {how} cannot be had");
            continue;
        }
        assert_eq!(alone.code(), Some(0), "{how}: {}", alone.complaint());
        for (command, options) in [("count", &[][..]), ("share", &["--engine", "translate"]), ("reuse", &[])]
        {
            let mut recorded = Recorded::by(command, options, &program, &[how]);
            let observed = recorded.run();
            compare(&recorded.command, &alone, &observed);
            if command == "count" {
                let coverage = &recorded.report().0["count"]["coverage"]["fraction"];
                // The child is not profiled: it cannot make files of ours.
                assert!(coverage.as_f64() > Some(0.9), "{how}: {coverage}");
            }
        }
    }
}
