//! From the findings of `carom reuse` to its report.

mod csv;
mod curve;
mod finding;
mod issues;
pub(crate) mod model;
mod pairs;
mod remedy;
mod text;
mod verdict;
mod warnings;

use carom_base::DistanceKind;
use carom_study::{
    Estimate,
    reuse::{
        self, Basis, Bin, ByGeometry, Cache, Cost, Curve, CurveKind, CurveScope, ENOUGH_USES, Fit, MissRatio,
        Model, ReuseFindings, Unit,
    },
};

use crate::{
    RunInfo,
    issue::Issue,
    model::{
        Command, DataCache, Finding, Interval, MissRatioPoint, NotEnoughUses, PrefetchAdvice, Quality, Real,
        Report, Reuse, ReuseBasis, ReuseBin, ReuseCurve, ReuseDistance, ReuseFit, ReuseGeometry, ReuseKinds,
        ReuseModel, ReuseQuality, ReuseScope, ReuseUnit, ReusedBy,
    },
    recording,
    section::{Row, Section},
    text::{Options, page::Page},
    words::ThreadNames,
};

impl Section for Reuse {
    fn print(&self, page: &mut Page, _: &Report, names: &ThreadNames, options: &Options) {
        text::print(page, self, names, options);
    }

    fn measured(&self, report: &Report) -> Vec<Row> {
        text::measured(report, self)
    }

    fn in_brief(&self, report: &Report) -> Vec<String> {
        text::in_brief(report, self)
    }

    fn finding(&self, report: &Report) -> Option<Finding> {
        Some(finding::finding(self, report))
    }

    fn summary(&self) -> Vec<String> {
        text::summary(self)
    }

    fn issues(&self) -> Vec<Issue<'_>> {
        issues::issues(self)
    }

    fn tables(&self, _: &Report, names: &ThreadNames) -> Vec<Row> {
        csv::tables(self, names)
    }

    fn scripts(&self) -> &'static [&'static str] {
        &[
            include_str!("page/curves.js"),
            include_str!("page/histogram.js"),
            include_str!("page/pairs.js"),
            include_str!("page/reuse.js"),
        ]
    }
}

/// The report of one recording, or of several as one.
pub fn report(run: &RunInfo, findings: &ReuseFindings) -> Report {
    let seen = &findings.quality;
    let uses = seen.losses.counters.uses;
    let recorded = Quality {
        samples: uses,
        step: uses,
        events: seen.uses,
        watchpoints_armed: seen.losses.counters.uses_armed,
        watchpoint_traps: seen.reused + seen.invalidated,
        ..recording::quality(run, &seen.losses)
    };
    let mut report = Report::new(Command::Reuse, run, recorded);
    let mut reuse = Reuse {
        not_enough: findings.not_enough.map(|few| NotEnoughUses {
            uses: few.seen,
            needed: ENOUGH_USES,
            run_s: few.run_seconds.map(Real),
        }),
        caches: findings.caches.iter().map(|each| cache(each, &findings.costs)).collect(),
        cache_bytes: findings.chosen_bytes,
        curves: findings.curves.iter().map(curve).collect(),
        fits: findings.fits.iter().map(fit).collect(),
        pairs: findings.pairs.iter().map(pairs::pair).collect(),
        other_pairs: findings.other_pairs,
        false_sharing: findings.false_sharing.iter().map(pairs::false_sharing).collect(),
        prefetch: findings.prefetch.map(|each| prefetch(&each, run)),
        quality: quality(&findings.quality),
    };
    let remedies: Vec<_> = reuse.pairs.iter().map(|pair| remedy::remedy(&reuse, pair)).collect();
    for (pair, remedy) in reuse.pairs.iter_mut().zip(remedies) {
        pair.remedy = remedy;
    }
    report.quality.warnings.extend(warnings::of(run, &reuse));
    report.verdict = verdict::verdict(&report, &reuse);
    report.reuse = Some(reuse);
    report
}

fn cache(cache: &Cache, costs: &[Cost]) -> DataCache {
    let cost = costs.iter().find(|cost| (cost.level, cost.bytes) == (cache.level, cache.bytes));
    DataCache {
        level: cache.level,
        bytes: cache.bytes,
        line_bytes: Some(cache.line_bytes).filter(|bytes| *bytes > 0),
        ways: Some(cache.ways).filter(|ways| *ways > 0),
        shared_by: cache.shared_by,
        shared: cache.shared,
        miss_cycles: cost.map(|cost| Real(cost.cycles)),
    }
}

/// Whose, with the thread or the group.
fn scope(scope: CurveScope) -> (ReuseScope, Option<u32>, Option<u32>) {
    match scope {
        CurveScope::All => (ReuseScope::All, None, None),
        CurveScope::Shared(domain) => (ReuseScope::Shared, None, Some(domain)),
        CurveScope::Thread(thread) => (ReuseScope::Thread, Some(thread.0), None),
    }
}

fn curve(curve: &Curve) -> ReuseCurve {
    let (scope, thread, domain) = scope(curve.scope);
    ReuseCurve {
        scope,
        thread,
        domain,
        reused_by: match curve.reused_by {
            reuse::ReusedBy::SameThread => ReusedBy::SameThread,
            reuse::ReusedBy::OtherThread => ReusedBy::OtherThread,
            reuse::ReusedBy::AnyThread => ReusedBy::AnyThread,
        },
        kind: match curve.kind {
            CurveKind::Temporal => ReuseKinds::Temporal,
            CurveKind::Spatial => ReuseKinds::Spatial,
            CurveKind::Any => ReuseKinds::Any,
        },
        distance: match curve.distance {
            DistanceKind::Time => ReuseDistance::Time,
            DistanceKind::Stack => ReuseDistance::Stack,
        },
        unit: unit(curve.unit),
        granularity_bytes: curve.granularity,
        basis: basis(curve.basis),
        model: model(curve.basis),
        accesses: Real(curve.accesses),
        observations: curve.observations,
        reused: Real(curve.outcomes.reused),
        invalidated: Real(curve.outcomes.invalidated),
        once: Real(curve.outcomes.once),
        histogram: curve.histogram.iter().map(bin).collect(),
        miss_ratio: curve.miss_ratio.iter().map(point).collect(),
    }
}

const fn unit(unit: Unit) -> ReuseUnit {
    match unit {
        Unit::Accesses => ReuseUnit::Accesses,
        Unit::Nanoseconds => ReuseUnit::Ns,
        Unit::Places => ReuseUnit::Places,
    }
}

const fn basis(basis: Basis) -> ReuseBasis {
    match basis {
        Basis::Exact => ReuseBasis::Exact,
        Basis::Sampled => ReuseBasis::Sampled,
        Basis::Modelled(_) => ReuseBasis::Modelled,
    }
}

const fn model(basis: Basis) -> Option<ReuseModel> {
    match basis {
        Basis::Modelled(Model::StatStack) => Some(ReuseModel::Statstack),
        Basis::Modelled(Model::Footprint) => Some(ReuseModel::Footprint),
        Basis::Exact | Basis::Sampled => None,
    }
}

fn bin(bin: &Bin) -> ReuseBin {
    ReuseBin {
        low: bin.low,
        high: Some(bin.high).filter(|high| *high < u64::MAX),
        fraction: Real(bin.fraction),
        by_kind: bin.by_kind.map(Real),
    }
}

fn point(point: &MissRatio) -> MissRatioPoint {
    let Estimate { value, low, high } = point.ratio;
    MissRatioPoint { bytes: point.bytes, ratio: Real(value), low: Real(low), high: Real(high) }
}

fn fit(fit: &Fit) -> ReuseFit {
    let (scope, thread, domain) = scope(fit.scope);
    let Estimate { value, low, high } = fit.ratio;
    ReuseFit {
        scope,
        thread,
        domain,
        miss_ratio: Interval { estimate: Real(value), low: Real(low), high: Real(high) },
        compulsory: Real(fit.compulsory),
        enough_bytes: fit.enough_bytes,
        worst_pair: fit.worst_pair,
        worst_share: Real(fit.worst_share),
        by_geometry: fit.by_geometry.iter().map(geometry).collect(),
    }
}

fn geometry(found: &ByGeometry) -> ReuseGeometry {
    ReuseGeometry { bytes: found.bytes, ways: found.ways, ratio: Real(found.ratio) }
}

fn prefetch(found: &reuse::Prefetch, run: &RunInfo) -> PrefetchAdvice {
    let cpu_ns: u64 = run.threads.iter().map(|thread| thread.cpu_ns).sum();
    // The threads are those of one of the runs.
    let cpu_s = cpu_ns as f64 / 1e9 * f64::from(run.program.runs.max(1));
    PrefetchAdvice {
        pays: found.gain_s >= 0.0,
        gain_s: Real(found.gain_s),
        gain_by_cpu_time: Real(found.gain_s / cpu_s),
        memory_reuses: Real(found.memory_reuses),
        memory_ns: Real(found.memory_ns),
        sharing_reuses: Real(found.sharing_reuses),
        transfer_ns: Real(found.transfer_ns),
        cut_off: found.cut_off,
        last_cache_bytes: found.last_cache_bytes,
    }
}

fn quality(quality: &reuse::Quality) -> ReuseQuality {
    let losses = quality.losses.counters;
    let armed = losses.uses_armed;
    ReuseQuality {
        exact_accesses: quality.exact_accesses,
        place_rate: Real(quality.place_rate),
        in_episodes: quality.in_episodes,
        offered: losses.uses,
        watched: armed,
        reused: quality.reused,
        invalidated: quality.invalidated,
        replaced: quality.replaced,
        ended: quality.ended,
        window_ns: (armed > 0).then(|| Real((losses.arm_ns as f64 / armed as f64).round())),
        threads_armed: losses.threads_armed,
        threads_unarmed: losses.threads_unarmed,
        early_touches: losses.early_touches,
        cells_lost: losses.cells_lost,
    }
}
