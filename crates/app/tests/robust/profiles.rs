//! `carom list` and `carom rm`.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::support::{Ending, carom, compile, run, scratch};

fn carom_in(dir: &Path, arguments: &[&str]) -> Ending {
    run(Command::new(carom()).current_dir(dir).args(arguments))
}

fn stdout(ending: &Ending) -> String {
    assert_eq!(ending.code(), Some(0), "{}", ending.complaint());
    String::from_utf8(ending.stdout.clone()).expect("UTF-8")
}

#[test]
fn profiles_are_listed_and_removed() {
    let place = scratch();
    let dir = place.path();
    assert_eq!(stdout(&carom_in(dir, &["list"])), "No profiles in this directory.\n");
    let program = compile("robust/ends.c", &[]);
    for _ in 0..3 {
        carom_in(dir, &["count", "-q", program.to_str().expect("UTF-8"), "return", ""]);
    }
    let list = |arguments: &[&str]| {
        let json = stdout(&carom_in(dir, &[&["list", "--json"], arguments].concat()));
        let list: Value = serde_json::from_str(&json).expect("JSON");
        let profiles = list["profiles"].as_array().expect("profiles").clone();
        profiles.iter().map(|each| each["dir"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    let name = |number: u32| format!("{}.{number}.carom", program.file_name().expect("a name").display());
    assert_eq!(list(&[]), [name(1), name(2), name(3)]);
    assert_eq!(list(&[&name(2)]), [name(2)]);
    let text = stdout(&carom_in(dir, &["list"]));
    assert!(text.lines().count() == 4 && text.contains(" return ''"), "{text}");

    // One that is none: nothing is removed.
    fs::create_dir(dir.join("mine")).expect("a directory");
    let refused = carom_in(dir, &["rm", &name(1), "mine"]);
    assert_eq!(refused.code(), Some(125));
    assert_eq!(refused.complaint(), "carom: mine: not a profile of carom: it has no manifest.json\n");
    assert_eq!(list(&[]).len(), 3);

    // Another tool's.
    fs::create_dir(dir.join("web")).expect("a directory");
    fs::write(dir.join("web/manifest.json"), r#"{"schema": 1, "name": "web", "version": "1"}"#)
        .expect("a file");
    assert_eq!(list(&[]).len(), 3);

    // A report beside the profile's files stays.
    fs::write(dir.join(name(1)).join("report.html"), "mine").expect("a file");
    assert!(stdout(&carom_in(dir, &["rm", &name(1), &name(2)])).contains("Removed 2 profiles, "));
    assert_eq!(list(&[]), [name(3)]);
    assert!(dir.join(name(1)).join("report.html").exists() && !dir.join(name(2)).exists());
    assert!(stdout(&carom_in(dir, &["rm", "--all"])).contains("Removed 1 profile, "));
    assert!(dir.join("mine").exists() && dir.join("web/manifest.json").exists());
    assert_eq!(stdout(&carom_in(dir, &["rm", "--all"])), "No profiles.\n");
}

#[test]
fn a_file_is_no_profile() {
    let place = scratch();
    fs::write(place.path().join("f"), "text").expect("a file");
    for (name, why) in [("f", "not a profile of carom, which is a directory"), ("g", "no such profile")] {
        let ending = carom_in(place.path(), &["report", name]);
        assert_eq!((ending.code(), ending.complaint()), (Some(125), format!("carom: {name}: {why}\n")));
    }
}
