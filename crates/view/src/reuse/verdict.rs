//! The verdict of `carom reuse`.

use crate::{
    debug_info,
    model::{
        DataCache, NotEnoughUses, PrefetchAdvice, Report, Reuse, ReuseBasis, ReuseCurve, ReuseDistance,
        ReuseFalseSharing, ReuseFit, ReuseKinds, ReuseModel, ReusePair, ReuseScope, ReuseSite, ReusedBy,
    },
    recording,
    words::{self, ThreadNames},
};

/// Fewer misses than this by accesses are no problem.
const NEGLIGIBLE: f64 = 0.005;

/// Where a band reaches up to here, there may be a problem.
const UNCERTAIN: f64 = 0.1;

/// From this part of the misses on, the verdict is about those that no size avoids.
const NEARLY_ALL: f64 = 0.9;

/// A thread is named alone where it misses this many times as often as all together and makes a telling part of their misses: a
/// thread with few accesses misses most of them.
const STANDS_OUT: f64 = 1.5;

/// A pair explains something from this part of the misses on, and where it was seen this often.
pub const TELLING: f64 = 0.05;
pub const TELLING_SEEN: u64 = 5;

/// The verdict mentions false sharing from this many events and this part of the reuses by other threads after a write on,
/// unless the part of the accesses is [`NEGLIGIBLE`].
const ENOUGH_EVENTS: u64 = 30;
const TELLING_SHARING: f64 = 0.1;

/// `At 1 MiB of private L2 worker-2 misses 21% of its accesses; 80% of them reuse …`
pub fn verdict(report: &Report, reuse: &Reuse) -> String {
    let names = ThreadNames::new(&report.threads);
    let mut sentences = vec![main(report, reuse, &names)];
    sentences.extend(reuse.false_sharing.first().and_then(sharing));
    sentences.extend(reuse.prefetch.map(|advice| {
        let sign = if advice.pays { "≥" } else { "<" };
        let gain = words::signed_seconds(advice.gain_s.0);
        format!("Fetching neighbouring lines is predicted to {}: G = {gain} {sign} 0.", effect(&advice))
    }));
    sentences.join(" ")
}

fn main(report: &Report, reuse: &Reuse, names: &ThreadNames) -> String {
    let seen = reuse.quality.exact_accesses + reuse.quality.offered + reuse.quality.reused;
    if seen == 0 && report.processes.iter().all(|each| !each.coverage.profiled) {
        return recording::unprofiled(report);
    }
    if let Some(few) = &reuse.not_enough {
        return not_enough(report, reuse, few);
    }
    match chosen(reuse) {
        Some(fit) => misses(report, reuse, fit, names),
        None => distances(reuse),
    }
}

fn not_enough(report: &Report, reuse: &Reuse, few: &NotEnoughUses) -> String {
    let wall = words::seconds(report.program.wall_s.0);
    // Where nothing is sampled, only a longer run helps.
    if report.engine.period == 0 {
        let seen = words::thousands(reuse.quality.exact_accesses);
        return format!(
            "Not enough data: {seen} accesses were followed in {wall}, and {} are needed.",
            few.needed
        );
    }
    let seen = match few.uses {
        1 => "1 use was followed to its end".into(),
        uses => format!("{} uses were followed to their end", words::thousands(uses)),
    };
    let seen = format!("Not enough data: {seen} in {wall}, and {} are needed.", few.needed);
    let more = if report.quality.budget_skipped > reuse.quality.offered {
        "allow them more time with --budget"
    } else {
        "sample more often with --period"
    };
    match few.run_s {
        Some(run) if run.0 <= words::LONGEST_RUN_S => {
            format!("{seen} Run for at least {:.0} s, or {more}.", run.0.ceil())
        }
        // Nobody runs a program that long for a report.
        Some(run) if run.0.is_finite() => format!("{seen} A longer run would not help: {more}."),
        _ => format!("{seen} Run longer, or {more}."),
    }
}

/// The misses that the verdict is about: those of all threads, or of one that stands out.
fn chosen(reuse: &Reuse) -> Option<&ReuseFit> {
    let of = |scope| reuse.fits.iter().find(move |fit| fit.scope == scope);
    let (all, thread) = (of(ReuseScope::All), of(ReuseScope::Thread));
    let threads = reuse.fits.iter().filter(|fit| fit.scope == ReuseScope::Thread).count();
    let misses = |fit: &ReuseFit| {
        curve_of(reuse, fit).map_or(0.0, |curve| fit.miss_ratio.estimate.0 * curve.accesses.0)
    };
    let stands_out = |one: &&ReuseFit| {
        let Some(all) = all.filter(|_| threads > 1) else { return true };
        let (ratio, of_all) = (one.miss_ratio, all.miss_ratio.estimate.0);
        let often = ratio.estimate.0 >= STANDS_OUT * of_all && ratio.low.0 > of_all;
        often && misses(one) >= TELLING * misses(all)
    };
    thread.filter(stands_out).or(all).or_else(|| reuse.fits.first())
}

fn misses(report: &Report, reuse: &Reuse, fit: &ReuseFit, names: &ThreadNames) -> String {
    let curve = curve_of(reuse, fit);
    let by = match curve.map(|curve| (curve.basis, curve.model)) {
        Some((ReuseBasis::Modelled, Some(model))) => format!(", by {}", by_model(model)),
        Some((ReuseBasis::Modelled, None)) => ", by a model".into(),
        Some((ReuseBasis::Sampled, _)) => ", by a sample of the lines".into(),
        Some((ReuseBasis::Exact, _)) | None => String::new(),
    };
    let (who, verb, their) = match fit.scope {
        ReuseScope::Thread => (names.get(fit.thread.unwrap_or(0)).into_owned(), "misses", "its"),
        ReuseScope::All if names.count() == 1 => (names.list(&[0]), "misses", "its"),
        ReuseScope::All => (format!("the {} threads", names.count()), "miss", "their"),
        ReuseScope::Shared => (shared_cache(reuse, fit.domain), "misses", "its"),
    };
    let ratio = fit.miss_ratio.estimate.0;
    let exact = fit.miss_ratio.low == fit.miss_ratio.high;
    let part = if exact { words::percent(ratio) } else { words::percent_with_error(&fit.miss_ratio) };
    let first = format!("At {} {who} {verb} {part} of {their} accesses{by}", cache(reuse, reuse.cache_bytes));
    if ratio < NEGLIGIBLE && fit.miss_ratio.high.0 < UNCERTAIN {
        return format!("{first}: what is reused fits.");
    }
    if ratio < NEGLIGIBLE {
        return format!("{first}; too few uses were followed to say that it fits: run longer.");
    }
    let unavoidable = fit.compulsory.0 / ratio;
    if unavoidable >= NEARLY_ALL {
        let part = words::percent(unavoidable.min(1.0));
        return format!(
            "{first}; {part} of them are first accesses or follow another thread's write, which no size avoids."
        );
    }
    let found = match worst_pair(reuse, fit) {
        Some(pair) => {
            let found = format!("{first}; {}.", blame(pair, fit.worst_share.0));
            debug_info::with_what_it_lacks(report, found)
        }
        None => format!("{first}."),
    };
    let enough = fit.enough_bytes.map_or_else(String::new, |bytes| {
        format!(" A cache of {} would remove 90% of the capacity misses.", words::size(bytes))
    });
    format!("{found}{enough}")
}

/// The pair with most of the misses, where that explains something.
fn worst_pair<'a>(reuse: &'a Reuse, fit: &ReuseFit) -> Option<&'a ReusePair> {
    let telling = fit.worst_pair.filter(|_| fit.worst_share.0 >= TELLING);
    telling.and_then(|index| reuse.pairs.get(index)).filter(|pair| pair.seen >= TELLING_SEEN)
}

/// The remedy for the pair that the verdict blames, where that makes at least this part of the misses.
pub fn remedy(reuse: &Reuse, least: f64) -> Option<&str> {
    let fit = chosen(reuse)?;
    let avoidable = fit.compulsory.0 < NEARLY_ALL * fit.miss_ratio.estimate.0;
    let pair = worst_pair(reuse, fit).filter(|_| avoidable && fit.worst_share.0 >= least)?;
    pair.remedy.as_deref()
}

/// `StatStack`, `the average footprint`.
const fn by_model(model: ReuseModel) -> &'static str {
    match model {
        ReuseModel::Statstack => "StatStack",
        ReuseModel::Footprint => "the average footprint",
    }
}

/// ``80% of them reuse `grid` between relax.c:40 and relax.c:77 at 3.1 MiB``, the data accessed in between.
fn blame(pair: &ReusePair, share: f64) -> String {
    let what = pair.object.as_ref().map_or("are reuses".into(), |object| format!("reuse `{}`", object.name));
    let (earlier, later) = (place(&pair.earlier), place(&pair.reuse));
    let place =
        if earlier == later { format!("at {later}") } else { format!("between {earlier} and {later}") };
    let at = pair.missing_bytes.map(|bytes| format!(" at {}", words::approximate_size(bytes.0)));
    format!("{} of them {what} {place}{}", words::percent(share), at.unwrap_or_default())
}

/// `relax.c:40`, or the function where the line is not known, of the program's own code where there is some.
pub fn place(site: &ReuseSite) -> String {
    let frame = words::own(&site.call_path).first();
    let at = frame.and_then(|frame| words::place(frame.file.as_deref(), frame.line));
    let unknown = || frame.map_or("an unknown place".into(), |frame| frame.address.clone());
    at.unwrap_or_else(|| {
        let name = frame.and_then(|frame| frame.function.clone()).unwrap_or_else(unknown);
        let module = frame.and_then(|frame| frame.module.as_deref());
        let file = module.and_then(|path| path.rsplit('/').next());
        file.map_or(name.clone(), |file| format!("{name} in {file}"))
    })
}

/// `1 MiB of private L2`, `3 MiB`.
pub fn cache(reuse: &Reuse, bytes: u64) -> String {
    match reuse.caches.iter().find(|cache| cache.bytes == bytes) {
        Some(DataCache { level, shared, .. }) => {
            format!("{} of {} L{level}", words::size(bytes), if *shared { "shared" } else { "private" })
        }
        None => words::size(bytes),
    }
}

/// `L3, all threads together`, or `L3 #1, its threads together` where threads meet in several.
pub fn shared_cache(reuse: &Reuse, domain: Option<u32>) -> String {
    let levels = reuse.caches.iter().filter(|cache| cache.shared).map(|cache| cache.level);
    let cache = levels.max().map_or("shared cache".to_owned(), |level| format!("L{level}"));
    match domain {
        Some(number) if reuse.fits.iter().any(|fit| fit.domain.is_some_and(|other| other != number)) => {
            format!("{cache} #{number}, its threads together")
        }
        _ => format!("{cache}, all threads together"),
    }
}

/// The curve that a finding is read from.
fn curve_of<'a>(reuse: &'a Reuse, fit: &ReuseFit) -> Option<&'a ReuseCurve> {
    let mine = |curve: &&ReuseCurve| {
        (curve.scope, curve.thread, curve.domain) == (fit.scope, fit.thread, fit.domain) && is_main(curve)
    };
    reuse.curves.iter().filter(mine).min_by_key(|curve| curve.basis != ReuseBasis::Exact)
}

/// Whether miss ratios of lines are read from a curve.
pub fn is_main(curve: &ReuseCurve) -> bool {
    let any = curve.kind == ReuseKinds::Any && curve.reused_by != ReusedBy::OtherThread;
    any && curve.granularity_bytes == 64 && !curve.miss_ratio.is_empty()
}

/// Without stack distances only times are known.
fn distances(reuse: &Reuse) -> String {
    let time = |curve: &&ReuseCurve| curve.distance == ReuseDistance::Time && !curve.histogram.is_empty();
    let Some(curve) = reuse.curves.iter().find(time) else {
        return "No reuse was seen.".into();
    };
    let mut sum = 0.0;
    let half = curve.histogram.iter().find(|bin| {
        sum += bin.fraction.0;
        sum >= 0.5
    });
    let high = half.and_then(|bin| bin.high).unwrap_or(u64::MAX);
    format!(
        "Half of the reuses come within {} {}; what caches would miss cannot be told from that.",
        words::measure(high),
        curve.unit.name()
    )
}

/// What fetching neighbouring lines is predicted to do.
pub fn effect(advice: &PrefetchAdvice) -> &'static str {
    if advice.gain_by_cpu_time.0.abs() < NEGLIGIBLE {
        "make next to no difference"
    } else if advice.pays {
        "pay"
    } else {
        "cost more than it brings"
    }
}

/// ``In the shared cache 62% of the reuses by another thread after a write, 3% of all accesses, are false sharing of `stats`
/// (app.c:12).``
fn sharing(found: &ReuseFalseSharing) -> Option<String> {
    let negligible = found.share.0 < TELLING_SHARING || found.share_of_accesses.0 < NEGLIGIBLE;
    if found.seen < ENOUGH_EVENTS || negligible {
        return None;
    }
    let declared = found.object.declared.as_ref();
    let at = declared.and_then(|frame| words::place(frame.file.as_deref(), frame.line));
    let at = at.map(|at| format!(" ({at})")).unwrap_or_default();
    Some(format!(
        "In the shared cache {} of the reuses by another thread after a write, {} of all accesses, are false sharing of \
         `{}`{at}.",
        words::percent(found.share.0),
        words::percent(found.share_of_accesses.0),
        found.object.name
    ))
}

#[cfg(test)]
mod tests;
