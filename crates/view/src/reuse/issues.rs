//! Misses as SARIF has them.

use super::verdict;
use crate::{
    issue::{Issue, Rule},
    model::{Reuse, ReusePair},
    words,
};

/// One for each pair of places for which something is known to help.
pub fn issues(reuse: &Reuse) -> Vec<Issue<'_>> {
    reuse.pairs.iter().filter_map(|pair| Some(issue(reuse, pair, pair.remedy.as_deref()?))).collect()
}

fn issue<'a>(reuse: &'a Reuse, pair: &'a ReusePair, remedy: &str) -> Issue<'a> {
    let mut sites: Vec<_> = [&pair.reuse, &pair.earlier]
        .into_iter()
        .filter_map(|site| words::place_in(&site.call_path))
        .collect();
    sites.dedup_by_key(|frame| (&frame.file, frame.line));
    let data = pair.object.as_ref().map(|object| object.name.as_str());
    let function = pair.reuse.function.as_deref().unwrap_or_default();
    Issue {
        rule: Rule::CacheMisses,
        share: pair.share.0 * pair.miss_ratio.0,
        text: format!(
            "{}{} of the misses of {} are of this reuse. {remedy}",
            data.map(|name| format!("`{name}`: ")).unwrap_or_default(),
            words::percent(pair.share_of_misses.0),
            verdict::cache(reuse, reuse.cache_bytes),
        ),
        sites,
        declared: pair.object.as_ref().and_then(|object| object.declared.as_ref()),
        name: format!("{} {function}", data.unwrap_or_default()),
    }
}
