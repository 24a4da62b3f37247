use serde_json::{Value, json};

use super::*;
use crate::{
    reuse,
    sample::{self, compared},
    share,
};

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn shared() -> Value {
    let (run, mut findings) = sample::two();
    for line in &mut findings.lines {
        for frame in line.sites.iter_mut().flat_map(|site| &mut site.frames) {
            frame.file = frame.file.take().map(|file| format!("/home/me/app/src/{file}"));
        }
    }
    let report = share::report(&run, &findings);
    parsed(&sarif(&report, Path::new("/home/me/app")).unwrap())
}

#[test]
fn a_finding_is_a_result_at_its_lines() {
    let log = shared();
    let run = &log["runs"][0];
    let found = &run["results"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(rules[found["ruleIndex"].as_u64().unwrap() as usize]["id"], found["ruleId"]);
    assert_eq!((&found["ruleId"], &found["level"]), (&json!("false-sharing"), &json!("warning")));
    let place = &found["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uriBaseId"], "%SRCROOT%");
    assert!(place["artifactLocation"]["uri"].as_str().unwrap().starts_with("src/"), "{place}");
    assert!(place["region"]["startLine"].as_u64().unwrap() > 0);
    let text = found["message"]["text"].as_str().unwrap();
    assert!(text.starts_with("`stats`: 96% false sharing; "), "{text}");
    assert_eq!(run["originalUriBaseIds"]["%SRCROOT%"]["uri"], "file:///home/me/app/");
}

/// Code hosts refuse results without a place.
#[test]
fn what_has_no_place_is_counted() {
    let (run, mut findings) = sample::two();
    for frame in findings.lines.iter_mut().flat_map(|line| &mut line.sites).flat_map(|site| &mut site.frames)
    {
        (frame.file, frame.line) = (None, None);
    }
    let log = parsed(&sarif(&share::report(&run, &findings), Path::new("/")).unwrap());
    assert_eq!(log["runs"][0]["results"], json!([]));
    let note = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
    assert!(note.as_str().unwrap().contains("compile the program with -g"), "{note}");
}

#[test]
fn misses_and_what_is_new_are_results() {
    let (run, findings) = sample::relaxed();
    let log = parsed(&sarif(&reuse::report(&run, &findings), Path::new("/")).unwrap());
    assert!(
        log["runs"][0]["results"].as_array().unwrap().iter().all(|each| each["ruleId"] == "cache-misses")
    );
    let same = compared::unchanged(diff::Limits::default());
    let log = parsed(&new_findings(&same, Path::new("/")).unwrap());
    assert_eq!(log["runs"][0]["results"], json!([]));
}

/// What the standard requires of each part that is written: it knows no other keys, and these must be there.
#[test]
fn it_is_of_the_standard() {
    let (run, findings) = sample::relaxed();
    let reused = parsed(&sarif(&reuse::report(&run, &findings), Path::new("/")).unwrap());
    for log in [shared(), reused] {
        conforms("log", &log);
    }
}

/// Of each object of SARIF 2.1.0 that is written: its keys with what they hold, required ones with `!`, lists with `*`. `=`
/// stands for text and `#` for a number; a key that begins with `%` is any name.
const STANDARD: &[(&str, &[(&str, &str)])] = &[
    ("log", &[("$schema", "="), ("version!", "="), ("runs!", "*run")]),
    (
        "run",
        &[
            ("tool!", "tool"),
            ("invocations", "*invocation"),
            ("originalUriBaseIds", "bases"),
            ("results", "*result"),
        ],
    ),
    ("tool", &[("driver!", "driver")]),
    ("driver", &[("name!", "="), ("version", "="), ("informationUri", "="), ("rules", "*rule")]),
    (
        "rule",
        &[
            ("id!", "="),
            ("name", "="),
            ("shortDescription", "message"),
            ("fullDescription", "message"),
            ("helpUri", "="),
        ],
    ),
    ("message", &[("text!", "=")]),
    ("invocation", &[("executionSuccessful!", "?"), ("toolExecutionNotifications", "*notification")]),
    ("notification", &[("level", "="), ("message!", "message")]),
    ("bases", &[("%", "artifact")]),
    (
        "result",
        &[
            ("ruleId", "="),
            ("ruleIndex", "#"),
            ("level", "="),
            ("rank", "#"),
            ("message!", "message"),
            ("locations", "*location"),
            ("relatedLocations", "*location"),
            ("partialFingerprints", "names"),
        ],
    ),
    ("names", &[("%", "=")]),
    (
        "location",
        &[("physicalLocation", "physical"), ("logicalLocations", "*logical"), ("message", "message")],
    ),
    ("physical", &[("artifactLocation!", "artifact"), ("region", "region"), ("contextRegion", "region")]),
    ("artifact", &[("uri!", "="), ("uriBaseId", "=")]),
    ("region", &[("startLine!", "#"), ("endLine", "#"), ("snippet", "message")]),
    ("logical", &[("fullyQualifiedName!", "="), ("kind", "=")]),
];

#[track_caller]
fn conforms(kind: &str, value: &Value) {
    if let Some(kind) = kind.strip_prefix('*') {
        return value.as_array().unwrap().iter().for_each(|each| conforms(kind, each));
    }
    match kind {
        "=" => assert!(value.is_string(), "{value}"),
        "#" => assert!(value.as_f64().is_some_and(|number| number >= 0.0), "{value}"),
        "?" => assert!(value.is_boolean(), "{value}"),
        _ => {
            let (_, keys) = STANDARD.iter().find(|(name, _)| *name == kind).unwrap();
            for (key, value) in value.as_object().unwrap() {
                let known = keys.iter().find(|(name, _)| name.trim_end_matches('!') == key || *name == "%");
                conforms(known.unwrap_or_else(|| panic!("{kind}.{key} is not in the standard")).1, value);
            }
            for (required, _) in keys.iter().filter(|(name, _)| name.ends_with('!')) {
                assert!(value.get(required.trim_end_matches('!')).is_some(), "{kind} lacks {required}");
            }
        }
    }
}
