//! Lines that several processes write: found, named by segment and offset, and told to be false or true sharing.

use serde_json::Value;

use crate::support::{DENSE, Recorded, Report, compile, same_with};

/// Where the line of `shared_memory.c` lies in its memory.
const LINE_AT: u64 = 4096 + 128;

/// Samples by accesses, dense enough for a program that runs for a moment.
const BY_ACCESSES: [&str; 4] = ["--engine", "translate", "--period", "20000"];

/// What the name of the memory begins with.
const WAYS: [(&str, &str); 5] = [
    ("anonymous", "shared anonymous mapping of 16 KiB"),
    ("memfd", "memfd:counters"),
    ("shm", "shared memory /dev/shm/carom-test-"),
    ("file", "/tmp/carom-test-"),
    ("sysv", "System V segment key 0x00000000 id "),
];

fn options(engine: &str) -> Vec<&'static str> {
    match engine {
        "burst" => [&["--engine", "burst"], DENSE.as_slice()].concat(),
        _ => BY_ACCESSES.to_vec(),
    }
}

/// Runs the program, and gives the report and what it says of the line.
fn line_of(options: &[&str], arguments: &[&str]) -> (Report, Value) {
    let (ending, report) = same_with(options, &compile("robust/shared_memory.c", &[]), arguments);
    assert_eq!(ending.code(), Some(0), "{arguments:?}: {}", ending.complaint());
    let lines = report.0["share"]["lines"].as_array().expect("share.lines");
    let found = lines.iter().find(|line| line["shared"]["offset_bytes"] == LINE_AT).cloned();
    let found =
        found.unwrap_or_else(|| panic!("{options:?} {arguments:?}: {} of {lines:#?}", report.verdict()));
    (report, found)
}

/// The offsets in the line that each process was seen to count at, by `count_in`.
fn words(report: &Report, line: &Value) -> Vec<(u64, u64)> {
    let threads = report.0["threads"].as_array().expect("threads");
    let process =
        |site: &Value| threads[site["thread"].as_u64().expect("a thread") as usize]["process"].as_u64();
    let sites = line["sites"].as_array().expect("sites").iter();
    let counting = sites.filter(|site| site["function"] == "count_in" && site["seen"].as_u64() > Some(1));
    let mut words: Vec<_> = counting
        .map(|site| (process(site).expect("a process"), site["offset_bytes"].as_u64().expect("an offset")))
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

fn check(engine: &str, way: &str, fields: &str, processes: usize, how: &[&str]) {
    let count = processes.to_string();
    let long: &[&str] = if engine == "burst" { &["long"] } else { &[] };
    let (report, line) = line_of(&options(engine), &[&[way, fields, &count], how, long].concat());
    let name = line["shared"]["segment"].as_str().expect("a name");
    let expected = WAYS.iter().find(|(known, _)| *known == way).expect("a way").1;
    assert!(name.starts_with(expected), "{name}");
    assert_eq!(line["object"]["name"], name);
    let places = line["shared"]["processes"].as_array().expect("places");
    assert_eq!(places.len(), processes, "{line:#}");
    for place in places {
        let address = place["address"].as_str().expect("an address");
        assert_eq!(u64::from_str_radix(&address[2..], 16).expect("hexadecimal") % 4096, LINE_AT % 4096);
    }
    let [falsely, truly] = ["false", "true"].map(|kind| line[kind].as_f64().expect("a volume"));
    // At the end the first process reads the word of each other one once, and may meet it in all watchpoints.
    // That is little of what a quiet machine sees; on a busy one the processes hardly run at the same time.
    const WATCHPOINTS: f64 = 4.0;
    let event = (falsely + truly) / line["events"].as_f64().expect("events");
    let checked = WATCHPOINTS * (processes - 1) as f64 * event;
    let (own, right) = match fields {
        "neighbours" => (8, falsely > truly && truly <= checked),
        _ => (0, truly > 0.0 && falsely == 0.0),
    };
    assert!(right, "{engine} {way} {fields}: {falsely} false, {truly} true; {line:#}");
    // One word for each process. Programs that children execute are processes of their own, met in any order.
    let (of, mut offsets): (Vec<u64>, Vec<u64>) = words(&report, &line).into_iter().unzip();
    offsets.sort_unstable();
    assert_eq!(offsets, (0..processes as u64).map(|process| own * process).collect::<Vec<_>>(), "{line:#}");
    assert!(of.windows(2).all(|two| two[0] < two[1]), "{line:#}");
    assert!(report.verdict().contains(name), "{}", report.verdict());
}

#[test]
fn neighbouring_words_by_accesses() {
    for (way, _) in WAYS {
        check("translate", way, "neighbours", 2, &[]);
    }
}

#[test]
fn neighbouring_words_by_time() {
    for (way, _) in WAYS {
        check("burst", way, "neighbours", 2, &[]);
    }
}

#[test]
fn one_word() {
    check("translate", "anonymous", "same", 2, &[]);
    check("translate", "sysv", "same", 2, &[]);
    check("burst", "shm", "same", 2, &["exec"]);
}

/// Other programs map the memory at addresses of their own, and not from its beginning.
#[test]
fn elsewhere_and_from_another_offset() {
    check("translate", "memfd", "neighbours", 2, &["exec", "offset"]);
    check("translate", "shm", "same", 2, &["offset"]);
    check("translate", "sysv", "neighbours", 2, &["exec"]);
    check("burst", "file", "neighbours", 2, &["exec", "offset"]);
}

#[test]
fn three_processes() {
    check("translate", "anonymous", "neighbours", 3, &[]);
    check("translate", "memfd", "same", 3, &["exec"]);
}

/// Memory of one process that lies where shared memory was is its own: what is written there, nobody else sees.
#[test]
fn memory_in_place_of_what_was_shared() {
    let by_time = line_of(&options("burst"), &["memfd", "neighbours", "2", "again", "long"]).1;
    assert_eq!(by_time["true"].as_f64(), Some(0.0), "{by_time:#}");
    for way in ["anonymous", "sysv"] {
        let (report, line) = line_of(&BY_ACCESSES, &[way, "neighbours", "2", "again", "long"]);
        assert_eq!(line["true"].as_f64(), Some(0.0), "{line:#}");
        let half = line["share_of_samples"].as_f64().expect("a share");
        // On a busy machine some samples are dropped, all of the same half at worst.
        let [samples, dropped] =
            ["samples", "dropped"].map(|count| report.0["quality"][count].as_f64().expect("a count"));
        let off = (half - 0.5).abs();
        assert!(off < 0.01 + dropped / samples, "{off}, {dropped} of {samples} dropped: {line:#}");
    }
}

/// `carom reuse` looks at each process by itself, and says so.
#[test]
fn reuse_says_what_it_does_not_see() {
    let program = compile("robust/shared_memory.c", &[]);
    for (processes, warns) in [("2", true), ("1", false)] {
        let mut reuse = Recorded::by("reuse", &[], &program, &["memfd", "neighbours", processes]);
        assert_eq!(reuse.run().code(), Some(0));
        assert_eq!(reuse.report().warns("shared-memory-not-compared"), warns, "{processes}");
    }
}

/// Two threads in each of two processes: four words, and sharing among all of them.
#[test]
fn threads_of_two_processes() {
    let (report, line) = line_of(&BY_ACCESSES, &["shm", "neighbours", "2", "threads"]);
    let of = |process: u64, word: u64| (process, 8 * word);
    assert_eq!(words(&report, &line), [of(0, 0), of(0, 4), of(1, 1), of(1, 5)], "{line:#}");
    assert_eq!(line["true"].as_f64(), Some(0.0));
}
