//! Pages of real runs: each says something in each of its sections, and fits.

use std::{fs, process::Command};

use crate::{
    none,
    recorded::problems,
    support::{carom, compile, run, scratch},
};

/// Commands, what of them is a page, and the sections that it has.
const PAGES: [(&str, &[&str], &[&str]); 11] = [
    ("count", &["count"], &["Counts"]),
    ("count by line", &["count", "--by", "line"], &["Places", "Runs", "Counts"]),
    (
        "count by function",
        &["count", "--by", "function", "--simulate-caches"],
        &["Places", "Coherence", "Runs", "Counts"],
    ),
    ("count coherence", &["count", "--preset", "coherence"], &["Coherence", "Runs"]),
    ("count simulated", &["count", "-r", "2", "--simulate-caches"], &["Coherence", "Runs"]),
    ("count vs", &["count", "-r", "2", "--vs", "PROGRAM 300"], &["Counts"]),
    ("count param", &["count", "-r", "2", "--param", "n=100..500:100"], &["Laws", "Counts"]),
    ("phases", &["phases", "--interval", "100us", "-e", "page-faults,task-clock"], &["Phases"]),
    ("share by phase", &["share", "--per-phase"], &["Phases", "In each phase"]),
    ("reuse by phase", &["reuse", "--per-phase"], &["Phases", "In each phase"]),
    (
        "simulate",
        &["simulate"],
        &["Source lines by what their misses cost", "Lines that cores take from each other"],
    ),
];

/// The page of a run of `program` with these options, and with an argument that depends on them.
fn page(program: &str, options: &[&str], size: &str) -> String {
    let place = scratch();
    let options = options.iter().map(|option| option.replace("PROGRAM", program));
    let mut carom = Command::new(carom());
    carom.current_dir(place.path()).args(options).args(["--html", "page.html", "--", program, size]);
    let done = run(&mut carom);
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    fs::read_to_string(place.path().join("page.html")).expect("a page")
}

/// The size of a problem, where the options ask for several.
fn size_of<'a>(options: &[&str], size: &'a str) -> &'a str {
    if options.contains(&"--param") { "{n}" } else { size }
}

#[test]
fn pages_of_runs_are_whole_in_narrow_and_wide_windows_in_both_colours() {
    let program = compile("counters.c", &[]).to_str().expect("UTF-8").to_owned();
    let page = |options: &[&str]| {
        // Long enough to be read, also beside other tests.
        let long = matches!(options, ["phases" | "share" | "reuse", ..]);
        page(&program, options, size_of(options, if long { "40000000" } else { "400" }))
    };
    let pages: Vec<_> = PAGES.iter().map(|(name, options, _)| ((*name).to_owned(), page(options))).collect();
    let mut wrong = Vec::new();
    let Some(read) = problems(&pages, &mut wrong) else { return };
    for page in read {
        let sections =
            PAGES.iter().find(|(name, ..)| page.name.rsplit_once(' ').is_some_and(|(of, _)| of == *name));
        let (.., sections) = sections.expect("one of them");
        let shown = |section: &&&str| {
            let what = format!("section {section}");
            page.claims.iter().any(|(claim, rows)| *claim == what && rows != "0")
        };
        wrong.extend(
            sections
                .iter()
                .filter(|section| !shown(section))
                .map(|section| format!("{}: nothing in {section}", page.name)),
        );
    }
    none(&wrong);
}

/// Nothing is seen of such a program, and much has no length, no mean and no rate.
#[test]
fn pages_of_programs_that_are_over_at_once_show() {
    const MORE: [(&str, &[&str]); 5] = [
        ("phases read once", &["phases", "--interval", "1s", "-e", "page-faults,task-clock"]),
        ("share", &["share"]),
        ("share by interrupts", &["share", "--engine", "burst"]),
        ("reuse", &["reuse"]),
        ("profile", &["profile"]),
    ];
    let all = PAGES.iter().map(|(name, options, _)| (*name, *options)).chain(MORE);
    let pages: Vec<_> = all
        .map(|(name, options)| (name.to_owned(), page("/bin/true", options, size_of(options, "1"))))
        .collect();
    let mut wrong = Vec::new();
    if problems(&pages, &mut wrong).is_some() {
        none(&wrong);
    }
}
