//! How far to trust the findings on reuse.

use crate::{
    model::{Report, Reuse},
    section::Row,
    text::trust::left_out,
    words,
};

/// The uses followed, and the losses.
pub fn measured(report: &Report, reuse: &Reuse) -> Vec<Row> {
    vec![("uses", uses(report, reuse)), ("lost", lost_uses(report, reuse))]
}

/// What was followed.
pub fn in_brief(report: &Report, reuse: &Reuse) -> Vec<String> {
    let quality = &reuse.quality;
    let mut parts = Vec::new();
    if quality.exact_accesses > 0 {
        parts.push(format!("{} accesses followed", words::measure(quality.exact_accesses)));
    }
    if quality.offered > 0 {
        parts.push(format!("{} followed", words::count(quality.watched as usize, "sample")));
    }
    if report.quality.dropped > 0 {
        parts.push(format!("{} lost", words::count(report.quality.dropped as usize, "record")));
    }
    parts
}

/// The uses followed, by how they ended.
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
            "{} sampled, {} followed: {} reused, {} invalidated, {} never reused, {} dropped for newer samples",
            words::thousands(quality.offered),
            words::thousands(quality.watched),
            part(quality.reused),
            part(quality.invalidated),
            part(quality.ended),
            part(quality.replaced),
        )
    });
    let episodes =
        quality.in_episodes.then(|| "accesses looked up at first, later in a tenth of the run".into());
    let parts: Vec<String> =
        exact.into_iter().chain(watched).chain(left_out(report)).chain(episodes).collect();
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
        parts.push(words::count(report.quality.unprofiled_threads as usize, "thread") + " not observed");
    }
    parts.join("; ")
}
