//! The verdict of `carom count`.

use crate::{
    model::{Command, CountCoverage, CountedEvent, Counts, Leave, Report},
    recording,
    words::{self, ThreadNames},
};

/// Below this coverage the verdict says what is missing.
const NEARLY_COMPLETE: f64 = 0.999;

/// Below this coverage a verdict on samples begins with it.
const MOSTLY_SEEN: f64 = 0.9;

/// Reasons why threads leave translated code that are none for the burst engine.
const BURST_OBSERVES: [&str; 5] = ["foreign-code", "instruction", "signal-frame", "no-memory", "program-gs"];

/// The warning by which a process says that its code could not be translated.
const NOT_TRANSLATED: &str = "not-translated";

/// `1.23 G instructions, 412 M loads and 190 M stores in 4 threads; worker-2 makes 61% of the accesses; coverage
/// 99.98%.`
pub fn verdict(report: &Report, counts: &Counts) -> String {
    let parts: Vec<String> = ["instructions", "loads", "stores"]
        .iter()
        .filter_map(|name| Some(format!("{} {name}", words::measure(event(counts, name)?.total?))))
        .collect();
    if parts.is_empty() {
        return nothing(report);
    }
    let counted: Vec<usize> = event(counts, "instructions")
        .map(|event| {
            (0..).zip(&event.values).filter(|(_, value)| value.is_some()).map(|(id, _)| id).collect()
        })
        .unwrap_or_default();
    let mut text = format!("{} in {}", words::sentence_list(&parts), words::count(counted.len(), "thread"));
    if counted.len() > 1 {
        text.push_str(&busiest(report, counts).unwrap_or_default());
    }
    if let Some(fraction) = counts.coverage.fraction {
        text.push_str(&format!("; coverage {}", words::coverage(fraction.0)));
    }
    text.push('.');
    if let Some(missing) = missing(&counts.coverage) {
        text.push(' ');
        text.push_str(&missing);
    }
    text
}

fn event<'a>(counts: &'a Counts, name: &str) -> Option<&'a CountedEvent> {
    counts.events.iter().find(|event| event.name == name)
}

fn nothing(report: &Report) -> String {
    let warnings = &report.quality.warnings;
    let why = warnings.iter().find(|warning| warning.code == NOT_TRANSLATED);
    match why {
        Some(why) => format!("Nothing was counted: {}.", why.text.trim_end_matches('.')),
        None if report.processes.iter().all(|each| !each.coverage.profiled) => recording::unprofiled(report),
        None => "Nothing was counted: the program ended too early, or its code was not translated.".into(),
    }
}

/// `; worker-2 makes 61% of the accesses`
fn busiest(report: &Report, counts: &Counts) -> Option<String> {
    let (loads, stores) = (event(counts, "loads")?, event(counts, "stores")?);
    let accesses =
        |load: &Option<u64>, store: &Option<u64>| load.unwrap_or(0).saturating_add(store.unwrap_or(0));
    let by_thread = loads.values.iter().zip(&stores.values).map(|(load, store)| accesses(load, store));
    let (id, most) = (0_u32..).zip(by_thread).max_by_key(|(_, accesses)| *accesses)?;
    let all = accesses(&loads.total, &stores.total);
    let name = ThreadNames::new(&report.threads).get(id).into_owned();
    (most > 0).then(|| format!("; {name} makes {} of the accesses", words::percent(most as f64 / all as f64)))
}

/// `12% of the thread time ran natively and is in no count, …`
pub fn missing(coverage: &CountCoverage) -> Option<String> {
    let fraction = coverage.fraction?.0;
    if fraction >= NEARLY_COMPLETE {
        return None;
    }
    let most = main_reason(coverage);
    let why = most.map(|leave| format!(", most often because of {}", leave.text)).unwrap_or_default();
    let threads = match coverage.uncounted_threads as usize {
        0 => String::new(),
        threads => format!("; {} not counted at all", words::count(threads, "thread")),
    };
    Some(format!(
        "{} of the thread time ran natively and is in no count{why}{threads}.",
        words::percent(1.0 - fraction)
    ))
}

/// ``Only 33% of thread time was observed, mostly because of code made at run time, which is not translated; `carom share
/// --engine burst -- node app.js` observes all of it.``
pub fn much_is_missing(report: &Report, coverage: &CountCoverage) -> Option<String> {
    let fraction = coverage.fraction?.0;
    if fraction >= MOSTLY_SEEN {
        return None;
    }
    let most = main_reason(coverage);
    let why = most.map(|leave| format!(", mostly because of {}", leave.text)).unwrap_or_default();
    let instead = most.filter(|leave| BURST_OBSERVES.contains(&leave.reason.as_str())).and_then(|_| {
        let command = match report.command {
            Command::Share | Command::Profile => "share",
            Command::Reuse => "reuse",
            _ => return None,
        };
        let program = words::command_line(&report.program.argv);
        Some(format!("; `carom {command} --engine burst -- {program}` observes all of it"))
    });
    let seen = words::percent(fraction);
    Some(format!("Only {seen} of thread time was observed{why}{}.", instead.unwrap_or_default()))
}

/// Why threads left translated code most often.
fn main_reason(coverage: &CountCoverage) -> Option<&Leave> {
    coverage.leaves.iter().filter(|leave| leave.times > 0).max_by_key(|leave| leave.times)
}

#[cfg(test)]
mod tests {
    use carom_study::count::Leave;

    use crate::{count::report, model::ProcessCoverage, sample};

    fn check(actual: &str, expect: &str) {
        assert_eq!(actual, expect);
    }

    #[test]
    fn totals_the_busiest_thread_and_coverage() {
        // 411.5 + 189.6 M accesses, of which worker-2 makes 251.9 + 115.1 M: 61%. 999.87 of 1,000 ms: floored.
        let (run, findings) = sample::counted();
        check(
            &report(&run, &findings).verdict,
            "1.23 G instructions, 412 M loads and 190 M stores in 3 threads; worker-2 makes 61% of the accesses; \
             coverage 99.98%.",
        );
    }

    #[test]
    fn what_is_missing_is_said_below_999_in_a_thousand() {
        let (run, mut findings) = sample::counted();
        findings.coverage.native_ns = findings.coverage.translated_ns / 3;
        findings.coverage.leaves = vec![(Leave::NativeCall, 3), (Leave::ForeignCode, 900)];
        findings.coverage.uncounted_threads = 1;
        let verdict = report(&run, &findings).verdict;
        assert!(
            verdict.ends_with(
                "coverage 75.00%. 25% of the thread time ran natively and is in no count, most often because of \
                 code made at run time, which is not translated; 1 thread not counted at all."
            ),
            "{verdict}"
        );
    }

    #[test]
    fn nothing_counted_says_why() {
        let (mut run, mut findings) = sample::counted();
        for event in &mut findings.events {
            event.total = None;
            event.threads.fill(None);
        }
        check(
            &report(&run, &findings).verdict,
            "Nothing was counted: the program ended too early, or its code was not translated.",
        );
        run.warnings.push(crate::model::Warning {
            code: "not-translated".into(),
            text: "the machine has a shadow stack, which is not supported yet.".into(),
        });
        check(
            &report(&run, &findings).verdict,
            "Nothing was counted: the machine has a shadow stack, which is not supported yet.",
        );
        run.warnings.clear();
        run.processes[0].coverage =
            ProcessCoverage { profiled: false, reason: Some("./app is statically linked".into()) };
        check(&report(&run, &findings).verdict, "Not profiled: ./app is statically linked.");
    }
}
