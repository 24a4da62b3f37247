//! How far to trust the numbers: engine, counts, losses, warnings.

use super::page::{Page, Style};
use crate::{
    model::{Command, CountCoverage, Engine, EngineWatch, Exit, PeriodUnit, Report, Reuse},
    words,
};

/// Unprofiled processes listed by name.
const LISTED: usize = 5;

/// One row per question that a careful reader asks.
pub fn print(page: &mut Page, report: &Report) {
    page.heading("How this was measured");
    let mut row = |name: &str, text: &str| page.indented(Style::Plain, 0, &format!("{name:<10}"), text);
    row("program", &program(report));
    row("engine", &engine(report));
    if let Some(counts) = &report.count {
        row("coverage", &coverage(&counts.coverage));
    }
    if let Some(reuse) = &report.reuse {
        row("uses", &uses(report, reuse));
        row("lost", &lost_uses(report, reuse));
    }
    if report.share.is_some() {
        row("samples", &samples(report));
        row("lost", &lost(report));
    }
    let unseen: Vec<&str> = report.quality.not_covered.iter().map(|part| part.text.as_str()).collect();
    row("not seen", &unseen.join("; "));
    if let Some(fraction) = report.share.as_ref().and_then(|share| share.false_fraction) {
        row(
            "false",
            &format!(
                "{} of all sharing, 95% interval {} to {}",
                words::percent(fraction.estimate.0),
                words::percent(fraction.low.0),
                words::percent(fraction.high.0)
            ),
        );
    }
    row("machine", &machine(report));
    for process in report.processes.iter().filter(|process| !process.coverage.profiled).take(LISTED) {
        let name = process.argv.first().map_or("?", String::as_str);
        let reason = process.coverage.reason.as_deref().unwrap_or("reason not known");
        row("unprofiled", &format!("{name} (pid {}): {reason}", process.pid));
    }
    for warning in &report.quality.warnings {
        page.indented(Style::Orange, 0, "warning   ", &warning.text);
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
    let cut = match &program.cut_short {
        Some(why) => format!("; the recording was cut short: {why}"),
        None if !program.complete => "; the recording is incomplete".into(),
        None => String::new(),
    };
    let wall = words::seconds(program.wall_s.0);
    let end = match program.runs {
        0 | 1 => format!("{end} in {wall}"),
        runs => format!("{runs} runs, the longest of {wall}; the first {end}"),
    };
    format!(
        "{}; {end}, {} in {}{cut}",
        program.argv.join(" "),
        words::count(report.threads.len(), "thread"),
        if report.processes.len() == 1 {
            "1 process".into()
        } else {
            format!("{} processes", report.processes.len())
        },
    )
}

fn engine(report: &Report) -> String {
    let engine = &report.engine;
    let who = format!("{} ({})", engine.name, engine.reason);
    if engine.period == 0 {
        return format!("{who}; everything is counted, nothing sampled");
    }
    let period = match engine.period_unit {
        PeriodUnit::Ns => format!(", one every {:.2} ms of thread CPU time", engine.period as f64 / 1e6),
        PeriodUnit::Accesses => String::new(),
    };
    let budget = engine.budget_percent.map(|budget| format!(", budget {}%", budget.0)).unwrap_or_default();
    if report.command == Command::Reuse {
        return format!("{who}; a sample stands for {}{period}{budget}", engine.sample_means);
    }
    format!(
        "{who}; a sample stands for {}{period}{budget}; {}; {}, {} on the board",
        engine.sample_means,
        engine.delivery.describe(),
        watched(engine),
        words::count(engine.board_slots as usize, "slot"),
    )
}

/// What a thread watches at a time.
fn watched(engine: &Engine) -> String {
    match engine.watch {
        Some(EngineWatch::Software) => "one line watched in software".into(),
        Some(EngineWatch::Registers) | None => words::count(engine.watchpoints as usize, "watchpoint"),
    }
}

fn samples(report: &Report) -> String {
    let quality = &report.quality;
    let by_time = match report.engine.period_unit {
        PeriodUnit::Accesses if quality.last_instruction == 0 => String::new(),
        _ => format!("{} by time and ", words::thousands(quality.last_instruction)),
    };
    let sampled = format!(
        "{by_time}{} by execution; {} of sharing; {} set, {} trapped",
        words::thousands(quality.step),
        words::count(quality.events as usize, "event"),
        words::count(quality.watchpoints_armed as usize, "watchpoint"),
        words::thousands(quality.watchpoint_traps),
    );
    [Some(sampled), left_out(report)].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// What the budget did not allow, where there is any.
fn left_out(report: &Report) -> Option<String> {
    let what = match (report.command, report.engine.period_unit) {
        (Command::Reuse, _) => "more",
        (_, PeriodUnit::Ns) => "more by execution",
        (_, PeriodUnit::Accesses) => "watchpoints",
    };
    let number = report.quality.budget_skipped;
    (number > 0).then(|| format!("{} {what} left out to keep to the budget", words::thousands(number)))
}

/// What was followed, and how it ended.
fn uses(report: &Report, reuse: &Reuse) -> String {
    let quality = &reuse.quality;
    let exact = (quality.exact_accesses > 0).then(|| {
        let of = if quality.place_rate.0 < 1.0 {
            format!(" to a sample of {} of the places", words::percent(quality.place_rate.0))
        } else {
            String::new()
        };
        format!("every access{of}: {}", words::thousands(quality.exact_accesses))
    });
    let watched = (quality.offered > 0).then(|| {
        let part = |uses: u64| words::percent(uses as f64 / quality.watched.max(1) as f64);
        format!(
            "{} sampled, {} watched: {} reused, {} invalidated, {} not used again, {} given up for others",
            words::thousands(quality.offered),
            words::thousands(quality.watched),
            part(quality.reused),
            part(quality.invalidated),
            part(quality.ended),
            part(quality.replaced),
        )
    });
    let parts: Vec<String> = exact.into_iter().chain(watched).chain(left_out(report)).collect();
    if parts.is_empty() { "none".into() } else { parts.join("; ") }
}

fn lost_uses(report: &Report, reuse: &Reuse) -> String {
    let quality = &reuse.quality;
    let mut parts = vec![format!("{} dropped", words::count(report.quality.dropped as usize, "record"))];
    if let Some(window) = quality.window_ns {
        parts.push(format!(
            "{} from sample to watch on average",
            words::nanoseconds(window.0.max(0.0) as u64)
        ));
    }
    if quality.threads_armed + quality.threads_unarmed > 0 {
        parts.push(format!(
            "{} of {} watches in other threads not set",
            words::thousands(quality.threads_unarmed),
            words::thousands(quality.threads_armed.saturating_add(quality.threads_unarmed))
        ));
    }
    if quality.early_touches > 0 {
        let uses = words::count(quality.early_touches as usize, "use");
        parts.push(format!("{uses} touched by others only while their thread was held"));
    }
    if quality.cells_lost > 0 {
        parts.push(format!("{} without room", words::count(quality.cells_lost as usize, "count")));
    }
    if report.quality.unprofiled_threads > 0 {
        parts.push(words::count(report.quality.unprofiled_threads as usize, "thread") + " unprofiled");
    }
    parts.join("; ")
}

fn coverage(coverage: &CountCoverage) -> String {
    let part = coverage.fraction.map_or("not known".into(), |fraction| words::coverage(fraction.0));
    let mut text = format!("{part} of the threads' CPU time");
    let mut leaves: Vec<_> = coverage.leaves.iter().filter(|leave| leave.times > 0).collect();
    leaves.sort_by_key(|leave| std::cmp::Reverse(leave.times));
    if !leaves.is_empty() {
        let reasons: Vec<String> = leaves
            .iter()
            .map(|leave| format!("{} × {}", words::thousands(leave.times), leave.text))
            .collect();
        text.push_str(&format!("; left for native code by {}", reasons.join(", ")));
    }
    if coverage.unbooked_ns > 0 {
        let found = words::seconds(coverage.unbooked_ns as f64 / 1e9);
        text.push_str(&format!("; {found} of native code found by the timer alone"));
    }
    if coverage.unwitnessed_threads > 0 {
        let threads = words::count(coverage.unwitnessed_threads as usize, "thread");
        text.push_str(&format!("; not witnessed by a timer in {threads}"));
    }
    if coverage.uncounted_threads > 0 {
        text.push_str(&format!(
            "; {} not counted",
            words::count(coverage.uncounted_threads as usize, "thread")
        ));
    }
    text
}

fn lost(report: &Report) -> String {
    let quality = &report.quality;
    let mut parts = vec![
        format!("{} dropped", words::count(quality.dropped as usize, "record")),
        format!("{} on the board", words::count(quality.collisions as usize, "collision")),
    ];
    if quality.unprofiled_threads > 0 {
        parts.push(words::count(quality.unprofiled_threads as usize, "thread") + " unprofiled");
    }
    let mut reasons: Vec<_> = quality.skipped.iter().filter(|skipped| skipped.samples > 0).collect();
    reasons.sort_by_key(|skipped| std::cmp::Reverse(skipped.samples));
    if !reasons.is_empty() {
        let part = |samples: u64| words::percent(samples as f64 / quality.samples.max(1) as f64);
        let reasons: Vec<String> =
            reasons.iter().map(|skipped| format!("{} {}", part(skipped.samples), skipped.text)).collect();
        parts.push(format!("samples without an address: {}", reasons.join(", ")));
    }
    parts.join("; ")
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
