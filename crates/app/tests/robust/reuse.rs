//! Under `carom reuse` programs stay what they are, and distances that are known are found.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use carom_base::{
    CellClass, DistanceKind, Locality, ReuseCell, ReuseEvent, ReuseKind, ReuseOutcome, Scope, ThreadId,
};
use carom_store::Recording;

use crate::support::{Recorded, Report, carom, compare, compile, run};

/// One access in a thousand is sampled, and asked three questions, whatever that costs.
const DENSE: [&str; 4] = ["--period", "1000", "--budget", "none"];

/// As often as programs that run for long can bear in a build that is not optimised; still five times the default.
const OFTEN: [&str; 2] = ["--period", "20000"];

/// Watched by the debug registers of every thread.
const REGISTERS: [&str; 4] = ["--watch", "registers", "--period", "20000"];

/// By interrupts, as often as they can be.
const BURST: [&str; 4] = ["--engine", "burst", "--period", "200us"];

/// Runs the program alone and under `carom reuse OPTIONS`: output and end must be the same.
fn same(options: &[&str], program: &Path, arguments: &[&str]) -> (Recorded, Report) {
    let alone = run(Command::new(program).args(arguments));
    let mut recorded = Recorded::by("reuse", options, program, arguments);
    let under = recorded.run();
    compare(&recorded.command, &alone, &under);
    let report = recorded.report();
    assert_eq!(report.0["command"], "reuse");
    (recorded, report)
}

fn keeps(options: &[&str], programs: &[(&str, &[&str])]) {
    for (file, arguments) in programs {
        same(options, &compile(&format!("robust/{file}"), &[]), arguments);
    }
}

/// Unwinding makes too many accesses for a build that is not optimised and looks at each: exceptions come where none is
/// looked at.
const HOSTILE: &[(&str, &[&str])] = &[
    ("trap_handlers.c", &[]),
    ("trap_on_stack.c", &["own"]),
    ("alt_stack.c", &[]),
    ("masks.c", &[]),
    ("waits.c", &[]),
    ("jumps.c", &[]),
    ("state.c", &[]),
    ("cancel.c", &[]),
    ("many_threads.c", &["300", "8"]),
    ("many_threads.c", &["100", "100"]),
    ("many_threads.c", &["60", "30", "min"]),
    ("small_stacks.c", &[]),
    ("no_vdso.c", &[]),
    ("forks.c", &["50"]),
    ("parent_goes_on.c", &[]),
    ("execs.c", &["4"]),
    ("descriptors.c", &["closefrom"]),
    ("ends.c", &["_exit"]),
    ("ends.c", &["quick_exit"]),
    ("ends.c", &["abort"]),
    ("ends.c", &["segv"]),
    ("ends.c", &["kill"]),
    ("ends.c", &["exit-in-thread"]),
    ("ends.c", &["main-leaves"]),
];

#[test]
fn programs_stay_what_they_are_while_code_watches() {
    keeps(&OFTEN, HOSTILE);
}

/// By a period so short that their first episodes come at once.
#[test]
fn programs_stay_what_they_are_while_episodes_come_and_go() {
    keeps(&["--watch", "episodes", "--period", "100"], HOSTILE);
}

/// Rounds over two arrays, the second in later accesses alone, or in a child: a sixth of all lines are in an array of 1 MiB, the
/// others in one of 8.
#[test]
fn episodes_find_what_begins_late() {
    let program = compile("robust/two_arrays.c", &["-O2"]);
    for arguments in [&[][..], &["fork"]] {
        let (_, report) = same(&["--watch", "episodes"], &program, arguments);
        assert_eq!(report.0["reuse"]["quality"]["in_episodes"], true);
        let curves = report.0["reuse"]["curves"].as_array().unwrap();
        let is_wanted = |curve: &&serde_json::Value| {
            (&curve["scope"], &curve["model"], &curve["distance"])
                == (&"all".into(), &"statstack".into(), &"stack".into())
        };
        let points = curves.iter().find(is_wanted).unwrap()["miss_ratio"].as_array().unwrap();
        let at = |bytes: u64| {
            let below = points.iter().rfind(|point| point["bytes"].as_u64().unwrap() <= bytes);
            below.unwrap()["ratio"].as_f64().unwrap()
        };
        // Each round comes back to a line after all others of its array. Two or three episodes are in the second part.
        assert!(at(512 << 10) > 0.9, "{arguments:?}: {}", at(512 << 10));
        assert!((0.5..0.99).contains(&at(4 << 20)), "{arguments:?}: {}", at(4 << 20));
        assert!(at(16 << 20) < 0.1, "{arguments:?}: {}", at(16 << 20));
    }
}

#[test]
fn programs_stay_what_they_are_while_every_access_is_looked_at() {
    keeps(&["--exact"], HOSTILE);
}

#[test]
fn programs_stay_what_they_are_while_registers_watch() {
    keeps(&REGISTERS, HOSTILE);
    keeps(&REGISTERS, &[("exceptions.cpp", &[])]);
}

#[test]
fn programs_stay_what_they_are_while_interrupts_sample() {
    keeps(&BURST, HOSTILE);
}

/// The program with one distance, and its arguments: 1000 passes over 2048 lines.
fn one_distance() -> (PathBuf, [&'static str; 2]) {
    (compile("one_distance.c", &[]), ["1000", "2048"])
}

/// Distances of loads of lines that were loaded, by how many there are; the more frequent first. Of the threads that the
/// program makes: how it begins and ends is another matter.
fn load_distances(profile: &Path, locality: Locality) -> Vec<(u64, usize)> {
    let recording = Recording::open(profile).expect("a profile");
    let mut found: BTreeMap<u64, usize> = BTreeMap::new();
    for event in recording.rows::<ReuseEvent>().map(|row| row.expect("a row")) {
        let Some(later) = event.later.filter(|_| event.outcome == ReuseOutcome::Reused) else { continue };
        let loads = !event.earlier.access.kind.writes() && !later.access.kind.writes();
        let made = event.earlier.thread != ThreadId(0);
        if loads && made && event.scope == Scope::Private && event.locality == locality {
            *found.entry(event.distance).or_default() += 1;
        }
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    found
}

#[test]
fn the_only_distance_is_found_by_samples() {
    let (program, arguments) = one_distance();
    // 2,048,000 loads: 2,048 samples, a sixth of them private and temporal.
    let (recorded, report) = same(&DENSE, &program, &arguments);
    let around = &report.0["reuse"]["pairs"][0]["loop"];
    assert_eq!((&around["step_bytes"], around["line"].is_u64()), (&64.into(), true), "{around}");
    for locality in [Locality::Temporal, Locality::Line] {
        let found = load_distances(&recorded.profile(), locality);
        let total: usize = found.iter().map(|(_, count)| count).sum();
        // From one pass to the next lie the other 2047 lines, and what calling the loop costs: a handful of accesses.
        let near = found.iter().filter(|(distance, _)| (2047..2060).contains(distance));
        let hits: usize = near.map(|(_, count)| count).sum();
        assert!(total > 50 && hits * 100 >= total * 98, "{locality:?}: {hits} of {total}: {found:?}");
    }
}

#[test]
fn the_only_distance_is_found_by_looking_at_all() {
    let (program, arguments) = one_distance();
    let (recorded, _) = same(&["--exact"], &program, &arguments);
    let recording = Recording::open(&recorded.profile()).expect("a profile");
    let mut by_kind = BTreeMap::new();
    for cell in recording.rows::<ReuseCell>().map(|row| row.expect("a row")) {
        let loads = cell.class == CellClass::Reuse(ReuseKind::Rar) && cell.pair.is_none();
        if loads && cell.scope == Scope::Private && cell.granularity == 64 {
            let bins: &mut BTreeMap<u64, u64> = by_kind.entry(cell.distance).or_default();
            *bins.entry(cell.bin.low()).or_default() += cell.count;
        }
    }
    // 999 passes find 2048 lines that the pass before them had loaded. Between two loads of a line lie 2047 other lines
    // (a bin from 2016 to 2047), and one to three of the stack, which may put it into the next bin (from 2048 to 2111).
    let in_bins = |distance, bins: &[u64]| -> u64 {
        bins.iter().filter_map(|bin| by_kind.get(&distance)?.get(bin)).sum()
    };
    for distance in [DistanceKind::Stack, DistanceKind::Time] {
        let found = in_bins(distance, &[2016, 2048]);
        assert!((999 * 2048..1001 * 2048 + 1000).contains(&found), "{distance:?}: {found}: {by_kind:?}");
    }
}

/// How often each private cache lost a line to another thread's write.
fn invalidations(profile: &Path) -> u64 {
    let recording = Recording::open(profile).expect("a profile");
    let cells = recording.rows::<ReuseCell>().map(|row| row.expect("a row"));
    let counts = cells.filter(|cell| {
        cell.class == CellClass::Invalidated
            && cell.scope == Scope::Private
            && cell.distance == DistanceKind::Time
    });
    counts.map(|cell| cell.count).sum()
}

/// Two threads know how often one wrote where the other had written before. In turns that is at every write; where they
/// write freely it is seldom, since each stands still while its accesses are analysed.
#[test]
fn invalidations_are_as_many_as_the_threads_know() {
    let program = compile("ping_pong.c", &[]);
    // Where they begin and end they meet at some lines more.
    const MORE: u64 = 40;
    for (arguments, within_percent) in [(["turns", "300"], 10), (["free", "100000"], 10)] {
        let mut recorded = Recorded::by("reuse", &["--exact", "--no-pairs"], &program, &arguments);
        let ending = recorded.run();
        assert_eq!(ending.code(), Some(0), "{}", ending.complaint());
        let known: u64 = String::from_utf8_lossy(&ending.stdout).trim().parse().expect("a number");
        let found = invalidations(&recorded.profile());
        let wrong = found.saturating_sub(MORE).saturating_sub(known).max(known.saturating_sub(found));
        assert!(wrong * 100 <= known * within_percent, "{arguments:?}: {found}, not {known}");
    }
}

#[test]
fn registers_find_it_too() {
    let (program, _) = one_distance();
    let (recorded, report) = same(&REGISTERS, &program, &["60000", "2048"]);
    assert_eq!(report.0["engine"]["watchpoints"], 4);
    assert!(report.warns("parts-of-lines"));
    let found = load_distances(&recorded.profile(), Locality::Temporal);
    let total: usize = found.iter().map(|(_, count)| count).sum();
    // What a trap interrupts was counted as a whole block.
    let near = found.iter().filter(|(distance, _)| (2040..2070).contains(distance));
    let hits: usize = near.map(|(_, count)| count).sum();
    assert!(total > 0 && hits * 10 >= total * 9, "{hits} of {total}: {found:?}");
}

#[test]
fn without_perf_events_code_watches_all_the_same() {
    let (program, arguments) = one_distance();
    let launcher = compile("robust/deny_perf.c", &[]);
    let alone = run(Command::new(&launcher).arg(&program).args(arguments));
    let mut recorded = Recorded::under("reuse", Some(&launcher), &DENSE, &program, &arguments);
    let under = recorded.run();
    compare(&recorded.command, &alone, &under);
    let report = recorded.report();
    assert_eq!(report.0["engine"]["name"], "translate");
    let found = load_distances(&recorded.profile(), Locality::Temporal);
    assert!(found.first().is_some_and(|(distance, _)| (2047..2060).contains(distance)), "{found:?}");
}

#[test]
fn several_runs_are_one_report() {
    for (command, options) in
        [("reuse", &["--runs", "2", "--exact", "--no-pairs"][..]), ("share", &["--runs", "2"])]
    {
        two_runs(command, options);
    }
}

fn two_runs(command: &str, options: &[&str]) {
    let (program, arguments) = one_distance();
    let mut recorded = Recorded::by(command, options, &program, &arguments);
    let ending = recorded.run();
    assert_eq!(ending.code(), Some(0), "{}", ending.complaint());
    assert_eq!(ending.stdout, b"2048000\n2048000\n");
    let profiles = [1, 2].map(|number| {
        let mut name = recorded.profile().into_os_string();
        name.push(format!("-{number}"));
        PathBuf::from(name)
    });
    for profile in &profiles {
        assert_eq!(carom_store::check(profile).expect("a profile"), []);
    }
    // Printed again, of both.
    let again = run(Command::new(carom()).arg("report").args(&profiles));
    assert_eq!(again.code(), Some(0), "{}", again.complaint());
}

#[test]
fn what_cannot_be_done_is_said_before_the_program_runs() {
    let (program, arguments) = one_distance();
    for (options, part) in [
        (&["--exact", "--engine", "burst"][..], "translate engine"),
        (&["--sample-rate", "0.5"], "--exact"),
        (&["--period", "5"], "too short"),
        (&["--engine", "burst", "--watch", "software"], "translate engine"),
    ] {
        let ending = Recorded::by("reuse", options, &program, &arguments).run();
        assert_eq!((ending.code(), &*ending.stdout), (Some(125), &b""[..]), "{options:?}");
        assert!(ending.complaint().contains(part), "{options:?}: {}", ending.complaint());
    }
}
