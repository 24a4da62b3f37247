//! Variables on a thread's stack and thread-local ones are found by name where other threads share them.

use crate::support::{DENSE, Recorded, compile};

/// The object of the worst finding, and the fields that its line has.
fn worst(source: &str, flags: &[&str], engine: &str) -> (serde_json::Value, String) {
    let program = compile(source, flags);
    let options = match engine {
        "burst" => [&["--engine", engine], &DENSE[..]].concat(),
        _ => vec!["--engine", engine, "--period", "50000"],
    };
    let mut recorded = Recorded::by("share", &options, &program, &["200000000"]);
    assert_eq!(recorded.run().code(), Some(0), "{source}");
    let report = recorded.report();
    (report.0["share"]["findings"][0]["object"].clone(), report.0["share"]["lines"][0].to_string())
}

#[test]
fn variables_of_frames_that_wait_for_threads() {
    for engine in ["translate", "burst"] {
        for flags in [["-O0"], ["-O2"]] {
            let (object, line) = worst("stack_share.c", &flags, engine);
            let name = object["name"].as_str().unwrap_or_default();
            assert!(name.starts_with("sums of main, on the stack of "), "{engine} {flags:?}: {object}");
            assert_eq!((&object["kind"], &object["size_bytes"]), (&"stack".into(), &64.into()), "{object}");
            assert!(line.contains("sums[0]") && line.contains("sums[1]"), "{line}");
        }
    }
}

#[test]
fn variables_of_a_function_of_cpp() {
    for flags in [["-O0"], ["-O2"]] {
        let (object, line) = worst("robust/locals.cpp", &flags, "translate");
        let name = object["name"].as_str().unwrap_or_default();
        assert!(name.starts_with("results of gather, on the stack of "), "{flags:?}: {object}");
        assert!(line.contains("results[1].count"), "{line}");
    }
}

#[test]
fn thread_local_variables_of_the_program() {
    for flags in [["-O1"], ["-fPIC"]] {
        let (object, line) = worst("robust/thread_locals.c", &flags, "translate");
        let name = object["name"].as_str().unwrap_or_default();
        assert!(name.starts_with("tallies (thread-local) of "), "{flags:?}: {object}");
        assert!(line.contains("tallies[1]"), "{line}");
    }
}
