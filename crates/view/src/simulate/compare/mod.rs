//! How far a reduced trace can be trusted.

pub mod model;
mod text;

use carom_study::simulate::{Compared, Comparison, INHERENTLY_LOW, Metric, Place, Selected};

use self::model::{SimulatedComparison, SimulatedMetric, SimulatedSelected, SimulatedSplit, SimulatedVolume};
pub use self::text::print;
use super::part;
use crate::{
    model::{Interval, Real, Warning},
    named::hexadecimal,
    words::{self, percent},
};

/// A trace whose first source lines have less than this part of what the best have misleads: on average, the paper's most lossy
/// traces that it calls accurate have 81%.
const TRUSTED: f64 = 0.8;

/// From the findings to the model.
pub fn convert(found: &Comparison) -> SimulatedComparison {
    SimulatedComparison {
        full: SimulatedVolume { loads: found.full.loads, stores: found.full.stores },
        reduced: SimulatedVolume { loads: found.reduced.loads, stores: found.reduced.stores },
        top: found.top,
        metrics: found.metrics.iter().map(metric).collect(),
        split: SimulatedSplit {
            reduced: Real(found.split.reduced),
            full: Real(found.split.full),
            inherent: Real(found.split.inherent),
            inherently_low: found.split.is_inherently_low(),
            similar: found.split.is_similar(),
        },
    }
}

fn metric(compared: &Compared) -> SimulatedMetric {
    SimulatedMetric {
        name: match compared.metric {
            Metric::LoadMisses => "coherence_load_misses",
            Metric::Invalidations => "invalidations",
            Metric::TrueSharing => "true_sharing",
            Metric::FalseSharing => "false_sharing",
        }
        .into(),
        full: compared.full,
        reduced: compared.reduced,
        coverage: compared.coverage.map(Real),
        false_positives: compared.false_positives(),
        selected: compared.selected.iter().map(selected).collect(),
    }
}

fn selected(selected: &Selected) -> SimulatedSelected {
    let (file, line, address) = match &selected.place {
        Place::Line(file, line) => (Some(file.clone()), Some(*line), None),
        Place::Instruction(_, address) => (None, None, Some(hexadecimal(*address))),
    };
    SimulatedSelected { file, line, address, reduced: selected.reduced, full: selected.full }
}

/// `The reduced trace can stand for the full one: its first source lines have 97% of the coherence misses of loads that the best ones
/// have (1 false positive), and 99% of the invalidations (none); it has 1.2% of the accesses.`
pub fn verdict(comparison: &SimulatedComparison) -> String {
    let ranked = comparison.metrics.iter().take(2);
    let coverages: Vec<f64> = ranked.clone().filter_map(|metric| Some(metric.coverage?.0)).collect();
    if coverages.is_empty() {
        return "Cores take no lines from each other in the full trace: there is nothing to find in a reduced one.".into();
    }
    let judged = if coverages.iter().all(|coverage| *coverage >= TRUSTED) {
        "can stand for the full one"
    } else {
        "misleads"
    };
    let told: Vec<String> = ranked.filter_map(told).collect();
    let volume = |volume: &SimulatedVolume| volume.loads + volume.stores;
    let split = if !comparison.split.similar {
        format!(
            " Its split of true and false sharing is wrong: by its first source lines for false sharing, {} of all invalidations are \
             false sharing, and {} in the full trace.",
            percent(comparison.split.reduced.0),
            percent(comparison.split.full.0)
        )
    } else {
        String::new()
    };
    format!(
        "The reduced trace {judged}: its first source lines have {}. It has {} of the loads and stores.{split}",
        words::sentence_list(&told),
        percent(part(volume(&comparison.reduced), volume(&comparison.full))),
    )
}

/// `97% of the coherence misses of loads that as many of the full trace have (1 false positive)`
fn told(metric: &SimulatedMetric) -> Option<String> {
    let coverage = metric.coverage?.0;
    let of = if metric.name == "invalidations" { "invalidations" } else { "coherence misses of loads" };
    Some(format!("{} of the {of} that the best have ({})", percent(coverage), false_positives(metric)))
}

fn false_positives(metric: &SimulatedMetric) -> String {
    match metric.false_positives {
        0 => "no false positive".into(),
        several => words::count(several, "false positive"),
    }
}

/// What limits the comparison.
pub fn warnings(found: &Comparison, comparison: &SimulatedComparison) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let has_references = comparison.metrics.iter().any(|metric| metric.full > 0 && metric.reduced > 0);
    if has_references && !found.has_common_references() {
        let text = "The two traces have no source line in common: they are of different programs, or one has no names.";
        warnings.push(Warning { code: "nothing-in-common".into(), text: text.into() });
    }
    let split = &comparison.split;
    if split.inherently_low && split.inherent.0 > 0.0 {
        let text = format!(
            "The program has little false sharing ({} of the invalidations of the full trace). Reduced traces take true sharing for false \
             there, because they lack accesses: do not trust their split.",
            percent(split.inherent.0)
        );
        warnings.push(Warning { code: "little-false-sharing".into(), text });
    }
    warnings
}

/// What is warned of where `carom share` found this part of the sharing to be false: an independent measure, as section 8.3 of the
/// paper wants it. Only a part that is surely large lets a reader trust a reduced trace's split.
pub fn gate(fraction: &Interval) -> Option<Warning> {
    (fraction.low.0 < INHERENTLY_LOW).then(|| Warning {
        code: "little-false-sharing".into(),
        text: format!(
            "carom share found {} of the sharing to be false, and at least {}. Reduced traces exaggerate little false sharing: do not \
             trust this trace's split of true and false.",
            percent(fraction.estimate.0),
            percent(fraction.low.0),
        ),
    })
}
