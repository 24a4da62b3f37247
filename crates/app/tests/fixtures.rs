//! Profiles that earlier versions recorded print what they printed then.
//!
//! `fixtures/profiles/README.md` says where they come from. New keys may join a report; what was in it stays.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// What stands in kept files for the folder of the programs that were recorded.
const PROGRAMS: &str = "@PROGRAMS@";

fn fixtures() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/profiles");
    here.canonicalize().expect("the fixtures are in the repository")
}

fn programs() -> String {
    fixtures().join("programs").to_str().expect("UTF-8").to_owned()
}

/// A copy of a recorded profile that knows where its programs are now.
fn copy(name: &str, to: &Path) {
    fs::create_dir(to).expect("a directory");
    for file in fs::read_dir(fixtures().join(name).join("profile")).expect("a recorded profile") {
        let file = file.expect("an entry").path();
        fs::copy(&file, to.join(file.file_name().expect("a name"))).expect("a copy");
    }
    let manifest = to.join("manifest.json");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    fs::write(manifest, text.replace(PROGRAMS, &programs())).expect("a manifest");
}

/// What `carom report --json` prints for these profiles as one.
fn printed(names: &[&str]) -> Value {
    let place = tempfile::tempdir().expect("a temporary directory");
    let report = place.path().join("report.json");
    let mut carom = Command::new(env!("CARGO_BIN_EXE_carom"));
    carom.args(["report", "--different-programs", "--quiet", "--json"]).arg(&report);
    for (number, name) in names.iter().enumerate() {
        let profile = place.path().join(number.to_string());
        copy(name, &profile);
        let violations = carom_store::check(&profile).expect("a profile");
        assert!(violations.is_empty(), "{name}: {violations:?}");
        carom.arg(profile);
    }
    let done = carom.output().expect("carom starts");
    assert!(done.status.success(), "{names:?}: {}", String::from_utf8_lossy(&done.stderr));
    let text = fs::read_to_string(report).expect("a report");
    serde_json::from_str(&text.replace(&programs(), PROGRAMS)).expect("JSON")
}

/// What was printed when the profile was recorded.
fn kept(file: &str) -> Value {
    let compressed = fs::read(fixtures().join(file)).expect("a kept report");
    serde_json::from_slice(&zstd::decode_all(&compressed[..]).expect("zstd")).expect("JSON")
}

/// Texts for people, which may change at any time (docs/json.md). What they say is tested where they are written.
const TEXTS: [&str; 4] = ["verdict", "text", "evidence", "remedy"];

/// Where `now` lacks or contradicts something that is in `then`, but for [`TEXTS`]: the path, and both values.
fn differences(path: &str, then: &Value, now: &Value, found: &mut Vec<String>) {
    match (then, now) {
        (Value::Object(then), Value::Object(now)) => {
            for (key, value) in then {
                let path = format!("{path}.{key}");
                match now.get(key) {
                    Some(Value::String(_)) if TEXTS.contains(&key.as_str()) => {}
                    Some(now) => differences(&path, value, now, found),
                    None => found.push(format!("{path} is gone")),
                }
            }
        }
        (Value::Array(then), Value::Array(now)) if then.len() == now.len() => {
            for (index, (then, now)) in then.iter().zip(now).enumerate() {
                differences(&format!("{path}[{index}]"), then, now, found);
            }
        }
        _ if then == now => {}
        _ => found.push(format!("{path}: {then} then, {now} now")),
    }
}

/// The report on `names` as one is the one in `file`, but for versions and new keys.
fn prints_as_kept(file: &str, names: &[&str]) {
    let (mut then, now) = (kept(file), printed(names));
    then.as_object_mut().expect("an object").remove("carom").expect("the versions");
    let mut found = Vec::new();
    differences("", &then, &now, &mut found);
    assert!(
        found.is_empty(),
        "{file}: {} differences\n{}",
        found.len(),
        found[..found.len().min(20)].join("\n")
    );
}

#[test]
fn every_recorded_profile_prints_as_it_did() {
    let mut names: Vec<String> = Vec::new();
    for folder in fs::read_dir(fixtures()).expect("the fixtures") {
        let folder = folder.expect("an entry");
        if folder.path().join("profile").is_dir() {
            names.push(folder.file_name().into_string().expect("UTF-8"));
        }
    }
    assert_eq!(names.len(), 12, "{names:?}");
    for name in names {
        prints_as_kept(&format!("{name}/report.json.zst"), &[&name]);
    }
}

#[test]
fn merged_profiles_print_as_they_did() {
    for (file, names) in [
        ("share", &["share-translate", "share-objects", "share-processes"][..]),
        ("count", &["count-threads", "count-processes"]),
        ("runs", &["reuse-sampled", "reuse-sampled"]),
        ("ranks", &["reuse-exact", "reuse-exact-threads"]),
        ("mixed", &["reuse-sampled-threads", "reuse-exact-threads"]),
    ] {
        prints_as_kept(&format!("merged/{file}.json.zst"), names);
    }
}

#[test]
fn what_is_gone_or_changed_is_found_and_what_is_new_is_not() {
    let then = serde_json::json!({"a": {"b": [1, 2]}, "c": 3});
    let with = |now: Value| {
        let mut found = Vec::new();
        differences("", &then, &now, &mut found);
        found
    };
    assert!(with(serde_json::json!({"a": {"b": [1, 2], "new": 0}, "c": 3})).is_empty());
    assert_eq!(with(serde_json::json!({"a": {"b": [1, 4]}})), [".a.b[1]: 2 then, 4 now", ".c is gone"]);
    assert_eq!(with(serde_json::json!({"a": {"b": [1]}, "c": 3})).len(), 1);
}
