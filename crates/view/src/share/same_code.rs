//! Threads that run the same code are told of together.

use std::collections::HashMap;

use crate::{
    model::{Frame, Line, Site},
    words,
};

/// Sites of several threads that run the same code.
pub struct SameCode<'a> {
    /// One of them.
    pub site: &'a Site,
    /// Their threads.
    pub threads: Vec<u32>,
    /// What they touch, as `0-7 stats.hits`.
    pub touched: Vec<String>,
    /// On how many of the lines.
    pub lines: usize,
    /// The share of all of them.
    pub share: f64,
}

impl SameCode<'_> {
    /// Where in the program's own code it is: function and place, as far as known.
    pub fn place(&self) -> (Option<&str>, Option<String>) {
        let frame = words::own(&self.site.call_path).first();
        let place = frame.and_then(|frame| words::place(frame.file.as_deref(), frame.line));
        (frame.and_then(|frame| frame.function.as_deref()), place)
    }

    /// The call path to there, as far as it is the program's own.
    pub fn callers(&self) -> &[Frame] {
        let callers = words::own(&self.site.call_path).get(1..).unwrap_or_default();
        if callers.iter().any(|frame| !frame.library) { callers } else { &[] }
    }
}

/// Groups the sites of these lines by kind and call path in the program's own code, the one with most samples first.
pub fn same_code<'a>(lines: impl IntoIterator<Item = &'a Line>) -> Vec<SameCode<'a>> {
    let mut groups: Vec<(SameCode<'_>, usize)> = Vec::new();
    let mut found: HashMap<(&str, &[Frame]), usize> = HashMap::new();
    for (number, line) in lines.into_iter().enumerate() {
        for site in &line.sites {
            let index = *found.entry((site.kind.name(), words::own(&site.call_path))).or_insert(groups.len());
            if index == groups.len() {
                let none = SameCode { site, threads: Vec::new(), touched: Vec::new(), lines: 1, share: 0.0 };
                groups.push((none, number));
            }
            let Some((group, last)) = groups.get_mut(index) else { continue };
            group.lines += usize::from(*last != number);
            *last = number;
            group.share += site.share_of_samples.0;
            if !group.threads.contains(&site.thread) {
                group.threads.push(site.thread);
            }
            let touched = touched(site);
            if !group.touched.contains(&touched) {
                group.touched.push(touched);
            }
        }
    }
    let mut groups: Vec<SameCode<'_>> = groups.into_iter().map(|(group, _)| group).collect();
    groups.sort_by(|a, b| b.share.total_cmp(&a.share));
    groups
}

/// Behind the bytes of an access that has others in the next line or in the one before.
pub const OVER_TWO_LINES: &str = " over two lines";

/// `0-7 stats.hits`, `56-63 workers[2].done over two lines`
fn touched(site: &Site) -> String {
    let bytes = words::byte_range(site.offset_bytes, site.width_bytes);
    let split = if site.splits_line { OVER_TWO_LINES } else { "" };
    match &site.field {
        Some(field) => format!("{bytes} {field}{split}"),
        None => format!("{bytes}{split}"),
    }
}
