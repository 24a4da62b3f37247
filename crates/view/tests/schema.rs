//! The JSON contract: the checked-in schema is current, and every report keeps to it.

#![allow(clippy::unwrap_used)] // Helpers of tests are tests.

mod sample;

use std::{env, fs, path::PathBuf};

use carom_store::SampleMeans;
use carom_study::{
    phases::{Phase, PhasesFindings},
    share::{Check, Simulated, Waiting},
};
use carom_view::{count, diff, model, per_phase, phases, reuse, share};
use schemars::Schema;
use serde_json::Value;

/// Set to rewrite the checked-in schema.
const BLESS: &str = "CAROM_BLESS";

#[test]
fn the_checked_in_schemas_are_current() {
    is_current("report", &model::schema());
    is_current("diff", &diff::model::schema());
}

#[track_caller]
fn is_current(name: &str, schema: &Schema) {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/schema/{name}.schema.json"));
    let current = format!("{:#}\n", schema.as_value());
    if env::var_os(BLESS).is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &current).unwrap();
    }
    let checked_in = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        checked_in == current,
        "docs/schema/{name}.schema.json is out of date; write it again with {BLESS}=1 cargo test -p carom-view --test schema"
    );
}

fn value(report: &model::Report) -> Value {
    serde_json::from_str(&carom_view::json(report).unwrap()).unwrap()
}

#[track_caller]
fn check(report: &Value) {
    let validator = jsonschema::validator_for(model::schema().as_value()).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(report).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

#[test]
fn reports_keep_to_the_schema() {
    for (run, findings) in [sample::two(), sample::eight(), sample::crowd(20), sample::every_nth()] {
        check(&value(&share::report(&run, &findings)));
    }
    check(&value(&share::report(&sample::two().0, &sample::nothing(3))));
    let (run, mut findings) = sample::two();
    let simulated = Simulated {
        changes: vec!["pad:stats+8:64".into()],
        machine: "tiny".into(),
        accesses: 40_000,
        before: 9_000,
        after: 12,
        transfer_ns: Some(50.0),
        waiting: Some(Waiting { cpu_s: 0.002, threads: 2 }),
    };
    for checked in [Check::NotOfLayout, Check::Unchecked("it is too hot".into()), Check::Simulated(simulated)]
    {
        findings.objects[0].check = Some(checked);
        check(&value(&share::report(&run, &findings)));
    }
    let (run, findings) = sample::counted();
    check(&value(&count::report(&run, &findings)));
    for (run, findings) in [sample::relaxed(), sample::sampled_reuse(), sample::hardly_reused()] {
        check(&value(&reuse::report(&run, &findings)));
    }
}

#[test]
fn answers_by_phase_keep_to_the_schema() {
    let phase =
        Phase { start_s: 0.0, end_s: 0.5, first_bytes: 0.0, slope_bytes_per_s: 2e6, deviation_bytes: 0.0 };
    let found =
        PhasesFindings { phases: vec![phase, phase], trace: vec![(0.0, 1, 2)], ..PhasesFindings::default() };
    let (run, findings) = sample::two();
    let mut whole = share::report(&run, &findings);
    let parts = vec![share::report(&run, &sample::nothing(3)), share::report(&run, &findings)];
    per_phase::add(&mut whole, phases::report(&run, &found), parts);
    let report = value(&whole);
    check(&report);
    let of = &report["per_phase"][1];
    assert_eq!((&of["end_s"], &of["slope_bytes_per_s"]), (&0.5.into(), &2_000_000.into()));
    assert_eq!((&of["events"], of["share"]["findings"].is_array()), (&report["quality"]["events"], true));
    let (run, findings) = sample::sampled_reuse();
    let mut whole = reuse::report(&run, &findings);
    per_phase::add(&mut whole, phases::report(&run, &found), vec![reuse::report(&run, &findings)]);
    check(&value(&whole));
}

#[test]
fn comparisons_keep_to_their_schema() {
    let limits = diff::Limits { above: Some(0.05), if_new: true, ..diff::Limits::default() };
    let validator = jsonschema::validator_for(diff::model::schema().as_value()).unwrap();
    for compared in [sample::compared::fixed(limits.clone()), sample::compared::unchanged(limits)] {
        let value = serde_json::from_str(&diff::json(&compared).unwrap()).unwrap();
        let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
        assert_eq!(value["spread"]["basis"], "assumed");
        assert!(value["share"]["findings"][0]["share"]["difference"]["low"].is_number());
        assert!(value["reuse"]["miss_ratio"]["significant"].is_boolean());
    }
}

#[test]
fn non_finite_numbers_are_null_and_valid() {
    let (mut run, mut findings) = sample::two();
    run.program.wall_s = model::Real(f64::INFINITY);
    findings.threads.all[1][2] = f64::NAN;
    findings.lines[0].share.high = f64::NAN;
    let report = value(&share::report(&run, &findings));
    assert_eq!(report["program"]["wall_s"], Value::Null);
    assert_eq!(report["share"]["matrix"]["all"][1][2], Value::Null);
    assert_eq!(report["share"]["lines"][0]["share_interval"]["high"], Value::Null);
    check(&report);
}

#[test]
fn the_schema_can_fail() {
    let (run, findings) = sample::two();
    let mut report = value(&share::report(&run, &findings));
    report["share"]["lines"][0]["sites"][0]["kind"] = "jump".into();
    let validator = jsonschema::validator_for(model::schema().as_value()).unwrap();
    assert!(!validator.is_valid(&report));
}

/// The keys that scripts rely on, as the design document lists them.
#[test]
fn the_keys_of_the_contract_are_there() {
    let (run, findings) = sample::two();
    let report = value(&share::report(&run, &findings));
    for pointer in [
        "/carom/version",
        "/carom/schema",
        "/command",
        "/verdict",
        "/program/argv",
        "/program/exit/code",
        "/program/wall_s",
        "/program/complete",
        "/processes/0/id",
        "/processes/0/pid",
        "/processes/0/parent",
        "/processes/0/argv",
        "/processes/0/exit",
        "/processes/0/coverage",
        "/threads/0/id",
        "/threads/0/process",
        "/threads/0/tid",
        "/threads/0/name",
        "/engine/name",
        "/engine/reason",
        "/engine/sample_means",
        "/engine/period",
        "/quality/samples",
        "/quality/dropped",
        "/quality/unattributed",
        "/quality/warnings/0/code",
        "/quality/warnings/0/text",
        "/share/false_fraction/estimate",
        "/share/false_fraction/low",
        "/share/false_fraction/high",
        "/share/matrix/unit",
        "/share/matrix/rows",
        "/share/matrix/columns",
        "/share/matrix/all/0/0",
        "/share/matrix/true/0/0",
        "/share/matrix/false/0/0",
        "/share/matrix/cores",
        "/share/kinds/raw",
        "/share/kinds/waw",
        "/share/lines/0/process",
        "/share/lines/0/address",
        "/share/lines/0/share_of_samples",
        "/share/lines/0/true",
        "/share/lines/0/false",
        "/share/lines/0/object/kind",
        "/share/lines/0/object/name",
        "/share/lines/0/object/offset_bytes",
        "/share/lines/0/sites/0/thread",
        "/share/lines/0/sites/0/kind",
        "/share/lines/0/sites/0/offset_bytes",
        "/share/lines/0/sites/0/width_bytes",
        "/share/lines/0/sites/0/field",
        "/share/lines/0/sites/0/function",
        "/share/lines/0/sites/0/file",
        "/share/lines/0/sites/0/line",
        "/share/lines/0/sites/0/share_of_samples",
    ] {
        assert!(report.pointer(pointer).is_some(), "{pointer} is missing");
    }
    assert_eq!(report["share"]["matrix"]["unit"], "samples");
    assert_eq!(report["share"]["matrix"]["rows"], "earlier writer");
    assert_eq!(report["share"]["matrix"]["all"][1][2], 2850);
    assert_eq!(report["engine"]["sample_means"], "thread time");
}

#[test]
fn the_keys_of_counts_are_there() {
    let (run, findings) = sample::counted();
    let report = value(&count::report(&run, &findings));
    let instructions = &report["count"]["events"][0];
    assert_eq!(instructions["name"], "instructions");
    assert_eq!(instructions["unit"], "instructions");
    assert_eq!(instructions["total"], 1_230_000_123);
    assert_eq!(instructions["values"], serde_json::json!([1_000_000, 480_000_000, 749_000_123]));
    assert_eq!(instructions["by_process"], serde_json::json!([1_230_000_123]));
    assert_eq!(report["count"]["events"][6]["values"], serde_json::json!([null, null, null]));
    assert_eq!(report["count"]["coverage"]["translated_ns"], 999_870_000);
    assert_eq!(report["command"], "count");
    assert_eq!(report["engine"]["sample_means"], "nothing");
    assert_eq!(report["quality"]["not_covered"][0]["code"], "before-main");
    assert_eq!(report["processes"][0]["host"], "node17");
    assert!(report.get("share").is_none());
}

#[test]
fn the_keys_of_reuse_are_there() {
    let (run, findings) = sample::relaxed();
    let report = value(&reuse::report(&run, &findings));
    assert_eq!(report["command"], "reuse");
    let curve = &report["reuse"]["curves"][0];
    let expected = [
        ("scope", "all".into()),
        ("thread", Value::Null),
        ("kind", "any".into()),
        ("distance", "stack".into()),
        ("unit", "places".into()),
        ("granularity_bytes", 64.into()),
        ("basis", "exact".into()),
        ("reused_by", "same-thread".into()),
    ];
    for (key, value) in expected {
        assert_eq!(curve[key], value, "{key}");
    }
    assert_eq!((&curve["histogram"][1]["low"], &curve["histogram"][1]["high"]), (&14.into(), &16.into()));
    for key in ["fraction", "by_kind"] {
        assert!(curve["histogram"][1].get(key).is_some(), "{key}");
    }
    assert_eq!(curve["miss_ratio"][0]["bytes"], 1024);
    for key in ["ratio", "low", "high"] {
        assert!(curve["miss_ratio"][0][key].is_number(), "{key}");
    }
    assert_eq!(report["reuse"]["curves"][1]["unit"], "accesses");
    let worker = report["reuse"]["curves"].as_array().unwrap().last().unwrap();
    assert_eq!((&worker["scope"], &worker["thread"]), (&"thread".into(), &2.into()));
    let pair = &report["reuse"]["pairs"][0];
    assert_eq!((&pair["use"]["line"], &pair["reuse"]["line"]), (&40.into(), &77.into()));
    assert_eq!((&pair["object"]["name"], &pair["share_of_misses"]), (&"grid".into(), &0.8.into()));
    assert_eq!(report["reuse"]["fits"][1]["enough_bytes"], 4 << 20);
    // Three threads, all accesses of which were followed.
    assert_eq!(report["quality"]["warnings"][0]["code"], "order-of-this-run");
    let (run, findings) = sample::sampled_reuse();
    let report = value(&reuse::report(&run, &findings));
    let curve = &report["reuse"]["curves"][0];
    assert_eq!((&curve["basis"], &curve["model"]), (&"modelled".into(), &"statstack".into()));
    assert_eq!(report["reuse"]["prefetch"]["pays"], false);
    assert_eq!(report["quality"]["samples"], 4_000);
    // Some of them were invalidated.
    assert_eq!(report["quality"]["warnings"][0]["code"], "sampled-invalidations");
}

#[test]
fn volumes_of_accesses_say_how_they_came_about() {
    let (run, findings) = sample::every_nth();
    let share = &value(&share::report(&run, &findings))["share"];
    assert_eq!(share["matrix"]["unit"], "accesses");
    // 2,850 of 500,000 each.
    assert_eq!(share["matrix"]["all"][1][2], 1_425_000_000);
    let communication = &share["communication"];
    assert_eq!(communication["basis"], "estimated");
    assert_eq!(communication["accesses"]["estimate"], 2_850_000_000_u64);
    assert_eq!(communication["bytes_at_most"]["estimate"], 182_400_000_000_u64);
    assert_eq!(communication["transfers"]["basis"], "modelled");
    assert_eq!(communication["transfers"]["bytes"]["estimate"], 57_600_000_000_u64);
    assert_eq!(
        value(&share::report(&sample::two().0, &sample::two().1))["share"]["communication"],
        Value::Null
    );
}

#[test]
fn periods_of_accesses_are_stated() {
    let (mut run, findings) = sample::two();
    let engine = |run: &carom_view::RunInfo| value(&share::report(run, &findings))["engine"].clone();
    (run.engine.load_period, run.engine.store_period) = (500_000, 500_000);
    run.engine.sample_means = SampleMeans::Accesses;
    assert_eq!(engine(&run)["sample_means"], "500000 accesses");
    assert_eq!(
        (&engine(&run)["period"], &engine(&run)["period_unit"]),
        (&500_000.into(), &"accesses".into())
    );
    (run.engine.load_period, run.engine.store_period) = (1_000, 0);
    run.engine.sample_means = SampleMeans::Accesses;
    let loads = engine(&run);
    assert_eq!((&loads["sample_means"], &loads["period"]), (&"1000 loads".into(), &1_000.into()));
    assert_eq!((&loads["load_period"], &loads["store_period"]), (&1_000.into(), &Value::Null));
}
