//! New findings as SARIF has them.

use super::{
    model::{Diff, Fate, ObjectDiff, PairDiff},
    verdict::{capitalised, difference, object, pair},
};
use crate::{
    issue::{Issue, Rule},
    model::Frame,
    share::rule_of,
    words,
};

/// One for each finding that is new.
pub fn issues(diff: &Diff) -> Vec<Issue<'_>> {
    let shared = diff.share.iter().flat_map(|share| {
        let whole = share.unit.whole();
        share
            .findings
            .iter()
            .filter(|found| found.fate == Fate::New)
            .map(move |found| contended(found, whole))
    });
    let missed = diff.reuse.iter().flat_map(|reuse| &reuse.findings);
    shared.chain(missed.filter(|found| found.fate == Fate::New).map(misses)).collect()
}

/// It is shown where the data is declared or allocated: a comparison is not about single places in the code.
fn contended<'a>(found: &'a ObjectDiff, whole: &str) -> Issue<'a> {
    let allocated = words::place_in(&found.object.allocation);
    let declared =
        found.object.declared.iter().filter(|frame| words::place_in(std::slice::from_ref(*frame)).is_some());
    let (true_sharing, false_sharing) = (found.after.true_sharing, found.after.false_sharing);
    Issue {
        rule: rule_of(true_sharing, false_sharing),
        share: found.share.after.estimate.0,
        text: format!(
            "{} is new: {} of {whole} on its cache lines ({}).",
            capitalised(&object(&found.object)),
            words::percent(found.share.after.estimate.0),
            difference(&found.share)
        ),
        sites: declared.chain(allocated).take(1).collect(),
        declared: None,
        name: found.object.name.clone(),
    }
}

fn misses(found: &PairDiff) -> Issue<'_> {
    let mut sites: Vec<&Frame> =
        [&found.reuse, &found.earlier].into_iter().filter_map(|path| words::place_in(path)).collect();
    sites.dedup_by_key(|frame| (&frame.file, frame.line));
    let data = found.object.as_ref();
    let function = found.reuse.first().and_then(|frame| frame.function.as_deref()).unwrap_or_default();
    Issue {
        rule: Rule::CacheMisses,
        share: found.misses.after.estimate.0,
        text: format!(
            "{} misses anew: {} of all accesses ({}).",
            capitalised(&pair(found)),
            words::percent(found.misses.after.estimate.0),
            difference(&found.misses)
        ),
        sites,
        declared: data.and_then(|object| object.declared.as_ref()),
        name: format!("{} {function}", data.map_or("", |object| object.name.as_str())),
    }
}
