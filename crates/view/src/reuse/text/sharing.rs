//! False sharing as reuse by other threads, and what the prefetcher of neighbouring lines would do.

use crate::{
    model::{PrefetchAdvice, Reuse, ReuseFalseSharing, ReusePart, ReuseUnit},
    reuse::verdict,
    text::page::{Page, Style, path},
    words::{self, ThreadNames},
};

/// Objects printed.
const OBJECTS: usize = 5;

const INDENT: usize = 5;

pub fn print(page: &mut Page, reuse: &Reuse, names: &ThreadNames) {
    if !reuse.false_sharing.is_empty() {
        page.heading("False sharing in the shared cache");
        page.paragraph(
            Style::Dim,
            "Each reuse by another thread after a write moves the line between cores; these are of other bytes than the written.",
        );
        for (rank, found) in reuse.false_sharing.iter().take(OBJECTS).enumerate() {
            object(page, rank + 1, found, names);
        }
    }
    if let Some(advice) = &reuse.prefetch {
        prefetch(page, advice);
    }
}

fn object(page: &mut Page, rank: usize, found: &ReuseFalseSharing, names: &ThreadNames) {
    page.put(Style::Bold, &format!("{rank:>2}.  {} of the moves", words::percent(found.share.0)));
    page.plain(&format!("  {} of the accesses", words::percent(found.share_of_accesses.0)));
    page.plain("  ").put(Style::Orange, &found.object.name).end();
    let distance = found.distance.0.max(0.0) as u64;
    let text = format!(
        "line {}; {} reads and {} writes after another's write, estimated; {} {} apart; {}; seen {}",
        found.address,
        words::compact(found.raw.0),
        words::compact(found.waw.0),
        words::measure(distance),
        ReuseUnit::Accesses.name_of(distance),
        names.list(&found.threads),
        words::count(found.seen as usize, "time"),
    );
    page.indented(Style::Dim, INDENT, "", &text);
    let parts = format!("{} against {}", part(&found.use_bytes), part(&found.reuse_bytes));
    page.indented(Style::Plain, INDENT, "bytes     ", &parts);
    page.indented(Style::Cyan, INDENT, "use       ", &path(&found.earlier.call_path));
    page.indented(Style::Cyan, INDENT, "reuse     ", &path(&found.reuse.call_path));
}

/// `0-7 stats.hits`
fn part(part: &ReusePart) -> String {
    let bytes = words::byte_range(part.offset_bytes, part.width_bytes);
    part.field.as_ref().map_or(bytes.clone(), |field| format!("{bytes} {field}"))
}

fn prefetch(page: &mut Page, advice: &PrefetchAdvice) {
    page.heading("Fetching neighbouring lines");
    let text = format!(
        "is predicted to {}: G = {} of latencies; {} spatial reuses reach memory beyond {} ({:.0} ns each), {} by another thread after \
         a write come within {} accesses ({:.0} ns each). Estimated.",
        verdict::effect(advice),
        words::signed_seconds(advice.gain_s.0),
        words::compact(advice.memory_reuses.0),
        words::size(advice.last_cache_bytes),
        advice.memory_ns.0,
        words::compact(advice.sharing_reuses.0),
        words::thousands(advice.cut_off),
        advice.transfer_ns.0,
    );
    page.paragraph(Style::Plain, &text);
}
