//! The workloads that tell every access a sampler may meet.

// clippy.toml allows it in test functions, but not in their helpers.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;

use common::json;

/// `mov rax, [rdi]` and `add rdi, 8` are 3 and 4 bytes, the words 8.
#[test]
fn a_loop_lists_its_accesses() {
    let output = json("access-loop --accesses 3 --kind mixed --iterations 1000");
    let accesses = output["expected"]["accesses"].as_array().unwrap();
    let number = |key: &str, n: usize| {
        u64::from_str_radix(accesses[n][key].as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
    };
    assert_eq!(accesses.len(), 3);
    for n in 0..2 {
        assert_eq!(number("ip", n + 1) - number("ip", n), 7);
        assert_eq!(number("address", n + 1) - number("address", n), 8);
    }
    assert_eq!(["load", "store", "load"], [0, 1, 2].map(|n: usize| accesses[n]["kind"].as_str().unwrap()));
    assert!(accesses.iter().all(|access| access["count"] == 1000 && access["width"] == 8));
}

/// One gather of five lanes, and one copy of three words to behind them.
#[test]
fn lanes_and_iterations_are_of_one_instruction() {
    let listed = |arguments: &str| {
        let output = json(arguments);
        let accesses = output["expected"]["accesses"].as_array().unwrap().clone();
        let column = |key: &str| accesses.iter().map(|access| access[key].to_string()).collect::<Vec<_>>();
        (column("ip"), column("address"), column("kind"))
    };
    let (ips, addresses, kinds) = listed("access-loop --accesses 3 --kind copy --iterations 10");
    assert!(ips.iter().all(|ip| *ip == ips[0]));
    assert_eq!(addresses.iter().collect::<BTreeSet<_>>().len(), 6);
    assert_eq!(kinds.iter().filter(|kind| *kind == "\"store\"").count(), 3);
    if std::arch::is_x86_feature_detected!("avx2") {
        let (ips, addresses, kinds) = listed("access-loop --accesses 5 --kind gather --iterations 10");
        assert_eq!((ips.len(), addresses.iter().collect::<BTreeSet<_>>().len()), (5, 5));
        assert!(kinds.iter().all(|kind| kind == "\"load\""));
    }
}

/// 2^10 addresses, each in bytes of its own, by all of the 18 instructions.
#[test]
fn a_log_has_each_address_once() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("accesses.csv");
    let path = log.to_str().unwrap();
    let output = json(&format!("access-log --log {path} --addresses-log2 10 --passes 3"));
    assert_eq!(output["expected"]["accesses"], 3 * 1024);
    assert_eq!(output["expected"]["instructions"], 18);

    let text = std::fs::read_to_string(&log).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let column = |n: usize| rows.iter().map(|row| row[n]).collect::<BTreeSet<_>>();
    assert_eq!((rows.len(), column(1).len(), column(0).len()), (1024, 1024, 18));
    assert_eq!(column(3).into_iter().collect::<Vec<_>>(), ["load", "read-modify-write", "store"]);
    assert_eq!(column(4).into_iter().collect::<Vec<_>>(), ["3"]);
}
