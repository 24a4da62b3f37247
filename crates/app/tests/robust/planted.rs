//! Blocks are named by who allocated them.

use std::process::Command;

use crate::support::{Running, carom, compile, scratch};

/// Numbers that the program prints behind these words.
fn number(said: &str, word: &str) -> u64 {
    let behind = said.split_once(&format!("{word} ")).map_or("", |(_, behind)| behind);
    behind.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}

/// The program itself asks who has allocated each of its blocks, and compares the answer with backtrace(3).
#[test]
#[cfg_attr(not(debug_assertions), ignore = "only agents of debug builds answer")]
fn every_allocation_is_known_by_its_path() {
    for flags in [&["-O0"][..], &["-O2", "-fno-omit-frame-pointer"], &["-O2"]] {
        for (engine, threads) in [("translate", "4"), ("burst", "1")] {
            every_path_is_right(flags, engine, threads);
        }
    }
}

/// The same where operator new does not call malloc. An exception leaves it, too.
#[test]
#[cfg_attr(not(debug_assertions), ignore = "only agents of debug builds answer")]
fn an_allocator_may_have_operators_of_its_own() {
    let allocator = compile("robust/own_allocator.cpp", &["-shared", "-fPIC"]);
    let allocator = allocator.to_str().expect("a path of characters");
    every_path_is_right(&["-std=c++17", "-O2", allocator], "translate", "4");
}

fn every_path_is_right(flags: &[&str], engine: &str, threads: &str) {
    let program = compile("robust/planted.cpp", flags);
    let profile = scratch();
    let mut command = Command::new(carom());
    command.args(["share", "-q", "--objects", "--engine", engine, "-o"]).arg(profile.path().join("profile"));
    command.arg("--").arg(&program).args([threads, "8", "throw"]);
    let said = Running::start(&mut command).wait().complaint();
    let [compared, cut, unknown, wrong] =
        ["compared", "cut", "unknown", "wrong"].map(|word| number(&said, word));
    assert!(compared >= 8 * 420 && (unknown, wrong) == (0, 0), "{flags:?} {engine}: {said}");
    // Only of a recursion with ever new paths the outer frames are left out.
    assert!(cut * 20 < compared, "{flags:?} {engine}: {said}");
}
