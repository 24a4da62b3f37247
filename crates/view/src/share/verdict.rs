//! The verdict of `carom share`, in units that the engine can claim.

use std::collections::BTreeMap;

use carom_study::share::{ShareFindings, Unit};

use crate::{
    RunInfo,
    model::{EngineDelivery, Interval, Line, MatrixUnit, NotEnoughData, Report, Share},
    recording,
    words::{self, ThreadNames},
};

/// From here on sharing is called false, and below one minus this true.
const NEARLY_ALL: f64 = 0.9;

/// A thread with less than this part of a line's samples is not named as a party to it.
const BYSTANDER: f64 = 0.02;

/// Where lines of this share would have shown up, a handful of events on other lines is not worth a longer run.
const NEGLIGIBLE: f64 = 0.01;

/// With fewer samples than this, the absence of sharing means nothing.
const ENOUGH_SAMPLES: u64 = 30;

/// The code of the warning that memory of several processes was not compared.
const NOT_COMPARED: &str = "shared-memory-not-compared";

/// A line that two threads share equally is sampled in both with 95% probability when it is expected to be
/// sampled this often altogether: (1 - exp(-x/2))^2 = 0.95, samples being independent (Poisson).
const SAMPLES_TO_SEE_A_LINE: f64 = 7.35;

/// The answer in one or two sentences.
pub fn verdict(report: &Report, share: &Share) -> String {
    let main = if report.quality.samples == 0 && report.processes.iter().all(|each| !each.coverage.profiled) {
        recording::unprofiled(report)
    } else if let Some(few) = &share.not_enough {
        let samples = ranking(report, share);
        // Without watchpoints only what two threads do at nearly the same time is seen: absence takes more evidence.
        let watched = report.engine.delivery != EngineDelivery::PosixTimer && report.engine.watchpoints > 0;
        let unseen = if few.events == 0 && watched {
            samples >= ENOUGH_SAMPLES
        } else {
            smallest_line(samples) <= NEGLIGIBLE
        };
        match share.lines.first() {
            None if unseen => nothing(report, share),
            Some(top) if top.events >= few.needed as u64 => {
                format!("{} {}", found_by_time(report, share, top), few_steps(share, few))
            }
            _ => not_enough(report, share, few),
        }
    } else if share.lines.is_empty() {
        nothing(report, share)
    } else {
        found(report, share)
    };
    let main = if share.lines.is_empty() { with_what_was_not_compared(report, main) } else { main };
    match report.engine.delivery {
        EngineDelivery::PosixTimer if report.quality.samples > 0 => format!(
            "{main} Sampled with POSIX timers and without watchpoints: coarse, and lines that bounce rarely are \
             missed."
        ),
        EngineDelivery::Inline if report.quality.samples > 0 && report.engine.watchpoints == 0 => {
            format!("{main} Sampled without watchpoints: lines that bounce rarely are missed.")
        }
        _ => main,
    }
}

/// How many samples shares are of.
fn ranking(report: &Report, share: &Share) -> u64 {
    match share.matrix.unit {
        MatrixUnit::Samples => report.quality.last_instruction,
        MatrixUnit::Accesses | MatrixUnit::Transfers => report.quality.step,
    }
}

/// That nothing was found says nothing of memory that nobody compared.
fn with_what_was_not_compared(report: &Report, found: String) -> String {
    let not_compared = report.quality.warnings.iter().filter(|warning| warning.code == NOT_COMPARED);
    not_compared.fold(found, |said, warning| format!("{said} {}", warning.text))
}

fn nothing(report: &Report, share: &Share) -> String {
    let samples = ranking(report, share);
    let limit = smallest_line(samples);
    let often = if report.quality.events == 0 { "" } else { " more than once or twice" };
    let seen =
        format!("No line was seen to bounce between threads{often} in {} samples", words::thousands(samples));
    match report.threads.len() {
        0 | 1 => format!("{seen}: the program has a single thread."),
        _ if limit >= 1.0 => format!("{seen}, too few to say more: run longer."),
        _ => format!(
            "{seen}; a line that takes more than {} of {} would have shown up.",
            words::percent(limit),
            share.matrix.unit.whole()
        ),
    }
}

/// The share of the smallest line that this many samples would have shown, rounded up to a tenth of a percent:
/// the claim must not be larger than the evidence.
fn smallest_line(samples: u64) -> f64 {
    const TENTHS: f64 = 1e3;
    (SAMPLES_TO_SEE_A_LINE / samples as f64 * TENTHS).ceil() / TENTHS
}

/// How long to run so that no line of [`NEGLIGIBLE`] share hides, at the observed rate of samples.
pub fn seconds_to_rule_out(run: &RunInfo, findings: &ShareFindings) -> Option<f64> {
    let samples = match findings.unit {
        Unit::Samples => findings.quality.last_instruction,
        Unit::Accesses => findings.quality.step,
    };
    (samples > 0).then(|| run.program.wall_s.0 * (SAMPLES_TO_SEE_A_LINE / NEGLIGIBLE) / samples as f64)
}

fn not_enough(report: &Report, share: &Share, few: &NotEnoughData) -> String {
    let seen = format!(
        "Not enough data: {} of sharing in {}, and {} are needed.",
        words::count(few.events, "event"),
        words::seconds(report.program.wall_s.0),
        few.needed
    );
    let so_far =
        share.lines.first().map(|line| format!("; so far {} leads", object(line))).unwrap_or_default();
    match few.run_s {
        Some(run) if run.0.is_finite() => {
            let aim = if few.events == 0 {
                format!(
                    ", so that a line that takes {} of {} shows up",
                    words::percent(NEGLIGIBLE),
                    share.matrix.unit.whole()
                )
            } else {
                String::new()
            };
            format!("{seen} Run for at least {:.0} s{aim}{so_far}.", run.0.ceil())
        }
        _ => format!("{seen} Run longer, or sample more often with {}{so_far}.", more_samples(share)),
    }
}

/// The contended lines are clear from time-weighted samples, although step samples are too few for fractions.
fn found_by_time(report: &Report, share: &Share, top: &Line) -> String {
    let names = ThreadNames::new(&report.threads);
    let (kind, bytes) = match top.false_fraction {
        Some(fraction) if fraction.estimate.0 >= NEARLY_ALL => ("false sharing", against(top)),
        Some(fraction) if fraction.estimate.0 <= 1.0 - NEARLY_ALL => ("true sharing", exchanged(top)),
        _ => ("true and false sharing", String::new()),
    };
    let most = if share.lines.len() == 1 { "" } else { ", most of it" };
    let place = join(&[most, kind, &names.between(&contenders(top)), "on", &object(top)]);
    let joint = if most.is_empty() { ":" } else { "" };
    format!("{}{joint}{place}{bytes}.", lines_take(share))
}

/// The options that make for more samples.
fn more_samples(share: &Share) -> &'static str {
    match share.matrix.unit {
        MatrixUnit::Samples => "--budget or --period",
        MatrixUnit::Accesses | MatrixUnit::Transfers => "--period",
    }
}

/// What the step samples are too few for.
fn few_steps(share: &Share, few: &NotEnoughData) -> String {
    let seen = format!(
        "For the fraction of false sharing in the whole program and for the matrix, {} of {} needed were seen",
        words::count(few.events, "event"),
        few.needed
    );
    match few.run_s {
        Some(run) if run.0.is_finite() => format!("{seen}: run for at least {:.0} s.", run.0.ceil()),
        _ => format!("{seen}: run longer, or sample more often with {}.", more_samples(share)),
    }
}

/// `2 cache lines take 18% (±2) of the sampled thread time`
fn lines_take(share: &Share) -> String {
    let lines = share.lines.len();
    format!(
        "{} {} {} of {}",
        words::count(lines, "cache line"),
        if lines == 1 { "takes" } else { "take" },
        words::percent_with_error(&share.contended_share),
        share.matrix.unit.whole()
    )
}

fn found(report: &Report, share: &Share) -> String {
    let names = ThreadNames::new(&report.threads);
    let lines = share.lines.len();
    let first = lines_take(share);
    let Some(top) = share.lines.first() else { return first };
    let owner = if lines == 1 { "its" } else { "their" };
    let worst = if lines == 1 { "" } else { ", most of it" };
    let place = join(&[worst, &names.between(&contenders(top)), "on", &object(top)]);
    match share.false_fraction {
        Some(Interval { estimate, .. }) if estimate.0 >= NEARLY_ALL => {
            format!(
                "{first}; {} of {owner} traffic is false sharing{place}{}.",
                words::percent(estimate.0),
                against(top)
            )
        }
        Some(Interval { estimate, .. }) if estimate.0 <= 1.0 - NEARLY_ALL => format!(
            "{first}; {} of {owner} traffic is true sharing{place}{}.",
            words::percent(1.0 - estimate.0),
            exchanged(top)
        ),
        Some(mixed) => format!(
            "{first}; {} of {owner} traffic is false sharing, the rest true{}.",
            words::percent_with_error(&mixed),
            if worst.is_empty() { place } else { place.replacen(worst, ", most", 1) }
        ),
        None => format!("{first}{place}."),
    }
}

/// Joins with single spaces; a part that begins with a comma takes none before it.
fn join(parts: &[&str]) -> String {
    let mut text = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if !part.starts_with(',') {
            text.push(' ');
        }
        text.push_str(part);
    }
    text
}

/// `` `stats` (app.c:12) ``
fn object(line: &Line) -> String {
    let declared = line.object.declared.as_ref();
    match declared.and_then(|frame| words::place(frame.file.as_deref(), frame.line)) {
        Some(place) => format!("`{}` ({place})", line.object.name),
        None => format!("`{}`", line.object.name),
    }
}

/// The threads that contend for the line, in natural order: the pair that exchanges nearly all of it, else those of its sites without the bystanders, or
/// where no site was seen, all that touch its bytes.
fn contenders(line: &Line) -> Vec<u32> {
    if let Some(pair) = line.pair.filter(|pair| pair.fraction.0 >= NEARLY_ALL) {
        return pair.threads.to_vec();
    }
    let mut shares = BTreeMap::<u32, f64>::new();
    for site in &line.sites {
        *shares.entry(site.thread).or_default() += site.share_of_samples.0;
    }
    let total: f64 = shares.values().sum();
    if shares.len() > 2 {
        shares.retain(|_, share| *share >= BYSTANDER * total);
    }
    if shares.is_empty() {
        for range in &line.layout {
            shares.extend(range.readers.iter().chain(&range.writers).map(|&thread| (thread, 0.0)));
        }
    }
    shares.into_keys().collect()
}

/// `, bytes 0-7 against 8-15`
fn against(line: &Line) -> String {
    match line.layout.as_slice() {
        [] | [_] => String::new(),
        [one, other] => format!(
            ", {} against {}",
            words::bytes(one.offset_bytes, one.width_bytes),
            words::byte_range(other.offset_bytes, other.width_bytes)
        ),
        many => format!(", in {} separate parts of the line", many.len()),
    }
}

/// `, bytes 0-7`: the widest exchange is not known here, so only a single range is named.
fn exchanged(line: &Line) -> String {
    match line.layout.as_slice() {
        [only] => format!(", {}", words::bytes(only.offset_bytes, only.width_bytes)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
