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

/// Samples and events.
pub fn in_brief(report: &Report) -> Vec<String> {
    let quality = &report.quality;
    let mut parts = vec![
        words::count(quality.samples as usize, "sample"),
        format!("{} of sharing", words::count(quality.events as usize, "event")),
    ];
    if quality.dropped > 0 {
        parts.push(format!("{} lost", words::count(quality.dropped as usize, "record")));
    }
    if quality.unprofiled_threads > 0 {
        parts.push(format!("{} not observed", words::count(quality.unprofiled_threads as usize, "thread")));
    }
    parts
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
    let sampled = match report.engine.period_unit {
        PeriodUnit::Accesses if quality.last_instruction == 0 => {
            words::count(quality.step as usize, "sample")
        }
        _ => format!(
            "{} samples by time, {} by executed instructions",
            words::thousands(quality.last_instruction),
            words::thousands(quality.step)
        ),
    };
    let sampled = format!(
        "{sampled}; {} of sharing; {} set, {} hit",
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
        format!("{} on the bulletin board", words::count(quality.collisions as usize, "collision")),
    ];
    if quality.unprofiled_threads > 0 {
        parts.push(words::count(quality.unprofiled_threads as usize, "thread") + " not observed");
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
