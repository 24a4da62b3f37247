//! Files beside a report of reuse: accesses that were kept, and those of other tools.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
    process::Command,
};

use crate::support::{Recorded, carom, compile, run, scratch};

const LINE_BYTES: u64 = 64;

/// The words of the only `.accesses` file of a profile, by `docs/format.md`.
fn kept(profile: &Path) -> Vec<u64> {
    let entries = fs::read_dir(profile).expect("a profile").map(|entry| entry.expect("an entry").path());
    let files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "accesses")).collect();
    let [file] = files.as_slice() else { panic!("{files:?}") };
    let bytes = fs::read(file).expect("a file");
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect()
}

/// Touches of lines, and misses of one cache of so many lines that replaces the least recently used.
fn simulate(words: &[u64], lines: usize) -> (u64, u64) {
    let (mut touches, mut misses) = (0, 0);
    let mut last_use: HashMap<u64, u64> = HashMap::new();
    let mut by_use: BTreeMap<u64, u64> = BTreeMap::new();
    for word in words.iter().filter(|word| *word >> 62 != 3) {
        let (address, width) = (word & ((1 << 48) - 1), word >> 48 & ((1 << 14) - 1));
        for line in address / LINE_BYTES..=(address + width - 1) / LINE_BYTES {
            touches += 1;
            match last_use.insert(line, touches) {
                Some(before) => drop(by_use.remove(&before)),
                None => {
                    misses += 1;
                    if by_use.len() == lines {
                        let (_, oldest) = by_use.pop_first().expect("a full cache");
                        last_use.remove(&oldest);
                    }
                }
            }
            by_use.insert(touches, line);
        }
    }
    (touches, misses)
}

/// Two threads in one cache, so that nothing is invalidated.
#[test]
fn a_simulation_of_kept_accesses_misses_what_exact_mode_says() {
    let program = compile("one_distance.c", &[]);
    let options = ["--exact", "--keep-accesses", "--cache-domains", "threads:0-1"];
    let mut recorded = Recorded::by("reuse", &options, &program, &["50", "2048"]);
    let ending = recorded.run();
    assert_eq!(ending.code(), Some(0), "{}", ending.complaint());
    let words = kept(&recorded.profile());
    let report = recorded.report();
    let curves = report.0["reuse"]["curves"].as_array().expect("curves");
    let shared = curves.iter().find(|curve| {
        curve["scope"] == "shared" && curve["reused_by"] == "any-thread" && curve["distance"] == "stack"
    });
    let points = shared.expect("a shared cache")["miss_ratio"].as_array().expect("points");
    // A pass is over 2048 lines: with a few more for the stack it does not fit into 2048 and does into 4096.
    for lines in [16, 1024, 2048, 4096] {
        let (touches, misses) = simulate(&words, lines);
        assert!(touches > 50 * 2048, "{touches}");
        let point =
            points.iter().find(|point| point["bytes"] == lines as u64 * LINE_BYTES).expect("this size");
        let ratio = point["ratio"].as_f64().expect("a number");
        assert_eq!((ratio * touches as f64).round() as u64, misses, "{lines} lines of {touches} touches");
        assert_eq!(misses > 49 * 2048, lines <= 2048, "{lines} lines: {misses}");
    }
}

#[test]
fn files_of_other_tools_are_written_and_compared_with() {
    let (program, dir) = (compile("one_distance.c", &[]), scratch());
    let peers = dir.path().join("peers");
    let peers_name = peers.to_str().expect("text");
    let options = ["--exact", "--granularity", "1,64", "--peers", peers_name];
    let mut recorded = Recorded::by("reuse", &options, &program, &["50", "2048"]);
    let ending = recorded.run();
    assert_eq!(ending.code(), Some(0), "{}", ending.complaint());
    // Between two loads of a line lie 2047 others and a few of the stack, and ReuseTracker counts the reuse too.
    let histogram = fs::read_to_string(peers.join("all-temporal.bin")).expect("a histogram");
    let bins = histogram
        .lines()
        .map(|line| line.split(' ').map(|word| word.parse::<f64>().expect("a number")).collect());
    let near: f64 =
        bins.filter(|bin: &Vec<f64>| bin[0] >= 2017.0 && bin[1] <= 2113.0).map(|bin| bin[2]).sum();
    assert!(near > 0.9, "{histogram}");
    for (file, same) in [("all-temporal.bin", "S = 1.000"), ("all-any.dat", " cache sizes")] {
        let file = peers.join(file);
        let again =
            run(Command::new(carom()).arg("report").arg("--compare").arg(&file).arg(recorded.profile()));
        let text = String::from_utf8_lossy(&again.stdout).into_owned();
        assert!(text.contains(same), "{}: {text}", file.display());
    }
    let refused = Recorded::by("reuse", &["--compare", peers_name], &program, &["1", "1"]).run();
    assert_eq!((refused.code(), &*refused.stdout), (Some(125), &b""[..]));
}
