//! Uses and reuses by instruction, ranked by misses.

use crate::{
    model::{Frame, Reuse, ReuseBasis, ReuseLoop, ReusePair, ReuseScope, ReuseSite},
    reuse::verdict,
    text::{
        Options,
        page::{Page, Style, path},
    },
    words::{self, ThreadNames},
};

const INDENT: usize = 5;

/// Pairs with a smaller part of the misses are printed only where there are no others, and then few.
const SOME: f64 = 0.0005;
const WITHOUT_MISSES: usize = 3;

pub fn print(page: &mut Page, reuse: &Reuse, names: &ThreadNames, options: &Options) {
    if reuse.pairs.is_empty() {
        return;
    }
    page.heading("Uses and their reuses");
    let size = verdict::cache(reuse, reuse.cache_bytes);
    let mut pairs: Vec<&ReusePair> = reuse.pairs.iter().collect();
    // A pair that was seen a few times may be chance, whatever its weight.
    pairs.sort_by_key(|pair| pair.seen < verdict::TELLING_SEEN);
    let with_misses = pairs.iter().take_while(|pair| pair.share_of_misses.0 >= SOME).count();
    let order = if with_misses > 0 { "ranked by misses at" } else { "none of these misses at" };
    page.put(Style::Dim, &format!("{order} {size}")).end();
    let shown = with_misses.max(WITHOUT_MISSES).min(options.lines);
    for (rank, pair) in pairs.into_iter().take(shown).enumerate() {
        head(page, rank + 1, pair);
        page.indented(Style::Cyan, INDENT, "use       ", &site(&pair.earlier));
        page.indented(Style::Cyan, INDENT, "reuse     ", &site(&pair.reuse));
        if let Some(text) = pair.around.as_ref().and_then(around) {
            page.indented(Style::Plain, INDENT, "loop      ", &text);
        }
        page.indented(Style::Plain, INDENT, "distance  ", &distance(pair));
        page.indented(Style::Dim, INDENT, "          ", &who(pair, names));
        if let Some(text) = &pair.remedy {
            page.indented(Style::Green, INDENT, "remedy    ", text);
        }
    }
    let more = reuse.pairs.len().saturating_sub(shown) + reuse.other_pairs;
    if more > 0 {
        page.end().put(Style::Dim, &format!("… and {}.", words::count(more, "more pair"))).end();
    }
}

/// ` 1.  62% of the misses  8.1% of the accesses  global grid  relax.c:12`
fn head(page: &mut Page, rank: usize, pair: &ReusePair) {
    let misses = words::percent(pair.share_of_misses.0);
    // Those of the threads' own caches and of shared ones are two wholes.
    let whose = if pair.scope == ReuseScope::Shared { "the shared cache's" } else { "the" };
    page.put(Style::Bold, &format!("{rank:>2}.  {misses} of {whose} misses"));
    page.plain(&format!("  {} of the accesses", words::percent(pair.share.0)));
    if let Some(object) = &pair.object {
        page.plain("  ");
        if !object.name.starts_with(object.kind.name()) {
            page.plain(object.kind.name()).plain(" ");
        }
        page.put(Style::Cyan, &object.name);
        let declared = |frame: &Frame| words::place(frame.file.as_deref(), frame.line);
        if let Some(place) = object.declared.as_ref().and_then(declared) {
            page.put(Style::Dim, &format!("  {place}"));
        }
    }
    page.end();
}

/// `relax relax.c:40 ← main relax.c:99`
fn site(site: &ReuseSite) -> String {
    if site.call_path.is_empty() { "(no symbol)".into() } else { path(&site.call_path) }
}

/// `mm.c:17, in steps of 4,096 bytes`. A loop of which no step is known says nothing that the call path does not.
fn around(around: &ReuseLoop) -> Option<String> {
    let step = around.step_bytes.filter(|step| *step != 0)?;
    let back = if step < 0 { " backwards" } else { "" };
    let steps = format!("in steps of {}{back}", words::count(step.unsigned_abs() as usize, "byte"));
    let place = words::place(around.file.as_deref(), around.line);
    Some(place.into_iter().chain([steps]).collect::<Vec<_>>().join(", "))
}

/// `3.1 MiB (2.9 MiB to 3.3 MiB), 49.2 k accesses; 90% miss`
fn distance(pair: &ReusePair) -> String {
    let mut parts = Vec::new();
    if let Some(stack) = pair.stack_bytes {
        let [low, median, high] =
            [stack.p10, stack.median, stack.p90].map(|bytes| words::approximate_size(bytes.0));
        let how = if pair.basis == ReuseBasis::Modelled { ", model" } else { "" };
        parts.push(format!("{median} ({low} to {high}{how})"));
    }
    if let Some(time) = pair.time {
        let median = time.median.0.max(0.0) as u64;
        parts.push(format!("{} {}", words::measure(median), pair.time_unit.name_of(median)));
    }
    parts.push(format!("{} miss", words::percent(pair.miss_ratio.0)));
    parts.join("; ")
}

/// `worker-1 and worker-2; read after read 80%, read after write 20%; followed 12 times`
fn who(pair: &ReusePair, names: &ThreadNames) -> String {
    const KINDS: [&str; 4] = ["read after read", "read after write", "write after write", "write after read"];
    let mut parts = vec![names.list(&pair.threads)];
    if pair.scope == ReuseScope::Shared {
        parts.push("in the shared cache".into());
    }
    let kinds: Vec<String> =
        KINDS
            .iter()
            .zip(pair.by_kind)
            .filter(|(_, part)| part.0 > 0.0)
            .map(|(kind, part)| {
                if part.0 >= 1.0 { (*kind).to_owned() } else { format!("{kind} {}", words::percent(part.0)) }
            })
            .collect();
    parts.extend((!kinds.is_empty()).then(|| kinds.join(", ")));
    if let Some(temporal) = pair.temporal {
        parts.push(match temporal.0 {
            0.0 => "never the same bytes".into(),
            1.0.. => "always the same bytes".into(),
            part => format!("{} of the same bytes", words::percent(part)),
        });
    }
    parts.push(format!("followed {}", words::count(pair.seen as usize, "time")));
    parts.join("; ")
}
