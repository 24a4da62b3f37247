//! Tables of distances, miss ratios, pairs and falsely shared objects.

use crate::{
    csv::Table,
    model::{
        Real, Reuse, ReuseCurve, ReuseDistance, ReuseKinds, ReuseModel, ReuseQuantiles, ReuseScope,
        ReuseSite, ReusedBy,
    },
    words::ThreadNames,
};

/// Columns that say which curve a row is of.
const CURVE: [&str; 10] = [
    "scope",
    "thread",
    "thread_name",
    "domain",
    "reused_by",
    "kind",
    "distance",
    "granularity_bytes",
    "basis",
    "model",
];

/// The files of a report.
pub fn tables(reuse: &Reuse, names: &ThreadNames) -> Vec<(&'static str, String)> {
    vec![
        ("reuse-histograms.csv", histograms(reuse, names)),
        ("miss-ratios.csv", miss_ratios(reuse, names)),
        ("reuse-pairs.csv", pairs(reuse, names)),
        ("reuse-false-sharing.csv", false_sharing(reuse, names)),
    ]
}

fn histograms(reuse: &Reuse, names: &ThreadNames) -> String {
    let mut table = Table::default();
    table.names(&CURVE).header(&["unit", "low", "high", "fraction", "rar", "raw", "waw", "war"]);
    for curve in &reuse.curves {
        for bin in &curve.histogram {
            which(&mut table, curve, names);
            table.name(curve.unit.name()).whole(Some(bin.low)).whole(bin.high).number(bin.fraction);
            for part in bin.by_kind {
                table.number(part);
            }
            table.end();
        }
    }
    table.text
}

fn miss_ratios(reuse: &Reuse, names: &ThreadNames) -> String {
    let mut table = Table::default();
    table.names(&CURVE).header(&["cache_bytes", "miss_ratio", "low", "high"]);
    for curve in &reuse.curves {
        for point in &curve.miss_ratio {
            which(&mut table, curve, names);
            table.whole(Some(point.bytes)).number(point.ratio).number(point.low).number(point.high).end();
        }
    }
    table.text
}

/// The columns of [`CURVE`].
fn which(table: &mut Table, curve: &ReuseCurve, names: &ThreadNames) {
    table.name(scope(curve.scope)).whole(curve.thread);
    table.name(&curve.thread.map_or_else(String::new, |id| names.get(id).into_owned())).whole(curve.domain);
    table.name(match curve.reused_by {
        ReusedBy::SameThread => "same-thread",
        ReusedBy::OtherThread => "other-thread",
        ReusedBy::AnyThread => "any-thread",
    });
    table.name(match curve.kind {
        ReuseKinds::Temporal => "temporal",
        ReuseKinds::Spatial => "spatial",
        ReuseKinds::Any => "any",
    });
    table.name(match curve.distance {
        ReuseDistance::Time => "time",
        ReuseDistance::Stack => "stack",
    });
    table.whole(Some(curve.granularity_bytes)).name(curve.basis.name());
    table.name(match curve.model {
        Some(ReuseModel::Statstack) => "statstack",
        Some(ReuseModel::Footprint) => "footprint",
        None => "",
    });
}

const fn scope(scope: ReuseScope) -> &'static str {
    match scope {
        ReuseScope::Thread => "thread",
        ReuseScope::All => "all",
        ReuseScope::Shared => "shared",
    }
}

fn pairs(reuse: &Reuse, names: &ThreadNames) -> String {
    let mut table = Table::default();
    table.names(&["rank", "scope", "process", "object_kind", "object"]);
    site_names(&mut table, "use");
    site_names(&mut table, "reuse");
    table.header(&[
        "threads",
        "share",
        "share_of_misses",
        "miss_ratio",
        "rar",
        "raw",
        "waw",
        "war",
        "temporal",
        "time_p10",
        "time_median",
        "time_p90",
        "time_unit",
        "stack_bytes_p10",
        "stack_bytes_median",
        "stack_bytes_p90",
        "basis",
        "seen",
    ]);
    for (rank, pair) in (1_u32..).zip(&reuse.pairs) {
        table.whole(Some(rank)).name(scope(pair.scope)).whole(Some(pair.process));
        table.name(pair.object.as_ref().map_or("", |object| object.kind.name()));
        table.name(pair.object.as_ref().map_or("", |object| &object.name));
        site(&mut table, &pair.earlier);
        site(&mut table, &pair.reuse);
        table.name(&listed(&pair.threads, names));
        table.number(pair.share).number(pair.share_of_misses).number(pair.miss_ratio);
        for part in pair.by_kind {
            table.number(part);
        }
        table.number(pair.temporal.unwrap_or(Real(f64::NAN)));
        quantiles(&mut table, pair.time);
        table.name(pair.time_unit.name());
        quantiles(&mut table, pair.stack_bytes);
        table.name(pair.basis.name()).whole(Some(pair.seen)).end();
    }
    table.text
}

fn false_sharing(reuse: &Reuse, names: &ThreadNames) -> String {
    let mut table = Table::default();
    table.names(&["rank", "process", "address", "object_kind", "object"]);
    site_names(&mut table, "use");
    site_names(&mut table, "reuse");
    table.names(&[
        "use_offset_bytes",
        "use_width_bytes",
        "use_field",
        "reuse_offset_bytes",
        "reuse_width_bytes",
        "reuse_field",
    ]);
    table.header(&["threads", "share", "share_of_accesses", "raw", "waw", "distance", "seen"]);
    for (rank, found) in (1_u32..).zip(&reuse.false_sharing) {
        table.whole(Some(rank)).whole(Some(found.process)).name(&found.address);
        table.name(found.object.kind.name()).name(&found.object.name);
        site(&mut table, &found.earlier);
        site(&mut table, &found.reuse);
        for part in [&found.use_bytes, &found.reuse_bytes] {
            table.whole(Some(part.offset_bytes)).whole(Some(part.width_bytes));
            table.name(part.field.as_deref().unwrap_or(""));
        }
        table.name(&listed(&found.threads, names)).number(found.share).number(found.share_of_accesses);
        table.number(found.raw).number(found.waw).number(found.distance).whole(Some(found.seen)).end();
    }
    table.text
}

fn site_names(table: &mut Table, which: &str) {
    for column in ["function", "file", "line", "call_path"] {
        table.name(&format!("{which}_{column}"));
    }
}

fn site(table: &mut Table, site: &ReuseSite) {
    let path: Vec<&str> =
        site.call_path.iter().map(|frame| frame.function.as_deref().unwrap_or(&frame.address)).collect();
    table.name(site.function.as_deref().unwrap_or("")).name(site.file.as_deref().unwrap_or(""));
    table.whole(site.line).name(&path.join(" < "));
}

fn quantiles(table: &mut Table, found: Option<ReuseQuantiles>) {
    let none = Real(f64::NAN);
    let [low, median, high] = found.map_or([none; 3], |q| [q.p10, q.median, q.p90]);
    table.number(low).number(median).number(high);
}

/// All of them: a table has room.
fn listed(threads: &[u32], names: &ThreadNames) -> String {
    threads.iter().map(|id| names.get(*id).into_owned()).collect::<Vec<_>>().join(" ")
}
