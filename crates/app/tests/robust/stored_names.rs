//! Names are stored with a profile: its report stays the same when the program is built anew, or is gone.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::support::{DENSE, carom, run, scratch};

/// Increments of each of two threads, of counters in one line.
const INCREMENTS: &str = "100000000";

/// A program with its source, and the profiles of it.
struct Place {
    dir: TempDir,
    program: PathBuf,
}

impl Place {
    /// The source is called `target`, as in `programs/targets`.
    fn new(target: &str) -> Self {
        let dir = scratch();
        let place = Self { program: dir.path().join("program"), dir };
        place.build(&place.source(target));
        place
    }

    fn source(&self, target: &str) -> String {
        let targets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/targets");
        fs::read_to_string(targets.join(target)).expect("a source")
    }

    fn build(&self, source: &str) {
        let file = self.dir.path().join("program.c");
        fs::write(&file, source).expect("a source");
        let mut cc = Command::new("cc");
        cc.args(["-g", "-O1", "-pthread", "-o"]).arg(&self.program).arg(&file);
        let built = run(&mut cc);
        assert_eq!(built.code(), Some(0), "{}", built.complaint());
    }

    /// Another program of the same name: other functions at these addresses, other variables, other lines.
    fn build_differently(&self, target: &str) {
        let source = self.source(target).replace("hits", "wins").replace("count_", "add_");
        self.build(&format!("static int more[1000];\nint *unlike(int n) {{ return more + n; }}\n{source}"));
    }

    /// `carom COMMAND -q OPTIONS`, and the profile.
    fn record(&self, command: &str, options: &[&str]) -> PathBuf {
        let profile = self.dir.path().join("profile");
        let mut record = Command::new(carom());
        record.args([command, "-q", "-o"]).arg(&profile).args(options);
        let ending = run(record.arg("--").arg(&self.program).arg(INCREMENTS));
        assert_eq!((ending.code(), &*ending.complaint()), (Some(0), ""), "{record:?}");
        assert_eq!(carom_store::check(&profile).expect("a profile"), []);
        profile
    }
}

/// What `carom report` prints and writes as JSON.
fn report(profiles: &[&Path]) -> (String, String) {
    let place = scratch();
    let json = place.path().join("report.json");
    let ending = run(Command::new(carom()).arg("report").args(profiles).arg("--json").arg(&json));
    assert_eq!(ending.code(), Some(0), "{}", ending.complaint());
    (String::from_utf8(ending.stdout).expect("UTF-8"), fs::read_to_string(json).expect("a report"))
}

/// The report on a profile as it was recorded, after another build, and in another place without program and source.
fn stays_the_same(target: &str, command: &str, options: &[&str], named: &str) {
    let place = Place::new(target);
    let at_once = place.dir.path().join("at_once.json");
    let json = ["--json", at_once.to_str().expect("UTF-8")];
    let profile = place.record(command, &[options, &json].concat());
    let before = report(&[&profile]);
    assert_eq!(fs::read_to_string(at_once).expect("a report"), before.1, "as it was recorded");
    assert!(before.0.contains(named) && !before.1.contains("no-symbols"), "{}", before.0);
    assert!(before.1.contains("hits++;"), "the source of the increment");

    place.build_differently(target);
    assert_eq!(report(&[&profile]), before);

    let elsewhere = scratch();
    let moved = elsewhere.path().join("profile");
    fs::create_dir(&moved).expect("a directory");
    for file in fs::read_dir(&profile).expect("a profile") {
        let file = file.expect("a file");
        fs::copy(file.path(), moved.join(file.file_name())).expect("a copy");
    }
    drop(place);
    assert_eq!(report(&[&moved]), before);
}

#[test]
fn after_another_build_and_in_another_place() {
    stays_the_same("counters.c", "share", &DENSE, "stats.hits");
    stays_the_same("counters_heap.c", "share", &[&DENSE[..], &["--objects"]].concat(), "allocate_stats");
    stays_the_same("counters.c", "share", &["--engine", "translate", "--period", "10000"], "count_hits");
    stays_the_same("counters.c", "reuse", &["--engine", "translate"], "count_hits");
    stays_the_same("counters.c", "profile", &["--period", "20000"], "stats.hits");
}

#[test]
fn of_several_runs_each_has_its_own() {
    let place = Place::new("counters.c");
    let profile = place.dir.path().join("profile");
    let mut record = Command::new(carom());
    record.args(["share", "-q", "--runs", "2", "-o"]).arg(&profile).args(DENSE);
    assert_eq!(run(record.arg("--").arg(&place.program).arg(INCREMENTS)).code(), Some(0));
    let [one, other] = ["profile-1", "profile-2"].map(|name| place.dir.path().join(name));
    let all = || [report(&[&one]), report(&[&other]), report(&[&one, &other])];
    let before = all();
    fs::remove_file(&place.program).expect("removed");
    assert_eq!(all(), before);
    assert!(before.iter().all(|(text, _)| text.contains("stats.hits")));
}

#[test]
fn without_symbols_none_are_stored() {
    let place = Place::new("counters.c");
    let profile = place.record("share", &[&DENSE[..], &["--no-symbols"]].concat());
    assert!(!profile.join("names.chunks").exists());
    assert!(report(&[&profile]).0.contains("stats.hits"));
    place.build_differently("counters.c");
    let (text, json) = report(&[&profile]);
    assert!(!text.contains("stats.hits") && json.contains("has changed since the recording"), "{text}");
}

#[test]
fn damage_costs_names_only() {
    let place = Place::new("counters.c");
    let profile = place.record("share", &DENSE);
    let before = report(&[&profile]).1;
    let file = profile.join("names.chunks");
    let mut bytes = fs::read(&file).expect("names");
    *bytes.last_mut().expect("names") ^= 1;
    fs::write(&file, bytes).expect("names");

    let (text, json) = report(&[&profile]);
    assert!(text.contains("stats.hits") && json.contains("damaged-names"), "{text}");
    fs::remove_file(&place.program).expect("removed");
    let (text, json) = report(&[&profile]);
    assert!(!text.contains("stats.hits") && json.contains("no-symbols"), "{text}");
    let lines = |json: &str| -> Vec<serde_json::Value> {
        let report: serde_json::Value = serde_json::from_str(json).expect("JSON");
        let lines = report["share"]["lines"].as_array().expect("lines").clone();
        lines.iter().map(|line| line["share_of_samples"].clone()).collect()
    };
    assert_eq!(lines(&json), lines(&before));
}
