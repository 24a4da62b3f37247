//! `carom trace` and `carom simulate`: every access of a program whose answer is known, and texts.

use std::{collections::HashMap, fs, process::Command};

use parquet::{file::serialized_reader::SerializedFileReader, record::Row};
use serde_json::Value;

use crate::support::{Recorded, Report, carom, compare, compile, run, scratch, sources};

/// Runs `carom simulate -q --json … OPTIONS WHAT`.
fn simulated(options: &[&str], what: &std::path::Path) -> Value {
    let place = scratch();
    let json = place.path().join("report.json");
    let done =
        run(Command::new(carom()).args(["simulate", "-q", "--json"]).arg(&json).args(options).arg(what));
    assert_eq!(done.code(), Some(0), "{}", done.complaint());
    serde_json::from_slice(&fs::read(json).expect("a report")).expect("JSON")
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key}: {value}"))
}

/// What is kept is what is counted, and the loop's lines of source have it: three loads and a store in each round.
#[test]
fn every_access_of_a_program_is_simulated() {
    const ROUNDS: &str = "10000";
    let program = compile("widths.c", &["-O2", "-g"]);
    let alone = run(Command::new(&program).arg(ROUNDS));
    let mut recorded = Recorded::by("simulate", &["--machine", "two-cores"], &program, &[ROUNDS]);
    let under = recorded.run();
    compare(&recorded.command, &alone, &under);
    let Report(report) = recorded.report();
    let total = &report["simulate"]["total"];
    let counted = |name: &str| {
        let events = report["count"]["events"].as_array().expect("events");
        let event = events.iter().find(|event| event["name"] == name).expect(name);
        number(event, "total")
    };
    let both = number(total, "read_modify_writes");
    assert_eq!(number(total, "loads") + both, counted("loads"));
    assert_eq!(number(total, "stores") + both, counted("stores"));
    // They are of one instruction each, all in one statement.
    let loop_line = report["simulate"]["references"].as_array().expect("references").iter().find(|one| {
        let counts = &one["counts"];
        number(counts, "loads") == 30_000 && number(counts, "stores") == 10_000
    });
    let at = loop_line.map(|one| &one["function"]);
    assert_eq!(at, Some(&Value::from("main")), "{}", report["simulate"]["references"]);
    assert_eq!(number(total, "accesses"), number(total, "loads") + number(total, "stores") + both);
}

/// The profile of `carom trace`, the text that it prints, and the same text as a profile again give the same counts.
#[test]
fn a_trace_and_its_text_tell_the_same() {
    let program = compile("widths.c", &["-O2", "-g"]);
    let place = scratch();
    let profile = place.path().join("profile");
    let traced =
        run(Command::new(carom()).args(["trace", "-q", "-o"]).arg(&profile).arg(&program).arg("1000"));
    assert_eq!((traced.code(), &*traced.stdout), (Some(0), &b"1000 rounds\n"[..]), "{}", traced.complaint());
    let checked = run(Command::new(carom()).args(["trace", "--check"]).arg(&profile));
    assert_eq!(checked.code(), Some(0), "{}", checked.complaint());
    assert!(String::from_utf8_lossy(&checked.stdout).contains("all of it can be read"));
    let printed = run(Command::new(carom()).args(["trace", "--print"]).arg(&profile));
    let text = place.path().join("accesses.txt");
    fs::write(&text, &printed.stdout).expect("a text");
    let options = ["--machine", "itanium2-smp", "--conflicts"];
    let [kept, read] = [simulated(&options, &profile), simulated(&options, &text)];
    assert_eq!(kept["simulate"]["total"], read["simulate"]["total"]);
    assert!(number(&kept["simulate"]["total"], "accesses") > 4000);
}

/// Simulated while it runs, a program of one thread has the accesses and misses that its trace has, and no profile is left.
#[test]
fn a_trace_may_be_simulated_instead_of_kept() {
    let program = compile("widths.c", &["-O2", "-g"]);
    let place = scratch();
    let (profile, json) = (place.path().join("profile"), place.path().join("report.json"));
    let traced =
        run(Command::new(carom()).args(["trace", "-q", "-o"]).arg(&profile).arg(&program).arg("20000"));
    assert_eq!(traced.code(), Some(0), "{}", traced.complaint());
    let mut command = Command::new(carom());
    command.args(["trace", "--simulate=two-cores", "-q", "--json"]).arg(&json).arg(&program).arg("20000");
    let online = run(command.current_dir(place.path()));
    assert_eq!((online.code(), &*online.stdout), (Some(0), &b"20000 rounds\n"[..]), "{}", online.complaint());
    let left: Vec<_> =
        fs::read_dir(place.path()).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    let online: Value = serde_json::from_slice(&fs::read(json).expect("a report")).expect("JSON");
    let kept = simulated(&["--machine", "two-cores"], &profile);
    let total = |report: &Value, key: &str| number(&report["simulate"]["total"], key);
    // 80,000 accesses are the loop's. The rest begins and ends the program: that depends a little on its environment.
    for key in ["loads", "stores", "accesses"] {
        let (online, kept) = (total(&online, key), total(&kept, key));
        assert!(online.abs_diff(kept) < 200 && kept > 20_000, "{key}: {online} and {kept}");
    }
}

/// The table has what the text has, in the same order.
#[test]
fn a_trace_is_exported_as_a_table() {
    let program = compile("widths.c", &["-O2", "-g"]);
    let place = scratch();
    let profile = place.path().join("profile");
    let traced =
        run(Command::new(carom()).args(["trace", "-q", "-o"]).arg(&profile).arg(&program).arg("1000"));
    assert_eq!(traced.code(), Some(0), "{}", traced.complaint());
    let exported = |form: &str| {
        let done = run(Command::new(carom()).args(["trace", form]).arg(&profile));
        assert_eq!(done.code(), Some(0), "{}", done.complaint());
        done.stdout
    };
    let file = place.path().join("accesses.parquet");
    fs::write(&file, exported("--parquet")).expect("a table");
    let table = SerializedFileReader::new(fs::File::open(&file).expect("a table")).expect("Parquet");
    let rows: Vec<Row> = table.into_iter().collect::<Result<_, _>>().expect("rows");
    // Its cells as text, by the names of the columns.
    let cells = |row: &Row| -> HashMap<String, String> {
        row.get_column_iter()
            .map(|(name, cell)| (name.clone(), cell.to_string().trim_matches('"').to_owned()))
            .collect()
    };
    let tabled: Vec<HashMap<String, String>> = rows.iter().map(cells).collect();
    let text = String::from_utf8(exported("--print")).expect("text");
    // `500: 0 store 8 @0x1000 0x401000`
    let printed: Vec<&str> = text.lines().filter(|line| line.contains(" @0x")).collect();
    assert_eq!(tabled.len(), printed.len());
    assert!(tabled.len() > 4000, "{}", tabled.len());
    for (row, line) in tabled.iter().zip(printed) {
        let hexadecimal = |column: &str| format!("{:#x}", row[column].parse::<u64>().expect("a number"));
        let kind = if row["atomic"] == "true" { "atomic" } else { &row["kind"] };
        // A mark, as `500: 0 lock @0x2000`, is of no bytes and no instruction.
        if row["bytes"] == "0" {
            assert!(line.ends_with(&format!("{kind} @{}", hexadecimal("address"))), "{line}: {row:?}");
            continue;
        }
        let [bytes, address, at] =
            [row["bytes"].clone(), format!("@{}", hexadecimal("address")), hexadecimal("instruction")];
        assert!(line.ends_with(&format!("{kind} {bytes} {address} {at}")), "{line}: {row:?}");
    }
    let of_main = tabled.iter().filter(|row| row["function"] == "main" && row["file"].ends_with("widths.c"));
    assert!(of_main.count() > 4000);
}

/// A checker's finding ends with a status, and names what is damaged.
#[test]
fn a_damaged_trace_is_refused() {
    let place = scratch();
    let text = place.path().join("text");
    fs::write(&text, "0 store 8 @0x1000\n".repeat(1000)).expect("a text");
    let profile = place.path().join("profile");
    let made = run(Command::new(carom()).args(["simulate", "-q", "-o"]).arg(&profile).arg(&text));
    assert_eq!(made.code(), Some(0), "{}", made.complaint());
    let file = profile.join("accesses.chunks");
    let mut bytes = fs::read(&file).expect("accesses");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&file, bytes).expect("accesses");
    let checked = run(Command::new(carom()).args(["trace", "--check"]).arg(&profile));
    assert_eq!(checked.code(), Some(125), "{}", checked.complaint());
    assert!(checked.complaint().contains("problem"), "{}", checked.complaint());
}

/// Of the two lines of the text one is written by each thread, and read by the other: false sharing, known to the unit.
#[test]
fn texts_of_three_kinds_are_simulated() {
    let place = scratch();
    let file = |name: &str, text: &str| {
        let file = place.path().join(name);
        fs::write(&file, text).expect("a text");
        file
    };
    let by_hand = "0 store 8 @0x1000 0x10\n1 load 8 @0x1008 0x20\n".repeat(10);
    let found = simulated(&["--cores", "2"], &file("by-hand", &by_hand));
    let line = &found["simulate"]["lines"][0];
    // All stores but the first take the line, and find that other bytes of it were read.
    assert_eq!((number(&line["invalidations"], "false"), number(&line["invalidations"], "true")), (9, 0));
    assert_eq!(number(&found["simulate"]["total"]["l1"], "coherence"), 9);
    let lackey = "==1== Lackey\nI  0401000,3\n L 1000,8\n S 1000,8\nI  0401003,2\n M 2000,4\n";
    let total = &simulated(&[], &file("lackey", lackey))["simulate"]["total"];
    let kinds = ["loads", "stores", "read_modify_writes"].map(|kind| number(total, kind));
    assert_eq!(kinds, [1, 1, 1]);
    let view = "  1  0: 7 <marker: version 6>\n  2  1: 7 write 8 byte(s) @ 0x1000 by PC 0x10\n";
    assert_eq!(number(&simulated(&[], &file("view", view))["simulate"]["total"], "stores"), 1);
}

#[test]
fn what_cannot_be_simulated_is_refused_in_one_sentence() {
    let place = scratch();
    let file = place.path().join("letter");
    fs::write(&file, "Dear all,\n").expect("a text");
    let refused = |arguments: &[&str]| {
        let done = run(Command::new(carom()).args(arguments).arg(&file));
        assert_eq!(done.code(), Some(125), "{}", done.complaint());
        done.complaint()
    };
    assert!(refused(&["simulate"]).contains("is no text of accesses (\"Dear\" is not a thread)"));
    fs::write(&file, "0 load 8 @0x10\n0 lord 8 @0x10\n").expect("a text");
    assert!(refused(&["simulate"]).contains("line 2: \"lord\" is not a kind of event"));
    fs::write(&file, "0 load 8 @0x10\n").expect("a text");
    assert!(
        refused(&["simulate", "--cores", "2", "--place", "2"])
            .contains("core 2 is not one of the machine's 2")
    );
    assert!(refused(&["simulate", "--runs", "2"]).contains("is no program: --runs,"));
    let behind = run(Command::new(carom()).arg("simulate").arg(&file).args(["--cores", "2"]));
    assert_eq!(behind.code(), Some(125), "{}", behind.complaint());
    assert!(behind.complaint().contains("options come before it: carom simulate --cores 2 /"));
}

/// Of the invalidations of two counters and their total, padding leaves those of the total: as many as are simulated of the program
/// that is padded in its source.
#[test]
fn a_change_of_the_layout_does_what_was_predicted() {
    const ROUNDS: &str = "20000";
    let program = |flags: &[&str]| compile("totals.c", &[&["-O2", "-g", "-pthread"], flags].concat());
    let (plain, padded) = (program(&[]), program(&["-DPADDED"]));
    let place = scratch();
    let recorded = |name: &str, program: &std::path::Path| {
        let profile = place.path().join(name);
        let traced =
            run(Command::new(carom()).args(["trace", "-q", "-o"]).arg(&profile).arg(program).arg(ROUNDS));
        assert_eq!(traced.code(), Some(0), "{}", traced.complaint());
        profile
    };
    let (plain, padded) = (recorded("plain", &plain), recorded("padded", &padded));
    let options = ["--machine", "two-cores", "--cores", "3", "--order", "even"];
    let taken = |counts: &Value| number(&counts["caused"], "true") + number(&counts["caused"], "false");
    let remaining = taken(&simulated(&options, &padded)["simulate"]["total"]);
    for change in ["pad:stats+8:64", "pad:stats.misses:64", "align:stats/8:64"] {
        let found = &simulated(&[&options[..], &["--what-if", change]].concat(), &plain);
        let what_if = &found["simulate"]["what_if"];
        let (before, predicted) = (taken(&found["simulate"]["total"]), taken(&what_if["total"]));
        assert!(2 * before > 3 * remaining && remaining > 1000, "{before} before, {remaining} with {change}");
        let error = predicted.abs_diff(remaining);
        assert!(20 * error <= remaining, "{predicted} predicted, {remaining} remain with {change}");
        // On a busy machine, it may first say how much of the threads' time was observed.
        let verdict = found["verdict"].as_str().expect("a verdict");
        assert!(verdict.contains(&format!("{change} would help (simulated)")), "{verdict}");
    }
    let refused = run(Command::new(carom()).args(["simulate", "--what-if", "pad:status+8:64"]).arg(&plain));
    assert_eq!(refused.code(), Some(125), "{}", refused.complaint());
    assert!(refused.complaint().contains("is called `status` ("), "{}", refused.complaint());
}

/// A text without every other pair of accesses, beside the whole one.
#[test]
fn a_reduced_text_is_compared_with_the_full_one() {
    let place = scratch();
    let [full, reduced] = ["full", "reduced"].map(|name| place.path().join(name));
    let kept = "0 store 8 @0x1000 0x10\n1 load 8 @0x1000 0x20\n";
    let lost = "0 store 8 @0x1040 0x11\n1 load 8 @0x1048 0x30\n";
    fs::write(&full, [kept, lost].concat().repeat(10)).expect("a text");
    fs::write(&reduced, kept.repeat(10)).expect("a text");
    let found = simulated(&["--cores", "2", "--compare", &full.to_string_lossy()], &reduced);
    let compared = &found["simulate"]["compare"];
    assert_eq!(compared["metrics"][0]["coverage"], 0.5, "{compared}");
    assert_eq!(compared["metrics"][3]["false_positives"], 0, "{compared}");
    assert_eq!(compared["split"]["inherent"], 0.5, "{compared}");
    assert!(
        found["verdict"].as_str().is_some_and(|verdict| verdict.starts_with("The reduced trace misleads"))
    );
    let refused = run(Command::new(carom()).args(["simulate", "--compare"]).arg(&full).arg("/bin/true"));
    assert_eq!(refused.code(), Some(125), "{}", refused.complaint());
    assert!(refused.complaint().contains("is no reduced trace"), "{}", refused.complaint());
}

/// Where a trace lacks the first of two stores to a line, the second one is not blamed for what the first did.
#[test]
fn the_first_of_two_stores_is_blamed_where_a_trace_lacks_it() {
    const ROUNDS: u64 = 200;
    let program = compile("turns.c", &["-O1", "-g", "-pthread"]);
    let place = scratch();
    let profile = place.path().join("profile");
    let mut trace = Command::new(carom());
    trace
        .args(["trace", "-q", "--mode", "targeted", "--latency", "120", "--stores", "0.1", "-o"])
        .arg(&profile);
    let traced = run(trace.arg(&program).arg(ROUNDS.to_string()));
    assert_eq!(traced.code(), Some(0), "{}", traced.complaint());
    let report = simulated(&["--machine", "two-cores"], &profile);
    let source = fs::read_to_string(sources().join("turns.c")).expect("the source");
    let caused = |text: &str| -> u64 {
        let line = source.lines().position(|each| each.contains(text)).expect("the store") as u64 + 1;
        let references = report["simulate"]["references"].as_array().expect("references");
        let there =
            references.iter().filter(|each| each["line"] == line).map(|each| &each["counts"]["caused"]);
        there.map(|caused| number(caused, "true") + number(caused, "false")).sum()
    };
    // The trace has either store of 19% of all pairs. An odd number of rounds has passed since the last one of the line, and
    // so the other thread had it, with the probability 0.19 / (1 - 0.81 * 0.81): 21,000 of 200,000, less half of the first 1,000.
    let first = caused("].real = round");
    assert!(first.abs_diff(20_500) < 1_500, "{first}");
    assert_eq!(caused("].imag = round"), 0);
    assert!(number(&report["simulate"], "implied_accesses") > 10_000);
}
