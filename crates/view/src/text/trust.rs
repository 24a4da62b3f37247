//! How far to trust the numbers: engine, counts, losses, warnings.

use super::{
    Options,
    page::{Page, Style},
};
use crate::{
    model::{Engine, EngineWatch, Exit, PeriodUnit, Program, Report},
    words,
};

/// Unprofiled processes listed by name.
const LISTED: usize = 5;

/// How it was measured: in a line, or in a row for each question that a careful reader asks; then what to know in any case,
/// unless the verdict says it.
pub fn print(page: &mut Page, report: &Report, options: &Options) {
    if options.verbose {
        rows(page, report);
    } else {
        page.end().paragraph(Style::Dim, &in_brief(report));
    }
    for process in report.processes.iter().filter(|process| !process.coverage.profiled).take(LISTED) {
        let name = process.argv.first().map_or("?", String::as_str);
        let reason = process.coverage.reason.as_deref().unwrap_or("reason not known");
        let text = format!("{name} (pid {}) was not observed: {reason}", process.pid);
        page.indented(Style::Orange, 0, "warning   ", &text);
    }
    for warning in report.quality.warnings.iter().filter(|warning| !report.verdict.contains(&warning.text)) {
        page.indented(Style::Orange, 0, "warning   ", &warning.text);
    }
}

/// `translate engine, 2.1 s, 3 threads, coverage 100%, 16,000 samples, 4,297 events of sharing. How this was measured: -v`
fn in_brief(report: &Report) -> String {
    let facts: Vec<String> = report.sections().iter().flat_map(|section| section.in_brief(report)).collect();
    let program = &report.program;
    let run = [format!("{} engine", report.engine.name), words::seconds(program.wall_s.0)];
    let threads = seen_inside(report).then(|| words::count(report.threads.len(), "thread"));
    let all: Vec<String> = run.into_iter().chain(threads).chain(facts).collect();
    format!("{}{}. How this was measured: -v", all.join(", "), cut(program))
}

/// Whether anything in the program saw its threads: from outside nobody knows them.
fn seen_inside(report: &Report) -> bool {
    !report.threads.is_empty() || !report.processes.is_empty()
}

fn rows(page: &mut Page, report: &Report) {
    page.heading("How this was measured");
    let mut row = |name: &str, text: &str| page.indented(Style::Plain, 0, &format!("{name:<10}"), text);
    row("program", &program(report));
    row("engine", &engine(report));
    let sections = report.sections();
    for (name, text) in sections.iter().flat_map(|section| section.measured(report)) {
        row(name, &text);
    }
    let unseen: Vec<&str> = report.quality.not_covered.iter().map(|part| part.text.as_str()).collect();
    if !unseen.is_empty() {
        row("not seen", &unseen.join("; "));
    }
    for (name, text) in sections.iter().flat_map(|section| section.precision()) {
        row(name, &text);
    }
    row("machine", &machine(report));
}

/// What is missing at the end of the recording, where anything is.
fn cut(program: &Program) -> String {
    match &program.cut_short {
        Some(why) => format!("; the recording was cut short: {why}"),
        None if !program.complete => "; the recording is incomplete".into(),
        None => String::new(),
    }
}

fn program(report: &Report) -> String {
    let program = &report.program;
    let end = match program.exit {
        Some(Exit::Code(0)) => "ended normally".into(),
        Some(Exit::Code(code)) => format!("exit status {code}"),
        Some(Exit::Signal(signal)) => format!("ended by signal {signal}"),
        None => "end not seen".into(),
    };
    let wall = words::seconds(program.wall_s.0);
    let end = match program.runs {
        0 | 1 => format!("{end} in {wall}"),
        runs => format!("{runs} runs, the longest of {wall}; the first {end}"),
    };
    let processes = match report.processes.len() {
        1 => "1 process".into(),
        many => format!("{many} processes"),
    };
    let threads = words::count(report.threads.len(), "thread");
    let seen = if seen_inside(report) { format!(", {threads} in {processes}") } else { String::new() };
    format!("{}; {end}{seen}{}", words::command_line(&program.argv), cut(program))
}

fn engine(report: &Report) -> String {
    let engine = &report.engine;
    let who = format!("{} ({})", engine.name, engine.reason);
    if !seen_inside(report) {
        return who;
    }
    if engine.period == 0 {
        return format!("{who}; everything is counted, nothing sampled");
    }
    let period = match engine.period_unit {
        PeriodUnit::Ns => format!(", one every {:.2} ms of thread CPU time", engine.period as f64 / 1e6),
        PeriodUnit::Accesses => String::new(),
    };
    let budget = engine.budget_percent.map(|budget| format!(", budget {}%", budget.0)).unwrap_or_default();
    if report.share.is_none() {
        let in_episodes = report.reuse.as_ref().is_some_and(|reuse| reuse.quality.in_episodes);
        let when = if in_episodes { "in an episode " } else { "" };
        return format!("{who}; {when}a sample stands for {}{period}{budget}", engine.sample_means);
    }
    format!(
        "{who}; a sample stands for {}{period}{budget}; {}; {}, {} of the bulletin board",
        engine.sample_means,
        engine.delivery.describe(),
        watched(engine),
        words::count(engine.board_slots as usize, "slot"),
    )
}

/// The watches of a thread at a time.
fn watched(engine: &Engine) -> String {
    match engine.watch {
        Some(EngineWatch::Software) => "one line watched in software".into(),
        Some(EngineWatch::Registers) | None => words::count(engine.watchpoints as usize, "watchpoint"),
    }
}

/// Samples or watchpoints that the budget did not allow, where there are any.
pub fn left_out(report: &Report) -> Option<String> {
    let what = match (&report.share, report.engine.period_unit) {
        (Some(_), PeriodUnit::Accesses) => "watchpoint",
        _ => "sample",
    };
    let number = report.quality.budget_skipped;
    (number > 0).then(|| format!("{} left out to keep to the budget", words::count(number as usize, what)))
}

fn machine(report: &Report) -> String {
    let machine = &report.machine;
    let guest = machine.hypervisor.as_deref().map(|name| format!(", {name} guest")).unwrap_or_default();
    format!(
        "{}, {}, Linux {}{guest}",
        machine.cpu_model,
        words::count(machine.logical_cpus as usize, "processor"),
        machine.kernel
    )
}
