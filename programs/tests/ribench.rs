//! `ribench` against the tables of the thesis, and against its listing followed access by access.

// clippy.toml allows it in test functions, but not in their helpers.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::{BTreeMap, HashMap};

use common::{json, run};
use serde_json::Value;

/// Tables 6.5, 6.6 and 6.7: outer is 10 in all.
const TABLES: &str = "
    short-increasing a = 20, a1 = 1000, b = 20, b1 = 2000, c = 20, c1 = 4000, d = 20, d1 = 8000, e = 20, e1 = 16000, inv = 0
    short-decreasing a = 200, a1 = 1000, b = 60, b1 = 2000, c = 15, c1 = 4000, d = 4, d1 = 8000, e = 2, e1 = 16000, inv = 0
    short-bell a = 50, a1 = 1000, b = 40, b1 = 2000, c = 40, c1 = 4000, d = 10, d1 = 8000, e = 3, e1 = 16000, inv = 0
    short-multimodal a = 100, a1 = 1000, b = 30, b1 = 2000, c = 24, c1 = 4000, d = 8, d1 = 8000, e = 7, e1 = 16000, inv = 0
    long-increasing a = 10, a1 = 100000, b = 10, b1 = 200000, c = 10, c1 = 400000, d = 10, d1 = 800000, e = 10, e1 = 1600000, inv = 0
    long-decreasing a = 100, a1 = 100000, b = 30, b1 = 200000, c = 12, c1 = 400000, d = 5, d1 = 800000, e = 2, e1 = 1600000, inv = 0
    long-bell a = 50, a1 = 100000, b = 40, b1 = 200000, c = 40, c1 = 400000, d = 10, d1 = 800000, e = 3, e1 = 1600000, inv = 0
    long-multimodal a = 100, a1 = 100000, b = 30, b1 = 200000, c = 24, c1 = 400000, d = 8, d1 = 800000, e = 7, e1 = 1600000, inv = 0
    short-bell-1 a = 50, a1 = 1000, b = 40, b1 = 2000, c = 40, c1 = 4000, d = 10, d1 = 8000, e = 3, e1 = 16000, inv = 0
    short-bell-2 a = 50, a1 = 500, b = 40, b1 = 1500, c = 40, c1 = 3500, d = 10, d1 = 7500, e = 3, e1 = 15500, inv = 1000
    short-bell-3 a = 50, a1 = 0, b = 40, b1 = 1000, c = 40, c1 = 3000, d = 10, d1 = 7000, e = 3, e1 = 15000, inv = 2000
    long-bell-1 a = 50, a1 = 100000, b = 40, b1 = 200000, c = 40, c1 = 400000, d = 10, d1 = 800000, e = 3, e1 = 1600000, inv = 0
    long-bell-2 a = 50, a1 = 50000, b = 40, b1 = 150000, c = 40, c1 = 350000, d = 10, d1 = 750000, e = 3, e1 = 1550000, inv = 100000
    long-bell-3 a = 50, a1 = 0, b = 40, b1 = 100000, c = 40, c1 = 300000, d = 10, d1 = 700000, e = 3, e1 = 1500000, inv = 200000
    short-decreasing-1 a = 200, a1 = 1000, b = 60, b1 = 2000, c = 15, c1 = 4000, d = 4, d1 = 8000, e = 2, e1 = 16000, inv = 0
    short-decreasing-2 a = 200, a1 = 500, b = 60, b1 = 1500, c = 15, c1 = 3500, d = 4, d1 = 7500, e = 2, e1 = 15500, inv = 1000
    short-decreasing-3 a = 200, a1 = 0, b = 60, b1 = 1000, c = 15, c1 = 3000, d = 4, d1 = 7000, e = 2, e1 = 15000, inv = 2000
    long-decreasing-1 a = 200, a1 = 100000, b = 60, b1 = 200000, c = 15, c1 = 400000, d = 4, d1 = 800000, e = 2, e1 = 1600000, inv = 0
    long-decreasing-2 a = 200, a1 = 50000, b = 60, b1 = 150000, c = 15, c1 = 350000, d = 4, d1 = 750000, e = 2, e1 = 1550000, inv = 100000
    long-decreasing-3 a = 200, a1 = 0, b = 60, b1 = 100000, c = 15, c1 = 300000, d = 4, d1 = 700000, e = 2, e1 = 1500000, inv = 200000
";

#[test]
fn the_presets_are_those_of_the_tables() {
    let presets = json("ribench --list")["expected"]["presets"].as_array().unwrap().clone();
    let rows: Vec<&str> = TABLES.lines().map(str::trim).filter(|row| !row.is_empty()).collect();
    assert_eq!((presets.len(), rows.len()), (20, 20));
    for (preset, row) in presets.iter().zip(rows) {
        let (name, parameters) = row.split_once(' ').unwrap();
        assert_eq!(preset["name"], name);
        for parameter in parameters.split(", ") {
            let (key, value) = parameter.split_once(" = ").unwrap();
            assert_eq!(preset[key], value.parse::<u64>().unwrap(), "{name}: {key}");
        }
        assert_eq!((&preset["outer"], &preset["bin_ratio"]), (&10.into(), &2.into()));
        let start = if name.starts_with("short") { 1100 } else { 110_000 };
        assert_eq!(preset["bin_start"], start, "{name}");
    }
}

/// One run's parameters, as it prints them.
struct Run(Value);

impl Run {
    fn number(&self, key: &str) -> u64 {
        self.0[key].as_u64().unwrap()
    }
}

/// What the listing says, access by access.
#[derive(Default)]
struct Followed {
    /// How often each distance is met.
    reuses: BTreeMap<u64, u64>,
    /// Uses in which another thread's store comes first, and those of them that are accessed again.
    invalidated: u64,
    found: u64,
    uses: u64,
    /// Accesses of the first thread: loads and stores.
    loads: u64,
    stores: u64,
}

/// All threads do each pass over the shared array in turns, then each its own one.
fn follow(run: &Run) -> Followed {
    let threads = run.number("threads");
    let mut followed = Followed::default();
    // By thread, array and byte: the position of the last access, and whether another thread stored since.
    let mut last: HashMap<(u64, &str, u64), (u64, bool)> = HashMap::new();
    let mut position = vec![0_u64; threads as usize];
    for _ in 0..run.number("outer") {
        for array in ["a", "b", "c", "d", "e"] {
            for _ in 0..run.number(array) {
                let mut access = |thread: u64, array: &'static str, byte: u64, is_store: bool| {
                    let now = position[thread as usize];
                    position[thread as usize] += 1;
                    followed.uses += 1;
                    match last.insert((thread, array, byte), (now, false)) {
                        Some((_, true)) => followed.found += 1,
                        Some((then, false)) => *followed.reuses.entry(now - then - 1).or_default() += 1,
                        None => {}
                    }
                    for other in (0..threads).filter(|&other| array == "shared" && other != thread) {
                        if let Some((_, stored)) = last.get_mut(&(other, array, byte)) {
                            followed.invalidated += u64::from(!*stored);
                            *stored = true;
                        }
                    }
                    if thread == 0 {
                        *(if is_store { &mut followed.stores } else { &mut followed.loads }) += 1;
                    }
                };
                for thread in 0..threads {
                    (0..run.number("inv")).for_each(|k| access(thread, "shared", k, true));
                }
                for thread in 0..threads {
                    for k in (0..run.number(&format!("{array}1"))).step_by(2) {
                        access(thread, array, k, false);
                        access(thread, array, k + 1, true);
                    }
                }
            }
        }
    }
    followed
}

/// Sixteen runs of a few hundred or thousand accesses.
#[test]
fn what_is_expected_is_what_the_listing_does() {
    let mut runs = Vec::new();
    for threads in [1, 2, 3] {
        for loops in [
            "--outer 3 --a 5 --a1 10 --b 4 --b1 20 --c 4 --c1 40 --d 2 --d1 80 --e 3 --e1 160",
            "--outer 2 --a 1 --a1 6 --b 0 --b1 8 --c 3 --c1 0 --d 2 --d1 2 --e 1 --e1 12",
        ] {
            runs.push(format!("ribench {loops} --threads {threads} --inv 0"));
            runs.push(format!("ribench {loops} --threads {threads} --inv 7 --barrier --bin-start 12"));
        }
    }
    runs.push("ribench --preset short-bell-2 --outer 1 --barrier --pin".to_owned());
    for arguments in runs {
        let output = json(&arguments);
        let followed = follow(&Run(output["parameters"].clone()));
        let expected = &output["expected"];
        assert_eq!(expected["uses"], followed.uses, "{arguments}");

        // Each distance once, in the bin where it belongs.
        let all: u64 = followed.reuses.values().sum();
        let mut listed = BTreeMap::new();
        for bin in expected["histogram"].as_array().unwrap() {
            let (low, high) = (bin["low"].as_u64().unwrap(), bin["high"].as_u64().unwrap());
            assert!(low == 0 || high == 2 * low);
            let mut count = 0;
            for distance in bin["distances"].as_array().unwrap() {
                let number = distance["distance"].as_u64().unwrap();
                assert!((low..high).contains(&number), "{arguments}");
                assert_eq!(distance["thesis_distance"], number + 1);
                assert_eq!(listed.insert(number, distance["count"].as_u64().unwrap()), None);
                count += distance["count"].as_u64().unwrap();
            }
            assert_eq!(bin["count"], count);
            assert!((bin["fraction"].as_f64().unwrap() - count as f64 / all as f64).abs() < 1e-12);
        }
        assert_eq!(listed, followed.reuses, "{arguments}");

        let invalidated = &expected["invalidated"];
        assert_eq!(invalidated["count"], followed.invalidated, "{arguments}");
        assert_eq!(invalidated["found_by_an_access"], followed.found, "{arguments}");
        let fraction = followed.invalidated as f64 / followed.uses as f64;
        assert!((invalidated["fraction"].as_f64().unwrap() - fraction).abs() < 1e-12);
        assert_eq!(expected["reused"]["count"], all);
        assert_eq!(expected["last"]["count"], followed.uses - all - followed.invalidated);

        for (key, made) in [("loads", followed.loads), ("stores", followed.stores)] {
            let by_thread = output["measured"][key].as_array().unwrap();
            assert!(by_thread.iter().all(|count| *count == made), "{arguments}: {key}");
        }
    }
}

/// A round of short-decreasing is 200,000 + 120,000 + 60,000 + 32,000 + 32,000 = 444,000 accesses. Table 6.4 has all ten
/// rounds of them at the distances of the next pass. But the last pass over each array in a round is followed only by the
/// first one of the next round, at distances above 200,000, and in the last round by nothing.
#[test]
fn table_6_4_is_not_the_whole_run() {
    let expected = json("ribench --preset short-decreasing --threads 1")["expected"].clone();
    let table = [200.0, 120.0, 60.0, 32.0, 32.0].map(|thousands: f64| 10.0 * thousands);
    let bins = expected["table_6_4"]["histogram"].as_array().unwrap();
    assert_eq!(bins.iter().map(|bin| bin["count"].as_f64().unwrap() / 1000.0).collect::<Vec<_>>(), table);

    // Ten times one pass fewer, and nine times all five.
    let passes = [1.0, 2.0, 4.0, 8.0, 16.0];
    let run: Vec<f64> = table.iter().zip(passes).map(|(all, pass)| all - 10.0 * pass).collect();
    let between_rounds = 9.0 * passes.iter().sum::<f64>();
    let all = run.iter().sum::<f64>() + between_rounds;
    assert_eq!(expected["reused"]["count"].as_f64().unwrap(), 1000.0 * all);
    let differences: f64 = run.iter().zip(table).map(|(run, table)| (run / all - table / 4440.0).abs()).sum();
    let similarity = 1.0 - (differences + between_rounds / all) / 2.0;
    assert!((expected["table_6_4"]["similarity"].as_f64().unwrap() - similarity).abs() < 1e-12);
}

#[test]
fn what_is_left_to_chance_is_not_expected() {
    let small = "ribench --outer 1 --a 2 --a1 4 --b 0 --c 0 --d 0 --e 0 --inv 3";
    let output = json(&format!("{small} --threads 2"));
    let expected = &output["expected"];
    assert!(expected["histogram"].is_null() && expected.get("invalidated").is_none());
    let reason = expected["histogram_is_null_because"].as_str().unwrap();
    assert!(reason.contains("--barrier"), "{reason}");
    assert_eq!(output["measured"]["accesses"], serde_json::json!([14, 14]));
    // Alone, or in turns, or without a shared array, nothing is.
    for known in ["--threads 1", "--threads 2 --barrier", "--threads 2 --inv 0"] {
        let expected = &json(&format!("{} {known}", small.replace(" --inv 3", "")))["expected"];
        assert!(expected["histogram"].is_array(), "{known}");
        assert!(expected["histogram_is_null_because"].is_null(), "{known}");
    }
}

#[test]
fn many_threads_take_turns() {
    let output = json("ribench --preset short-bell-2 --outer 2 --threads 32 --barrier");
    // Of 2 * 143 passes all but the last are found invalidated.
    assert_eq!(output["expected"]["invalidated"]["found_by_an_access"], 32 * 285 * 1000);
    // 2 * 143 * 1000 and 2 * (50 * 500 + 40 * 1500 + 40 * 3500 + 10 * 7500 + 3 * 15,500).
    assert_eq!(output["measured"]["accesses"], serde_json::json!(vec![286_000 + 693_000; 32]));
}

#[test]
fn what_cannot_be_run_is_refused_with_a_reason() {
    let cases = [
        ("ribench --preset tall-bell", "none of short-increasing, short-decreasing"),
        ("ribench --a1 7", "not even"),
        ("ribench --outer 0", "0 is not in"),
        ("ribench --a 1000000000000 --a1 1000000000000", "more accesses than can be counted"),
        ("ribench --a1 1000000000000000", "cannot map 1000000000000000 bytes"),
        ("ribench --bin-ratio 1", "1 is not in"),
    ];
    for (arguments, reason) in cases {
        let output = run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments}");
        assert!(stderr.contains(reason), "{arguments}: {stderr}");
    }
}
