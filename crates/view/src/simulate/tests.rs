use carom_base::{Addr, ProcessId, ThreadId};
use carom_study::{
    recording::Losses,
    simulate::{
        Changed, Compared, Comparison, Counts, LineFinding, Machine, Matrix, Metric, Misses, Order, Pair,
        Part, Place, Selected, Sharing, SimulateFindings, Site, Sources, Split, Taken, Volume, WhatIf,
    },
    symbols::{DataObject, Frame, ObjectKind},
};

use super::report;
use crate::{csv, sample, text, web};

const FALSE: Sharing = Sharing { true_sharing: 0, false_sharing: 900 };

fn at(line: u32) -> Vec<Frame> {
    vec![Frame {
        function: Some("count".into()),
        file: Some("counters.c".into()),
        line: Some(line),
        ..Frame::default()
    }]
}

fn object() -> DataObject {
    DataObject {
        kind: ObjectKind::Global,
        name: "stats".into(),
        offset: 0,
        size: Some(16),
        declared: None,
        allocation: Vec::new(),
    }
}

/// Of 1,000 accesses of each of two lines nine in ten of line 31's miss, because the other core wrote.
fn findings() -> SimulateFindings {
    let missing = Misses { cold: 1, coherence: 900, ..Misses::default() };
    let reader = Counts {
        loads: 1000,
        l1: missing,
        l2: missing,
        socket: Misses { cold: 1, ..Misses::default() },
        received: FALSE,
        sources: Sources { core: 900, memory: 1, ..Sources::default() },
        ..Counts::default()
    };
    let writer = Counts { stores: 1000, upgrades: 900, caused: FALSE, ..Counts::default() };
    let site = |line, counts| Site { process: ProcessId(0), path: at(line), object: Some(object()), counts };
    let part = |offset, field: &str| Part { offset, width: 8, field: Some(field.into()) };
    let pair = Pair {
        by: at(20),
        of: at(31),
        sharing: FALSE,
        stored: part(0, "stats.hits"),
        accessed: part(8, "stats.misses"),
    };
    SimulateFindings {
        name: "a machine".into(),
        machine: Machine::parse(
            "cores_per_socket = 2\nl1 = {size = 512, ways = 2}\nl2 = {size = 4096, ways = 4}",
        )
        .unwrap(),
        order: Order::Recorded,
        matched: None,
        problem: None,
        total: reader + writer,
        sites: vec![site(31, reader), site(20, writer)],
        other_sites: 7,
        objects: vec![Taken { object: object(), sharing: FALSE, lines: 1 }],
        unnamed_lines: 0,
        lines: vec![LineFinding {
            process: ProcessId(0),
            address: Addr(0x1000),
            object: object(),
            sharing: FALSE,
            pairs: vec![pair],
            other_pairs: 0,
        }],
        other_lines: 0,
        cores: vec![vec![ThreadId(0)], vec![ThreadId(1)]],
        invalidations: Matrix::from_rows(vec![vec![Sharing::default(), FALSE], vec![Sharing::default(); 2]]),
        transfers: Matrix::from_rows(vec![vec![0, 900], vec![0, 0]]),
        turn: None,
        implied: 0,
        what_if: None,
        comparison: None,
        damage: None,
        losses: Losses::default(),
    }
}

fn verdict(findings: &SimulateFindings) -> String {
    report(&sample::counted().0, findings).verdict
}

/// An array of which each line is taken less often than one of a lock.
#[test]
fn the_verdict_is_about_what_is_taken_most_often_in_all() {
    let spread = DataObject { name: "grid".into(), ..object() };
    let sharing = Sharing { true_sharing: 50_000, false_sharing: 0 };
    let mut found = findings();
    found.objects.insert(0, Taken { object: spread, sharing, lines: 1700 });
    found.unnamed_lines = 300;
    assert_eq!(
        verdict(&found),
        "Lines that cores take from each other cost 100% of the cycles of misses (model). `grid` is taken 50,000 times in 1,700 \
         lines or more; 100% by true sharing. Let the threads write there less often, or to copies of their own."
    );
    let text = text::render(&report(&sample::counted().0, &found), &text::Options::default());
    for line in [
        "50,000 times in 1,700 lines, 0% false sharing  grid\n",
        "900 times in 1 line, 100% false sharing  stats\n",
        "… and 300 lines that were not looked up\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn false_sharing_is_named_with_its_lines_and_its_remedy() {
    let report = report(&sample::counted().0, &findings());
    assert_eq!(
        report.verdict,
        "Lines that cores take from each other cost 100% of the cycles of misses (model). `stats` is taken 900 times by \
         counters.c:20, mostly from counters.c:31; 100% by false sharing. Give what different threads use lines of its own (64 \
         bytes each). --what-if pad:stats+8:64 simulates that."
    );
    let text = text::render(&report, &text::Options::default());
    for line in [
        "counters.c:31 count                     50%     1.0k      90%      90%      90%        0        -\n",
        "counters.c:20 count                     50%     1.0k       0%       0%       0%      900     100%\n",
        "… and 7 more; cycles: a model, by usual latencies\n",
        "1   stats 0x1000 900 times, 100% false sharing\n",
        "    900: counters.c:20 stores to `stats.hits` (bytes 0-7), counters.c:31 loses `stats.misses` (bytes\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let files = csv::files(&report);
    let file =
        |name: &str| files.iter().find(|file| file.name == name).map(|file| file.text.as_str()).unwrap();
    let names = ["simulate-references.csv", "simulate-lines.csv", "simulate-cores.csv"].map(file);
    for text in names {
        let columns = |line: &str| line.matches(',').count();
        assert!(text.lines().all(|line| columns(line) == text.lines().next().map_or(0, columns)), "{text}");
    }
    assert!(names[2].contains("\n0,app,1,worker-1,0,900,900\n"), "{}", names[2]);
    assert!(web::html(&report).unwrap().contains("\"coherence_load_misses\""));
}

#[test]
fn without_sharing_the_costliest_line_is_the_verdict() {
    let missing = Misses { capacity: 600, cold: 200, ..Misses::default() };
    let counts = Counts {
        loads: 1000,
        l1: missing,
        l2: missing,
        sources: Sources { memory: 800, ..Sources::default() },
        ..Counts::default()
    };
    let site = Site { process: ProcessId(0), path: at(5), object: Some(object()), counts };
    let found = SimulateFindings { total: counts, sites: vec![site], lines: Vec::new(), ..findings() };
    assert_eq!(
        verdict(&found),
        "counters.c:5 costs 100% of the cycles of misses (model): 80% of its 1,000 accesses to `stats` miss L2, 75% of these for \
         want of room."
    );
}

#[test]
fn where_there_is_nothing_to_tell_the_verdict_says_so() {
    let hits = Counts { loads: 12_000, l1: Misses { cold: 24, ..Misses::default() }, ..Counts::default() };
    let served = SimulateFindings { total: hits, ..findings() };
    assert_eq!(verdict(&served), "The caches serve the program well: 0.2% of its 12,000 accesses miss L1.");
    let none = SimulateFindings { total: Counts::default(), ..findings() };
    assert!(verdict(&none).starts_with("This profile keeps no accesses: record it with carom trace"));
    let unread = SimulateFindings { damage: Some("row 1 is of an earlier version".into()), ..none };
    assert_eq!(
        verdict(&unread),
        "None of this profile's accesses can be read: row 1 is of an earlier version."
    );
    let refused =
        SimulateFindings { problem: Some("core 2 is not one of the machine's 2".into()), ..findings() };
    assert_eq!(verdict(&refused), "Nothing was simulated: core 2 is not one of the machine's 2.");
}

#[test]
fn long_turns_and_shared_cores_are_warned_of() {
    let found = SimulateFindings {
        turn: Some(500_000),
        cores: vec![vec![ThreadId(0), ThreadId(1)], vec![]],
        ..findings()
    };
    let report = report(&sample::counted().0, &found);
    let codes: Vec<&str> = report.quality.warnings.iter().map(|warning| warning.code.as_str()).collect();
    assert!(codes.ends_with(&["long-turns", "shared-cores"]), "{codes:?}");
}

/// The reader's misses are gone, and so is what the writer takes.
#[test]
fn a_changed_layout_is_put_beside_the_recorded_one() {
    let found = findings();
    let [reader, writer] = [0, 1].map(|site| found.sites[site].counts);
    let quiet = Misses { cold: 1, ..Misses::default() };
    let after = [
        Counts {
            l1: quiet,
            l2: quiet,
            received: Sharing::default(),
            sources: Sources { memory: 1, ..Sources::default() },
            ..reader
        },
        Counts { upgrades: 0, caused: Sharing::default(), ..writer },
    ];
    let change = Changed {
        change: "pad:stats+8:64".parse().unwrap(),
        objects: 1,
        before: FALSE,
        after: Sharing::default(),
    };
    let what_if =
        WhatIf { changes: vec![change], total: after[0] + after[1], sites: after.to_vec(), cut: 500 };
    let changed = SimulateFindings { what_if: Some(Ok(what_if)), ..found };
    let report = report(&sample::counted().0, &changed);
    assert_eq!(
        report.verdict,
        "pad:stats+8:64 would help (simulated): cores take lines from each other 0 times instead of 900, coherence misses are 0 \
         instead of 900, misses of L1 1 instead of 901; all misses cost 100% fewer cycles (model)."
    );
    let text = text::render(&report, &text::Options::default());
    for line in [
        "Lines taken by false sharing            900        0    -100%\n",
        "pad:stats+8:64: 1 object, its lines were taken 900 times, and would be 0 times\n",
        "counters.c:31 count                     900        0        0        0      901        1\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(report.quality.warnings.iter().any(|warning| warning.code == "cut-accesses"));
    assert!(web::html(&report).unwrap().contains("\"cut_accesses\""));
    let refused = SimulateFindings { what_if: Some(Err("no object is called so".into())), ..findings() };
    let warned = super::report(&sample::counted().0, &refused).quality.warnings;
    assert_eq!(warned.last().unwrap().text, "The changed layout was not simulated: no object is called so.");
}

#[test]
fn a_reduced_trace_is_put_beside_the_full_one() {
    let selected =
        |line, reduced, full| Selected { place: Place::Line("src/counters.c".into(), line), reduced, full };
    let compared = |metric, coverage| Compared {
        metric,
        full: 1000,
        reduced: 30,
        coverage,
        selected: vec![selected(20, 20, 900), selected(21, 10, 0)],
    };
    let metrics = Metric::ALL.map(|metric| compared(metric, Some(0.9))).to_vec();
    let comparison = Comparison {
        full: Volume { loads: 9_000, stores: 1_000 },
        reduced: Volume { loads: 50, stores: 50 },
        top: 10,
        metrics,
        split: Split { reduced: 0.8, full: 0.1, inherent: 0.1 },
    };
    let found = SimulateFindings { comparison: Some(comparison.clone()), ..findings() };
    let report = report(&sample::counted().0, &found);
    assert_eq!(
        report.verdict,
        "The reduced trace can stand for the full one: its first source lines have 90% of the coherence misses of loads that the best \
         have (1 false positive) and 90% of the invalidations that the best have (1 false positive). It has 1% of the loads and \
         stores. Its split of true and false sharing is wrong: by its first source lines for false sharing, 80% of all invalidations \
         are false sharing, and 10% in the full trace."
    );
    let text = text::render(&report, &text::Options::default());
    for line in [
        "coherence misses of loads              1.0k       30        2      90%        1\n",
        "counters.c:21                             0       10  false positive\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(report.quality.warnings.iter().any(|warning| warning.code == "little-false-sharing"));
    let nothing = vec![compared(Metric::LoadMisses, None), compared(Metric::Invalidations, None)];
    let found =
        SimulateFindings { comparison: Some(Comparison { metrics: nothing, ..comparison }), ..findings() };
    assert!(verdict(&found).starts_with("Cores take no lines from each other in the full trace"));
}
