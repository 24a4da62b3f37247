//! What was not seen, and what that means.

use carom_study::share::{NotEnough, Remedy, SAMPLES_TO_SEE_A_LINE, ShareFindings, Unit};

use super::{object, top};
use crate::{
    RunInfo,
    model::{EngineDelivery, MatrixUnit, NotEnoughData, PeriodInForce, Report, Share},
    words,
};

/// Where lines of this share would have shown up, a handful of events on other lines is not worth a longer run.
const NEGLIGIBLE: f64 = 0.01;

/// Nobody changes a program for less of its time than this: runs of one program differ by as much.
const LITTLE_TIME: f64 = 0.02;

/// With fewer samples than this, the absence of sharing means nothing.
const ENOUGH_SAMPLES: u64 = 30;

/// The code of the warning that memory of several processes was not compared.
const NOT_COMPARED: &str = "shared-memory-not-compared";

/// Whether so many samples would have shown what there is.
pub(super) fn is_told(report: &Report, share: &Share, few: &NotEnoughData) -> bool {
    let samples = ranking(report, share);
    let limit = smallest_line(samples, &report.quality.periods);
    // Without watchpoints only what two threads do at nearly the same time is seen: absence takes more evidence.
    let watched = report.engine.delivery != EngineDelivery::PosixTimer && report.engine.watchpoints > 0;
    if few.events == 0 && watched { samples >= ENOUGH_SAMPLES } else { limit <= NEGLIGIBLE }
}

/// Whether the few events that were seen take too little time to matter, and more would have been seen. Threads that wait for a
/// lock lose more than the moves of its line.
pub fn is_negligible(report: &Report, findings: &ShareFindings, few: NotEnough) -> bool {
    let waits = |remedy: &Remedy| {
        matches!(remedy, Remedy::Contend(_) | Remedy::PadThenShareLess { lock: Some(_), .. })
    };
    few.moving.is_some_and(|part| part <= LITTLE_TIME)
        && report.engine.watchpoints > 0
        && smallest_line(findings.quality.step, &report.quality.periods) <= NEGLIGIBLE
        && !findings.objects.iter().any(|object| waits(&object.remedy))
}

/// How many samples shares are of.
fn ranking(report: &Report, share: &Share) -> u64 {
    match share.matrix.unit {
        MatrixUnit::Samples => report.quality.last_instruction,
        MatrixUnit::Accesses | MatrixUnit::Transfers => report.quality.step,
    }
}

/// That nothing was found says nothing of memory that nobody compared.
pub(super) fn with_what_was_not_compared(report: &Report, found: String) -> String {
    let not_compared = report.quality.warnings.iter().filter(|warning| warning.code == NOT_COMPARED);
    not_compared.fold(found, |said, warning| format!("{said} {}", warning.text))
}

/// That no line was seen, and which would have been.
pub(super) fn nothing(report: &Report, share: &Share) -> String {
    let samples = ranking(report, share);
    let limit = smallest_line(samples, &report.quality.periods);
    let often = if report.quality.events == 0 { "" } else { " more than once or twice" };
    let seen =
        format!("No line was seen to bounce between threads{often} in {} samples", words::thousands(samples));
    if limit >= 1.0 {
        return format!("{seen}, too few to say more: run longer.");
    }
    format!(
        "{seen}; a line that one thread keeps writing while another uses it, and that takes more than {} of {}, would have \
         shown up.",
        words::percent(limit),
        share.matrix.unit.whole()
    )
}

/// The share of the smallest line that this many samples would have shown, rounded up to a tenth of a percent:
/// the claim must not be larger than the evidence. Where the period changed, the line may have been accessed while it was
/// longest: as many samples of that period would have shown as much.
fn smallest_line(samples: u64, periods: &[PeriodInForce]) -> f64 {
    const TENTHS: f64 = 1e3;
    (SAMPLES_TO_SEE_A_LINE / (samples as f64 * part_at_longest(periods)) * TENTHS).ceil() / TENTHS
}

/// The samples of the longest period for what all stand for, as a part of all samples.
fn part_at_longest(periods: &[PeriodInForce]) -> f64 {
    let longest = periods.iter().map(|each| each.period).max().unwrap_or(0) as f64;
    let samples: f64 = periods.iter().map(|each| each.samples as f64).sum();
    let accesses: f64 = periods.iter().map(|each| each.samples as f64 * each.period as f64).sum();
    if accesses > 0.0 { accesses / (longest * samples) } else { 1.0 }
}

/// How long to run so that no line of [`NEGLIGIBLE`] share hides, at the observed rate of samples.
pub fn seconds_to_rule_out(run: &RunInfo, findings: &ShareFindings) -> Option<f64> {
    let samples = match findings.unit {
        Unit::Samples => findings.quality.last_instruction,
        Unit::Accesses => findings.quality.step,
    };
    (samples > 0).then(|| run.program.wall_s.0 * (SAMPLES_TO_SEE_A_LINE / NEGLIGIBLE) / samples as f64)
}

/// How much was seen, and how to see more.
pub(super) fn not_enough(report: &Report, share: &Share, few: &NotEnoughData) -> String {
    // What leads has events of both kinds of sample.
    let all = usize::try_from(report.quality.events).unwrap_or(usize::MAX);
    let after = words::seconds(report.program.wall_s.0);
    let seen = if all < few.needed {
        format!(
            "Not enough data: {} of sharing in {after}, and {} are needed.",
            words::count(all, "event"),
            few.needed
        )
    } else {
        format!(
            "Not enough data: {} of sharing in {after}, but fewer than {} for each object.",
            words::count(all, "event"),
            few.needed
        )
    };
    let so_far = top(share).map(|(top, _)| format!("; so far {} leads", object(top))).unwrap_or_default();
    match few.run_s {
        Some(run) if run.0 > words::LONGEST_RUN_S => {
            format!("{seen} Sample more often with {}{so_far}.", more_samples(share))
        }
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

/// That what was seen does not matter.
pub(super) fn little(report: &Report, share: &Share, few: &NotEnoughData) -> String {
    let events = words::count(usize::try_from(report.quality.events).unwrap_or(usize::MAX), "event");
    let part = few.moving.map_or_else(String::new, |part| words::percent(part.0));
    let leads = top(share).map(|(top, _)| format!("; {} leads", object(top))).unwrap_or_default();
    format!(
        "Little is shared: {events} of sharing in {}{leads}. Lines that move between cores take at most {part} of the run, \
         as modelled: there is nothing to gain.",
        words::seconds(report.program.wall_s.0)
    )
}

/// The options that make for more samples.
fn more_samples(share: &Share) -> &'static str {
    match share.matrix.unit {
        MatrixUnit::Samples => "--budget or --period",
        MatrixUnit::Accesses | MatrixUnit::Transfers => "--period",
    }
}

/// What the step samples are too few for.
pub(super) fn few_steps(share: &Share, few: &NotEnoughData) -> String {
    let seen = format!(
        "The fraction of false sharing in the whole program and the matrix take {} events from samples of executed \
         instructions, of which there are {}",
        few.needed, few.events
    );
    match few.run_s {
        Some(run) if run.0 > words::LONGEST_RUN_S => {
            format!("{seen}: sample more often with {}.", more_samples(share))
        }
        Some(run) if run.0.is_finite() => format!("{seen}: run for at least {:.0} s.", run.0.ceil()),
        _ => format!("{seen}: run longer, or sample more often with {}.", more_samples(share)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8,000 samples of 100 accesses and 1,000 of 800: 1.6 million accesses, or 2,000 samples of the longest period.
    #[test]
    fn samples_of_short_periods_tell_less_of_long_ones() {
        let of = |period, samples| PeriodInForce { period, samples };
        assert_eq!(part_at_longest(&[of(100, 8_000), of(800, 1_000)]) * 9_000.0, 2_000.0);
        assert_eq!((part_at_longest(&[of(100, 7)]), part_at_longest(&[])), (1.0, 1.0));
    }
}
