//! Files beside a report of reuse: accesses that were kept, and those of other tools.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
    process::Command,
};

use carom_base::{Access, DistanceKind, Domain, Nanos, ReuseCell, Scope, ThreadId};
use carom_base_replay::{Engine, ExactReuse};
use carom_base_reuse::exact;
use carom_base_stream::{Sink, Streamed};
use carom_store::Recording;

use crate::support::{Recorded, carom, compile, run, scratch};

const LINE_BYTES: u64 = 64;

/// The first and the last line of each access, in the order of time.
#[derive(Default)]
struct Lines(Vec<(u64, u64)>);

impl Sink<Streamed> for Lines {
    fn accesses(&mut self, _: ThreadId, _: Domain, accesses: &[Streamed], _: Nanos) {
        let lines = |streamed: &Streamed| {
            let Access { addr, width, .. } = streamed.access;
            (addr.0 / LINE_BYTES, (addr.0 + u64::from(width) - 1) / LINE_BYTES)
        };
        self.0.extend(accesses.iter().map(lines));
    }

    fn ended(&mut self, _: ThreadId) {}
}

/// What a profile has kept.
fn kept(profile: &Path) -> Lines {
    let mut lines = Lines::default();
    Recording::open(profile).expect("a profile").stream(&mut lines).expect("whole frames");
    lines
}

/// Touches of lines, and misses of one cache of so many lines that replaces the least recently used.
fn simulate(accesses: &Lines, lines: usize) -> (u64, u64) {
    let (mut touches, mut misses) = (0, 0);
    let mut last_use: HashMap<u64, u64> = HashMap::new();
    let mut by_use: BTreeMap<u64, u64> = BTreeMap::new();
    for (first, last) in &accesses.0 {
        for line in *first..=*last {
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

/// Cells, added up: thread, scope, kind of distance, class, bin, whether the use was another thread's.
type Counts = BTreeMap<(u32, Scope, DistanceKind, u8, u16, bool), u64>;

fn counts(cells: impl IntoIterator<Item = ReuseCell>) -> Counts {
    let mut counts = Counts::new();
    for cell in cells.into_iter().filter(|cell| cell.pair.is_none()) {
        let ReuseCell { thread, scope, distance, class, bin, from_other, count, .. } = cell;
        *counts.entry((thread.0, scope, distance, class.code(), bin.0, from_other)).or_default() += count;
    }
    counts
}

/// What was kept, replayed to the analysis that was made while the program ran, gives the very counts that this gave.
#[test]
fn a_replayed_recording_counts_what_was_counted() {
    let program = compile("one_distance.c", &[]);
    let options = ["--exact", "--keep-accesses", "--granularity", "64", "--cache-domains", "threads:0-1"];
    let mut recorded = Recorded::by("reuse", &options, &program, &["20", "512"]);
    let ending = recorded.run();
    assert_eq!(ending.code(), Some(0), "{}", ending.complaint());
    let recording = Recording::open(&recorded.profile()).expect("a profile");
    let config = exact::Config { shared: true, ..exact::Config::default() };
    let mut reuse = ExactReuse::new(&config).expect("a valid configuration");
    let mut engine = Engine::new(&mut reuse);
    recording.stream(&mut engine).expect("whole frames");
    engine.finish();
    let found = counts(recording.rows::<ReuseCell>().map(|cell| cell.expect("a cell")));
    assert!(found.values().sum::<u64>() > 20 * 512, "{found:?}");
    assert_eq!(counts(reuse.cells().iter().copied()), found);
    assert_eq!(carom_store::check(&recorded.profile()).expect("a profile"), []);
}

/// Two threads in one cache, so that nothing is invalidated.
#[test]
fn a_simulation_of_kept_accesses_misses_what_exact_mode_says() {
    let program = compile("one_distance.c", &[]);
    let options = ["--exact", "--keep-accesses", "--cache-domains", "threads:0-1"];
    let mut recorded = Recorded::by("reuse", &options, &program, &["50", "2048"]);
    let ending = recorded.run();
    assert_eq!(ending.code(), Some(0), "{}", ending.complaint());
    let accesses = kept(&recorded.profile());
    let report = recorded.report();
    let curves = report.0["reuse"]["curves"].as_array().expect("curves");
    let shared = curves.iter().find(|curve| {
        curve["scope"] == "shared" && curve["reused_by"] == "any-thread" && curve["distance"] == "stack"
    });
    let points = shared.expect("a shared cache")["miss_ratio"].as_array().expect("points");
    // A pass is over 2048 lines: with a few more for the stack it does not fit into 2048 and does into 4096.
    for lines in [16, 1024, 2048, 4096] {
        let (touches, misses) = simulate(&accesses, lines);
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
