//! The answer in one or two sentences.

use carom_study::simulate::SimulateFindings;

use super::{compare, part, what_if};
use crate::{
    model::{Frame, Report, SimulatedCounts, SimulatedObject, SimulatedReference, Simulation},
    recording,
    words::{self, percent},
};

/// Fewer modelled cycles than this for each access are not worth a change of the program.
const CHEAP: f64 = 0.5;

/// What other cores cost is the problem if it is at least this part of all cycles.
const NOTABLE: f64 = 0.2;

/// One kind of sharing is all that is told of a line if it is at least this part.
const MOSTLY: f64 = 0.8;

/// What the simulation says about the program.
pub fn verdict(report: &Report, findings: &SimulateFindings, simulation: &Simulation) -> String {
    if let Some(problem) = &findings.problem {
        return format!("Nothing was simulated: {problem}.");
    }
    if simulation.total.accesses == 0 {
        let unread = |damage: &String| format!("None of this profile's accesses can be read: {damage}.");
        return findings.damage.as_ref().map_or_else(|| without_accesses(report), unread);
    }
    if let Some(comparison) = &simulation.compare {
        return compare::verdict(comparison);
    }
    if let Some(found) = &simulation.what_if {
        return what_if::verdict(simulation, found);
    }
    let total = &simulation.total;
    let of_others = total.coherence_cycles.0 / total.cycles.0.max(f64::MIN_POSITIVE);
    let cheap = total.cycles.0 < CHEAP * total.accesses as f64;
    match simulation.objects.first() {
        _ if cheap => hits(total),
        Some(taken) if of_others >= NOTABLE => coherence(simulation, taken, of_others),
        _ => simulation.references.first().map_or_else(|| hits(total), |worst| misses(simulation, worst)),
    }
}

fn without_accesses(report: &Report) -> String {
    if !report.processes.is_empty() && report.processes.iter().all(|each| !each.coverage.profiled) {
        return recording::unprofiled(report);
    }
    "This profile keeps no accesses: record it with carom trace, carom simulate, or carom reuse --exact --keep-accesses."
        .into()
}

/// `The caches serve the program well: 0.3% of its 12,000,000 accesses miss L1.`
fn hits(total: &SimulatedCounts) -> String {
    let missing = part(total.l1.total, total.accesses);
    let taken = total.caused.total();
    let others = match taken {
        0 => String::new(),
        _ => format!(", and cores take lines from each other {}", times(taken)),
    };
    format!(
        "The caches serve the program well: {} of its {} accesses miss L1{others}.",
        percent(missing),
        words::thousands(total.accesses)
    )
}

/// `Lines that cores take from each other cost 83% of the cycles of misses (model). Most of all counters.c:31 takes `counters` from
/// counters.c:31, 1,204,000 times, by false sharing: … .`
fn coherence(simulation: &Simulation, taken: &SimulatedObject, share: f64) -> String {
    let line_bytes = simulation.machine.as_ref().map_or(0, |machine| machine.line_bytes);
    let (name, all) = (&taken.object.name, &taken.invalidations);
    // Lines of one object have one cause.
    let line = simulation.lines.iter().find(|line| line.object.name == *name);
    let where_from = match taken.lines {
        1 => String::new(),
        lines if simulation.unnamed_lines > 0 => {
            format!(" in {} lines or more", words::thousands(lines as u64))
        }
        lines => format!(" in {} lines", words::thousands(lines as u64)),
    };
    let places = line.and_then(|line| line.pairs.first()).map_or_else(String::new, |pair| {
        let (by, of) = (place(&pair.by), place(&pair.of));
        if by == of { format!(" by {by}, on several cores") } else { format!(" by {by}, mostly from {of}") }
    });
    let (kind, remedy) = match all.false_part() {
        false_part if false_part >= MOSTLY => (
            format!("{} by false sharing", percent(false_part)),
            format!(
                "Give what different threads use lines of its own ({line_bytes} bytes each).{}",
                line.map_or_else(String::new, |line| what_if::proposal(line, line_bytes))
            ),
        ),
        false_part if false_part <= 1.0 - MOSTLY => (
            format!("{} by true sharing", percent(1.0 - false_part)),
            "Let the threads write there less often, or to copies of their own.".into(),
        ),
        false_part => (
            format!("{} by false sharing, the rest by true sharing", percent(false_part)),
            "Separate what different threads use, and write less often to what they share.".into(),
        ),
    };
    format!(
        "Lines that cores take from each other cost {} of the cycles of misses (model). `{name}` is taken {}{where_from}{places}; {kind}. {remedy}",
        percent(share),
        times(all.total()),
    )
}

/// `matmul.c:17 costs 98% of the cycles of misses (model): 12% of its 1,000,000 accesses miss L2, 95% of them for want of room.`
fn misses(simulation: &Simulation, worst: &SimulatedReference) -> String {
    let has_l2 =
        simulation.machine.as_ref().is_some_and(|machine| machine.levels.iter().any(|l| l.name == "l2"));
    let counts = &worst.counts;
    let (level, misses) = if has_l2 && counts.l2.total > 0 { ("L2", counts.l2) } else { ("L1", counts.l1) };
    let class = misses.main_class().map_or_else(String::new, |(class, share)| {
        format!(", {} of these {}", percent(share), of_class(class))
    });
    let data = worst.object.as_ref().map_or_else(String::new, |object| format!(" to `{}`", object.name));
    format!(
        "{} costs {} of the cycles of misses (model): {} of its {} accesses{data} miss {level}{class}.",
        capital(&place(&worst.call_path)),
        percent(worst.share.0),
        percent(part(misses.total, counts.accesses).min(1.0)),
        words::thousands(counts.accesses),
    )
}

const fn of_class(class: &str) -> &'static str {
    match class.as_bytes() {
        b"coherence" => "because another core wrote the line",
        b"conflict" => "because too many lines fall into one set",
        b"cold" => "because the line is used for the first time",
        _ => "for want of room",
    }
}

/// `2 times`, `once`.
pub fn times(number: u64) -> String {
    if number == 1 { "once".into() } else { format!("{} times", words::thousands(number)) }
}

/// `counters.c:31`, or the function, or the address.
pub fn place(path: &[Frame]) -> String {
    let at = words::place_in(path).and_then(|frame| words::place(frame.file.as_deref(), frame.line));
    let function = || words::own(path).first().and_then(|frame| frame.function.clone());
    let address = || path.first().map(|frame| format!("the instruction at {}", frame.address));
    at.or_else(function).or_else(address).unwrap_or_else(|| "an instruction that is not known".into())
}

fn capital(text: &str) -> String {
    match text.strip_prefix("the ") {
        Some(rest) => format!("The {rest}"),
        None => text.to_owned(),
    }
}
