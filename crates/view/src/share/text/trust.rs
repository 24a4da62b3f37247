//! How far to trust the findings on sharing.

use crate::{
    model::{PeriodUnit, Report, Share},
    section::Row,
    text::trust::left_out,
    words,
};

/// The samples, and the losses.
pub fn measured(report: &Report) -> Vec<Row> {
    vec![("samples", samples(report)), ("lost", lost(report))]
}

/// How well the fraction of false sharing is known.
pub fn precision(share: &Share) -> Vec<Row> {
    let text = share.false_fraction.map(|fraction| {
        format!(
            "{} of all sharing, 95% interval {} to {}",
            words::percent(fraction.estimate.0),
            words::percent(fraction.low.0),
            words::percent(fraction.high.0)
        )
    });
    text.map(|text| ("false", text)).into_iter().collect()
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
