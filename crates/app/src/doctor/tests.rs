use carom_base_sys::{
    SysError,
    machine::{Container, Kernel, Machine, Seccomp, Space},
    probe::{Facts, Limits, Outcome, Slots, Tried},
};

use super::{
    Report,
    model::{Answer, Engine},
    run, text,
};

/// A Docker container under its default filter: no perf events, POSIX timers only.
fn docker() -> Facts {
    let (worked, denied) = (Ok(Outcome::Worked), Ok(Outcome::Refused(1)));
    let error = SysError { call: "perf_event_open", errno: 1 };
    let mut machine = Machine {
        kernel: Kernel::parse("6.1.0"),
        tick_hz: Some(250),
        container: Some(Container::Docker),
        ..Machine::default()
    };
    machine.privilege.seccomp = Seccomp::Filter;
    machine.cpu.fsgsbase = Some(true);
    let space = Ok(Space { total: 1 << 40, free: 1 << 39 });
    let tried = Tried {
        reach: denied,
        timers: [denied, denied, worked],
        watchpoint: denied,
        slots: Slots { opened: 0, stopped: Some(error) },
        cycles: Err(error),
        ptrace: worked,
        own_memory: worked,
        address_space: worked,
        memory_file: worked,
        executable_memory: worked,
        limits: Limits::default(),
        directory: space,
        shared_memory: space,
    };
    Facts { machine, tried }
}

#[test]
fn the_verdict_comes_first_and_names_the_remedy() {
    let report = Report::new(&docker());
    assert_eq!(
        report.verdict,
        "carom can profile programs here. --engine auto takes translate, whose samples stand for accesses; lines are \
         watched in software, as the container's seccomp filter denies perf_event_open. To lift this: \
         `docker run --cap-add PERFMON …` (start the container with this option added)."
    );
    let text = text::render(&report);
    assert!(text.starts_with("carom can profile programs here."), "{text}");
    assert!(text.lines().any(|line| line.trim() == "docker run --cap-add PERFMON …"), "{text}");
    let engine = report.engine.unwrap();
    assert_eq!(
        (engine.name.as_str(), engine.delivery.as_str(), engine.watchpoints),
        ("translate", "inline", 0)
    );
}

#[test]
fn where_code_cannot_be_translated_the_verdict_names_the_price() {
    let mut facts = docker();
    facts.machine.cpu.fsgsbase = Some(false);
    let report = Report::new(&facts);
    assert_eq!(
        report.verdict,
        "carom can profile programs here. --engine auto takes burst, sampling by \
         POSIX CPU timers: the container's seccomp filter denies perf_event_open. The price: at most 250 samples per \
         second and thread, and no watchpoints: coarse, needs longer runs, and misses lines that bounce rarely. To lift this: \
         `docker run --cap-add PERFMON …` (start the container with this option added)."
    );
    assert_eq!(report.engine.unwrap().name, "burst");
}

#[test]
fn without_any_timer_there_is_translate_or_nothing() {
    let mut facts = docker();
    facts.tried.timers[2] = Ok(Outcome::Silent);
    let report = Report::new(&facts);
    assert!(report.verdict.starts_with("carom can profile programs here."), "{}", report.verdict);
    assert_eq!(report.engine.unwrap().name, "translate");

    facts.machine.cpu.fsgsbase = Some(false);
    let report = Report::new(&facts);
    assert!(
        report.verdict.starts_with("carom cannot profile programs here: no timer works"),
        "{}",
        report.verdict
    );
    assert!(report.engine.is_none());
    assert!(report.engines.iter().all(|engine| !(engine.in_this_version && engine.machine == Answer::Yes)));
}

fn translate(facts: &Facts) -> Engine {
    Report::new(facts).engines.into_iter().find(|engine| engine.name == "translate").unwrap()
}

#[test]
fn translate_says_what_it_is_for() {
    let engine = translate(&docker());
    assert!(engine.in_this_version && engine.machine == Answer::Yes);
    assert_eq!(engine.text, "used by `carom count`, `carom reuse` and `carom share`");
}

#[test]
fn translate_says_what_is_missing_and_the_facility_how_to_get_it() {
    let mut facts = docker();
    facts.tried.memory_file = Ok(Outcome::Refused(1));
    let report = Report::new(&facts);
    let engine = translate(&facts);
    assert_eq!(engine.machine, Answer::No);
    assert_eq!(
        engine.text,
        "a seccomp filter denies memfd_create; `carom count` and `carom reuse --exact` need this engine, others take burst"
    );
    let facility = report.facilities.iter().find(|facility| facility.id == "executable-memory").unwrap();
    assert!(facility.remedy.as_ref().unwrap().text.contains("allow memfd_create"));

    facts.machine.cpu.fsgsbase = None;
    assert_eq!(translate(&facts).machine, Answer::Unknown);
}

#[test]
fn the_document_follows_its_schema() {
    let schema = serde_json::to_value(schemars::schema_for!(Report)).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for report in [run(), Report::new(&docker())] {
        let json: serde_json::Value = serde_json::from_str(&report.to_json().unwrap()).unwrap();
        assert!(validator.is_valid(&json), "{json}");
        let names: Vec<_> =
            json["engines"].as_array().unwrap().iter().map(|engine| &engine["name"]).collect();
        assert_eq!(names, ["pmu", "translate", "burst"]);
    }
    assert!(!validator.is_valid(&serde_json::json!({"command": "doctor"})), "the schema does refuse");
}
