//! What a report's JSON says of the things that its text and its page show.

use std::{cmp::Reverse, collections::BTreeMap};

use serde_json::Value;

/// A number, several in a row of text, or words.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    Number(f64),
    Numbers(Vec<f64>),
    Words(String),
}

/// By the thing's name.
#[derive(Default)]
pub struct Expectations(pub BTreeMap<String, Expected>);

impl Expectations {
    fn number(&mut self, what: impl Into<String>, number: f64) {
        self.0.insert(what.into(), Expected::Number(number));
    }

    fn words(&mut self, what: impl Into<String>, words: &str) {
        let words = words.replace('`', "");
        self.0.insert(what.into(), Expected::Words(words.split_whitespace().collect::<Vec<_>>().join(" ")));
    }

    fn numbers(&mut self, what: impl Into<String>, numbers: Vec<f64>) {
        self.0.insert(what.into(), Expected::Numbers(numbers));
    }

    /// Of a report.
    pub fn of(report: &Value) -> Self {
        let mut all = Self::default();
        all.words("verdict", text(&report["verdict"]));
        if report["share"].is_object() {
            all.share(&report["share"], report);
        }
        if report["reuse"].is_object() {
            all.reuse(&report["reuse"]);
        }
        if report["count"].is_object() {
            all.count(&report["count"], report);
        }
        all
    }

    fn share(&mut self, share: &Value, report: &Value) {
        let findings = list(&share["findings"]);
        let lines = |finding: &Value| list(&finding["lines"]).len() as f64 + real(&finding["other_lines"]);
        self.number("contended lines", findings.iter().map(lines).sum());
        self.interval("contended", &share["contended_share"]);
        self.interval("fact False sharing", &share["false_fraction"]);
        self.number("elsewhere", 1.0 - real(&share["contended_share"]["estimate"]));
        self.number("fact Events of sharing", real(&report["quality"]["events"]));
        self.number("fact Samples", real(&report["quality"]["samples"]));
        for (index, finding) in findings.iter().enumerate() {
            let at = format!("finding {}", index + 1);
            self.share_of(&at, &finding["share_interval"]);
            self.number(format!("{at} lines"), lines(finding));
            self.words(format!("{at} name"), text(&finding["object"]["name"]));
            self.words(format!("{at} remedy"), text(&finding["remedy"]["text"]));
            self.words(format!("{at} evidence"), text(&finding["remedy"]["evidence"]));
            let sharing = [&finding["true"], &finding["false"]].map(real);
            self.number(format!("{at} false part"), sharing[1] / (sharing[0] + sharing[1]));
            self.number(format!("{at} events"), real(&finding["events"]));
            let of = |place: &Value| &share["lines"][real(place) as usize];
            let lines: Vec<&Value> = list(&finding["lines"]).iter().map(of).collect();
            if let Some(worst) = lines.first() {
                self.worst(&at, worst);
            }
            self.code(&at, &lines);
            for (number, line) in lines.into_iter().enumerate() {
                let at = format!("{at} line {}", number + 1);
                self.number(&at, real(&line["share_interval"]["estimate"]));
                self.number(format!("{at} error"), error(&line["share_interval"]));
                self.codes(&format!("{at} code"), &codes(&[line]));
            }
        }
        self.matrix(&share["matrix"]);
        if report["command"] == "share" {
            self.measured(share, report);
        }
    }

    /// The line that a finding shows.
    fn worst(&mut self, at: &str, line: &Value) {
        for (number, range) in list(&line["layout"]).iter().enumerate() {
            let (offset, width) = (real(&range["offset_bytes"]), real(&range["width_bytes"]));
            let bytes =
                if width <= 1.0 { offset.to_string() } else { format!("{offset}-{}", offset + width - 1.0) };
            self.words(format!("{at} range {}", number + 1), &bytes);
        }
    }

    /// The code that a finding shows: what touches any of its lines.
    fn code(&mut self, at: &str, lines: &[&Value]) {
        let codes = codes(lines);
        self.codes(&format!("{at} code"), &codes);
        let mut places = Vec::new();
        let telling = codes.into_iter().filter(|(_, place)| {
            let new = !places.contains(place);
            places.push(place.clone());
            new
        });
        self.codes(&format!("{at} telling"), &telling.take(2).collect::<Vec<_>>());
    }

    fn codes(&mut self, at: &str, codes: &[(f64, Value)]) {
        for (number, (share, _)) in codes.iter().enumerate() {
            self.number(format!("{at} {}", number + 1), *share);
        }
    }

    fn matrix(&mut self, matrix: &Value) {
        let cell = |row: usize, column: usize| real(&matrix["all"][row][column]);
        let size = list(&matrix["labels"]).len();
        let both =
            |row, column| if row == column { cell(row, row) } else { cell(row, column) + cell(column, row) };
        let active: Vec<usize> =
            (0..size).filter(|&at| (0..size).any(|other| both(at, other) > 0.0)).collect();
        let mut pairs = Vec::new();
        for (row, &first) in active.iter().enumerate() {
            for (column, &second) in active.iter().enumerate() {
                self.number(format!("cell {} {}", row + 1, column + 1), both(first, second));
                if second >= first && both(first, second) > 0.0 {
                    pairs.push(both(first, second));
                }
            }
        }
        pairs.sort_by(|one, other| other.total_cmp(one));
        let total: f64 = pairs.iter().sum();
        for (number, volume) in pairs.iter().enumerate() {
            self.number(format!("pair {} volume", number + 1), *volume);
            self.number(format!("pair {} part", number + 1), volume / total);
        }
    }

    /// How it was measured.
    fn measured(&mut self, share: &Value, report: &Value) {
        let quality = &report["quality"];
        let of = |key: &str| real(&quality[key]);
        let by_number = report["engine"]["period_unit"] == "accesses" && of("last_instruction") == 0.0;
        let mut samples = if by_number { vec![of("step")] } else { vec![of("last_instruction"), of("step")] };
        samples.extend([of("events"), of("watchpoints_armed"), of("watchpoint_traps")]);
        samples.extend(Some(of("budget_skipped")).filter(|left| *left > 0.0));
        self.numbers("row samples", samples);
        let mut lost = vec![of("dropped"), of("collisions")];
        lost.extend(Some(of("unprofiled_threads")).filter(|threads| *threads > 0.0));
        let mut skipped: Vec<f64> =
            list(&quality["skipped"]).iter().map(|each| real(&each["samples"])).collect();
        skipped.sort_by_key(|samples| Reverse(*samples as u64));
        lost.extend(
            skipped
                .into_iter()
                .filter(|samples| *samples > 0.0)
                .map(|samples| samples / of("samples").max(1.0)),
        );
        self.numbers("row lost", lost);
        let distance: Vec<f64> = ["cross_core", "smt_siblings", "same_cpu"]
            .iter()
            .map(|key| real(&share["distance"][key]))
            .collect();
        let total: f64 = distance.iter().sum();
        self.numbers(
            "row where",
            distance.into_iter().filter(|part| *part > 0.0).map(|part| part / total).collect(),
        );
        let kinds = ["raw", "waw"].map(|key| real(&share["kinds"][key]));
        self.numbers("row order", kinds.iter().map(|part| part / (kinds[0] + kinds[1])).collect());
        let volume = &share["communication"];
        if volume.is_object() {
            let about = |known: &Value| {
                let width = (real(&known["high"]) - real(&known["low"])) / 2.0;
                vec![real(&known["estimate"]), width / real(&known["estimate"])]
            };
            let mut all = Vec::new();
            if volume["contended_accesses"].is_object() {
                all.extend(about(&volume["contended_accesses"]));
            }
            all.extend(about(&volume["accesses"]));
            all.push(real(&volume["bytes_at_most"]["estimate"]));
            if volume["transfers"].is_object() {
                all.extend(about(&volume["transfers"]["transfers"]));
                all.push(real(&volume["transfers"]["bytes"]["estimate"]));
            }
            self.numbers("row volume", all);
        }
    }

    fn reuse(&mut self, reuse: &Value) {
        let sizes: Vec<f64> = list(&reuse["caches"]).iter().map(|cache| real(&cache["bytes"])).collect();
        let mut sizes = [sizes, vec![real(&reuse["cache_bytes"])]].concat();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        let cost = |bytes: &f64| {
            let mut caches = list(&reuse["caches"]).iter();
            caches.find(|cache| real(&cache["bytes"]) == *bytes)?["miss_cycles"].as_f64()
        };
        for (column, cycles) in sizes.iter().filter_map(cost).enumerate() {
            self.number(format!("cycles {}", column + 1), cycles);
        }
        for (number, fit) in list(&reuse["fits"]).iter().enumerate() {
            let at = |column: usize| format!("fit {} {column}", number + 1);
            for (column, bytes) in sizes.iter().enumerate() {
                if let Some(ratio) = ratio(reuse, fit, *bytes) {
                    self.number(at(column + 1), ratio);
                }
            }
            self.number(at(sizes.len() + 1), real(&fit["compulsory"]));
            match fit["enough_bytes"].as_f64() {
                Some(bytes) => self.number(at(sizes.len() + 2), bytes),
                None => self.words(at(sizes.len() + 2), "-"),
            }
        }
        for (number, pair) in list(&reuse["pairs"]).iter().enumerate() {
            let at = format!("reuse {}", number + 1);
            self.number(format!("{at} misses"), real(&pair["share_of_misses"]));
            self.number(format!("{at} share"), real(&pair["share"]));
            self.number(format!("{at} missing"), real(&pair["miss_ratio"]));
            let known = [&pair["stack_bytes"]["median"], &pair["time"]["median"]];
            if let Some(median) = known.into_iter().find_map(Value::as_f64) {
                self.number(format!("{at} distance"), median);
            }
        }
    }

    fn count(&mut self, count: &Value, report: &Value) {
        let [threads, processes] = ["threads", "processes"].map(|key| list(&report[key]).len());
        let mut counted = 0;
        for (column, event) in list(&count["events"]).iter().enumerate() {
            counted += usize::from(event["total"].is_number());
            let name = text(&event["name"]).replace('-', " ");
            if let Some(total) = event["total"].as_f64() {
                self.number(format!("count {name}"), total);
                self.number(format!("fact {}", text(&event["name"])), total);
            }
            for (who, key, rows) in [("thread", "values", threads), ("process", "by_process", processes)] {
                for row in 0..rows {
                    if let Some(value) = event[key][row].as_f64() {
                        self.number(format!("{who} {} {}", row + 1, column + 1), value);
                        // The text leaves out what was not counted.
                        self.number(format!("{who} {} counted {counted}", row + 1), value);
                    }
                }
            }
        }
        if let Some(fraction) = count["coverage"]["fraction"].as_f64() {
            // Two decimals, never rounded up.
            let fraction = (fraction * 1e4).floor() / 1e4;
            self.number("coverage", fraction);
            self.number("fact Coverage", fraction);
        }
    }

    fn interval(&mut self, what: &str, interval: &Value) {
        if interval.is_object() {
            self.number(what, real(&interval["estimate"]));
            self.number(format!("{what} low"), real(&interval["low"]));
            self.number(format!("{what} high"), real(&interval["high"]));
        }
    }

    fn share_of(&mut self, at: &str, interval: &Value) {
        self.number(format!("{at} share"), real(&interval["estimate"]));
        self.number(format!("{at} error"), error(interval));
    }
}

/// Misses of a cache of this size, by the curve that a fit is of: the exact one where there is one.
fn ratio(reuse: &Value, fit: &Value, bytes: f64) -> Option<f64> {
    let same = |curve: &&Value| {
        ["scope", "thread", "domain"].iter().all(|key| curve[key] == fit[key])
            && curve["kind"] == "any"
            && curve["granularity_bytes"] == 64
            && curve["reused_by"] != "other-thread"
            && list(&curve["miss_ratio"]).len() > 1
    };
    let curves: Vec<&Value> = list(&reuse["curves"]).iter().filter(same).collect();
    let curve = curves.iter().find(|curve| curve["basis"] == "exact").or(curves.first())?;
    let point = list(&curve["miss_ratio"]).iter().find(|point| real(&point["bytes"]) == bytes)?;
    Some(real(&point["ratio"]))
}

/// Shares of the code that touches some lines, by kind and call path, with its place: most samples first.
fn codes(lines: &[&Value]) -> Vec<(f64, Value)> {
    let mut groups: Vec<(String, f64, Value)> = Vec::new();
    for site in lines.iter().flat_map(|line| list(&line["sites"])) {
        let path = own(list(&site["call_path"]));
        let key = format!("{} {path:?}", site["kind"]);
        let share = real(&site["share_of_samples"]);
        if let Some((_, sum, _)) = groups.iter_mut().find(|(known, ..)| *known == key) {
            *sum += share;
        } else {
            groups.push((key, share, place(path.first())));
        }
    }
    groups.sort_by(|one, other| other.1.total_cmp(&one.1));
    groups.into_iter().map(|(_, share, place)| (share, place)).collect()
}

/// A call path from the program's own code on.
fn own(path: &[Value]) -> &[Value] {
    let own = path.iter().position(|frame| frame["library"] != true && frame["function"].is_string());
    own.map_or(path, |own| &path[own..])
}

/// A function and the name of its file with the line.
fn place(frame: Option<&Value>) -> Value {
    let Some(frame) = frame else { return Value::Null };
    let file = frame["file"].as_str().and_then(|file| file.rsplit('/').next());
    serde_json::json!([frame["function"], file, frame["line"]])
}

fn error(interval: &Value) -> f64 {
    let [low, estimate, high] = ["low", "estimate", "high"].map(|key| real(&interval[key]));
    (high - estimate).max(estimate - low)
}

fn real(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
