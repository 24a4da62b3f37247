//! What makes a comparison fail.

use carom_study::{count::EventLimit, diff::CountDiff};

use super::count;
use super::model::{Change, Diff, Fate, Gate};
use super::verdict::{capitalised, object, pair};
use crate::{model::Real, words};

/// What is asked to fail.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// The largest increase that passes, as a part of all accesses.
    pub above: Option<f64>,
    /// Whether a new finding fails.
    pub if_new: bool,
    /// What counts may be, or grow by.
    pub events: Vec<EventLimit>,
}

/// What fails. Only what is a change can.
pub(super) fn gate(limits: &Limits, diff: &Diff, counted: Option<&CountDiff>) -> Gate {
    let mut reasons = Vec::new();
    for (what, fate, change) in measured(diff) {
        let grown = change.significant && change.difference.estimate.0 > 0.0;
        if fate == Some(Fate::New) && limits.if_new {
            reasons.push(format!("{} is new.", capitalised(&what)));
        } else if let Some(most) = limits.above.filter(|most| grown && change.difference.estimate.0 > *most) {
            let (before, after) = (change.before.estimate.0, change.after.estimate.0);
            reasons.push(format!(
                "{} grew from {} to {}, by more than {}.",
                capitalised(&what),
                words::percent(before),
                words::percent(after),
                words::percent(most)
            ));
        }
    }
    let events = counted.map_or(&[][..], |counted| &counted.events);
    let judged = |limit: &EventLimit| count::gate::condition(limit, limit.of_comparison(events));
    let conditions: Vec<_> = limits.events.iter().map(judged).collect();
    let units = limits.events.iter().map(|limit| limit.quantity.unit());
    let failed = conditions.iter().zip(units).filter_map(|(each, unit)| count::gate::failure(each, unit));
    reasons.extend(failed.map(|text| capitalised(&text)));
    Gate {
        conditions,
        fail_above: limits.above.map(Real),
        fail_if_new: limits.if_new,
        failed: !reasons.is_empty(),
        reasons,
    }
}

/// Everything that is a part of all accesses, with its name.
fn measured(diff: &Diff) -> Vec<(String, Option<Fate>, &Change)> {
    let mut all = Vec::new();
    if let Some(share) = &diff.share {
        all.push(("The share of contended lines".to_owned(), None, &share.contended_share));
        let named = share.findings.iter().map(|f| (object(&f.object), Some(f.fate), &f.share));
        all.extend(named);
    }
    if let Some(reuse) = &diff.reuse {
        let size = words::size(reuse.cache_bytes);
        all.push((format!("The miss ratio at {size}"), None, &reuse.miss_ratio));
        all.extend(reuse.findings.iter().map(|f| (pair(f), Some(f.fate), &f.misses)));
    }
    all
}
