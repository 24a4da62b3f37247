//! The workloads whose reuses, or whose false sharing between neighbours, are known.

// clippy.toml allows it in test functions, but not in their helpers.
#![allow(clippy::unwrap_used)]

mod common;

use common::{json, run};
use serde_json::Value;

fn address(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

fn sum(value: &Value) -> u64 {
    value.as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum()
}

#[test]
fn both_orders_of_a_product_have_the_checksum() {
    for size in [1, 7, 40] {
        for variant in ["naive", "tiled --tile 8", "tiled --tile 64", "tiled --tile 3 --repeat 2"] {
            let output = json(&format!("matmul --size {size} --variant {variant}"));
            assert_eq!(output["measured"]["checksum"], output["expected"]["checksum"], "{size} {variant}");
        }
    }
}

/// Rows of 512 doubles, and columns of 512 lines: 512 * (8 + 64) bytes lie between two accesses of a line of `b` in the
/// naive order, and all of `b`, 2 MiB, between two rows. Tiles of 32 bring the first down to 32 * 72, and most of the
/// second to a tile.
#[test]
fn the_reuse_that_does_not_fit_is_named() {
    let reuse = |variant: &str, carried_by: &str| {
        let expected = json(&format!("matmul --size 512 --tile 32 --variant {variant}"))["expected"].clone();
        let reuses = expected["reuses"].as_array().unwrap().clone();
        let found =
            reuses.iter().find(|reuse| reuse["object"] == "b" && reuse["carried_by"] == carried_by).unwrap();
        (found["bytes"].as_f64().unwrap(), found["share_of_loads"].as_f64().unwrap())
    };
    assert_eq!(reuse("naive", "j"), (512.0 * 72.0, 7.0 / 16.0));
    assert_eq!(reuse("naive", "i"), (512.0 * 512.0 * 8.0 + 2.0 * 512.0 * 8.0, 1.0 / 16.0));
    assert_eq!(reuse("tiled", "j"), (32.0 * 72.0, 7.0 / 16.0));
    assert_eq!(reuse("tiled", "i").1 + reuse("tiled", "i0").1, 1.0 / 16.0);
    assert_eq!(reuse("tiled", "i0").1, 1.0 / 16.0 / 32.0);
}

#[test]
fn a_hash_table_holds_what_was_inserted() {
    for arguments in ["", "--padded", "--threads 3 --buckets 10", "--threads 1 --buckets 1 --padded"] {
        let measured = json(&format!("hash-table --iterations 20000 {arguments}"))["measured"].clone();
        let (inserted, deleted) = (sum(&measured["inserted"]), sum(&measured["deleted"]));
        assert_eq!(inserted + deleted, sum(&measured["iterations"]), "{arguments}");
        assert_eq!(measured["entries"], inserted - deleted, "{arguments}");
        assert!(measured["operations_per_s"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn a_set_that_threads_share_holds_what_was_inserted() {
    for sync in ["spinlock", "mutex", "lock-free"] {
        for workload in ["hash-table --buckets 64", "linked-list --range 64"] {
            let arguments = format!("{workload} --sync {sync} --updates 40 --threads 3 --iterations 20000");
            let output = json(&arguments);
            let measured = &output["measured"];
            assert_eq!(measured["entries"], output["expected"]["entries"], "{arguments}");
            assert!(sum(&measured["inserted"]) > 0 && sum(&measured["found"]) > 0, "{arguments}");
        }
    }
}

#[test]
fn a_linked_list_counts_every_visit() {
    for arguments in ["", "--padded", "--threads 5 --nodes 1", "--threads 1 --nodes 100"] {
        let measured = json(&format!("linked-list --iterations 20000 {arguments}"))["measured"].clone();
        assert_eq!(measured["values"], sum(&measured["iterations"]), "{arguments}");
    }
}

/// Elements of 16 bytes, four to a line: 16 buckets in 4 lines, or 2 lists of 8 nodes in 4, or one more where the heap
/// does not begin them on a line. Padded, or alone, no line has two owners.
#[test]
fn planted_false_sharing_is_told_by_line_and_gone_when_padded() {
    for (workload, lines) in [("hash-table", 4..=4), ("linked-list", 4..=5)] {
        let expected =
            |arguments: &str| json(&format!("{workload} --iterations 10 {arguments}"))["expected"].clone();
        let shared = expected("");
        let found = shared["lines"].as_array().unwrap();
        assert!(lines.contains(&found.len()), "{workload}: {}", found.len());
        for line in found {
            assert_eq!(line["threads"], serde_json::json!([0, 1]));
            assert_eq!((address(&line["address"]) % 64, &line["sharing"]), (0, &"false".into()));
        }
        assert_eq!((&shared["false_fraction"], &shared["element_bytes"]), (&1.0.into(), &16.into()));
        let fields = shared["fields"].as_array().unwrap();
        assert_eq!(fields.iter().map(|field| field["bytes"].as_u64().unwrap()).sum::<u64>(), 16);
        for apart in ["--padded", "--threads 1"] {
            let expected = expected(apart);
            assert!(expected["lines"].as_array().unwrap().is_empty() && expected["false_fraction"].is_null());
        }
        assert_eq!(expected("--padded")["element_bytes"], 128);
    }
}

/// Who finds another's has been found by it, but for the first and the last: both meet each other as often. How often, the
/// machine decides: not at all where one is done before the other begins.
#[test]
fn alternation_knows_how_often_the_owner_changed() {
    let measured = |arguments: &str| json(&format!("alternation {arguments}"))["measured"].clone();
    let two = measured("--private 64,128 --writes 3 --shared-bytes 10 --iterations 20000");
    assert_eq!(two["sequence_writes"], serde_json::json!([60_000, 60_000]));
    assert_eq!(two["other_stores"], serde_json::json!([40_000, 40_000]));
    assert_eq!(two["private_accesses"], serde_json::json!([1_920_000, 1_920_000]));
    let met = sum(&two["alternations"]);
    assert_eq!(two["invalidations"], met);
    assert!(met <= 120_000, "{met}");
    let each: Vec<u64> =
        two["alternations"].as_array().unwrap().iter().map(|met| met.as_u64().unwrap()).collect();
    assert!(each[0].abs_diff(each[1]) <= 1, "{each:?}");
    let alone = measured("--threads 1 --iterations 1000");
    assert_eq!(
        (&alone["alternations"], &alone["alternated_fraction"]),
        (&serde_json::json!([0]), &0.0.into())
    );
}

/// A footprint of 64 KiB is 1024 lines. A stream of 10,240 accesses misses all in 63 KiB, and the first of each line, a
/// tenth, in 64 KiB. Random ones miss a half in 32 KiB, once that is full.
#[test]
fn patterns_miss_what_does_not_fit() {
    let ratios = |arguments: &str| -> Vec<f64> {
        let output = json(&format!("trace-pattern --bytes 64K --caches 32K,63K,64K,1M {arguments}"));
        assert_eq!(output["expected"]["lines"], 1024);
        let ratios = output["expected"]["miss_ratio"].as_array().unwrap();
        ratios.iter().map(|at| at["ratio"].as_f64().unwrap()).collect()
    };
    for pattern in ["stream", "chase"] {
        assert_eq!(ratios(&format!("--pattern {pattern} --accesses 10240")), [1.0, 1.0, 0.1, 0.1]);
    }
    let random = ratios("--pattern random --accesses 100000000 --threads 1");
    for (ratio, expected) in random.into_iter().zip([1.0 / 2.0, 1.0 / 64.0, 0.0, 0.0]) {
        // Filling 1024 places takes 1024 * 7.5 accesses, and at most 1024 misses, of 10^8.
        assert!((ratio - expected).abs() < 1e-4, "{ratio}, not {expected}");
    }
    let output = json("trace-pattern --pattern chase --bytes 100 --accesses 7 --threads 3");
    assert_eq!((&output["expected"]["lines"], &output["expected"]["stack_distance"]), (&2.into(), &1.into()));
    assert_eq!(output["measured"]["accesses"], serde_json::json!([7, 7, 7]));
}

#[test]
fn what_cannot_be_run_is_refused_with_a_reason() {
    let cases = [
        ("hash-table --threads 9 --buckets 8", "8 buckets for 9 threads"),
        ("trace-pattern --bytes 0", "not between 1 byte"),
        ("trace-pattern --bytes 1.5M", "not a number of bytes"),
        ("matmul --size 0", "0 is not in"),
        ("linked-list --nodes 0", "0 is not in"),
    ];
    for (arguments, reason) in cases {
        let output = run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments}");
        assert!(stderr.contains(reason), "{arguments}: {stderr}");
    }
}
