//! A grid that is relaxed in two passes, too far apart for the private cache.

use super::*;
use carom_base::{DistanceKind, Scope};
use carom_study::reuse::{
    Basis, Bin, ByGeometry, Cache, Curve, CurveKind, CurveScope, FalseSharing, Fit, MissRatio, Model,
    NotEnough, Outcomes, Pair, Part, Prefetch, Quality as Followed, Quantiles, ReuseFindings, ReusedBy, Unit,
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn relaxed_run() -> RunInfo {
    let mut run = run(&["./relax", "2048"], &["relax", "worker-1", "worker-2"].map(String::from));
    run.engine = EngineInfo {
        name: "translate".into(),
        reason: "asked for".into(),
        sample_means: SampleMeans::Nothing,
        period_ns: 0,
        delivery: Delivery::Inline,
        budget_percent: 0.0,
        watch: Watch::Nothing,
        watchpoints: 0,
        board_slots: 0,
        trace: None,
        objects: false,
        ..EngineInfo::default()
    };
    run
}

fn cache(level: u32, bytes: u64, shared_by: u32) -> Cache {
    Cache { level, bytes, line_bytes: 64, ways: 8, shared_by, shared: shared_by > 2 }
}

/// One in a hundred accesses is a first one, `near` reuse within 32 lines, the rest at 3.1 MiB, 50,790 lines.
fn curve(scope: CurveScope, near: f64, basis: Basis, band: f64) -> Curve {
    let far = 0.99 - near;
    let bin = |low, high, part: f64, kinds: [f64; 4]| Bin {
        low,
        high,
        fraction: part / 0.99,
        by_kind: kinds.map(|kind| kind * part / 0.99),
    };
    let ratio = |bytes: u64| {
        let value = if bytes < 2 * KIB {
            1.0
        } else if bytes < 3 * MIB + 104 * KIB {
            far + 0.01
        } else {
            0.01
        };
        MissRatio { bytes, ratio: estimate(value, band) }
    };
    let sizes = (10..=26).flat_map(|power| [1_u64 << power, 3 << (power - 1)]);
    Curve {
        scope,
        reused_by: if matches!(scope, CurveScope::Shared(_)) {
            ReusedBy::AnyThread
        } else {
            ReusedBy::SameThread
        },
        kind: CurveKind::Any,
        distance: DistanceKind::Stack,
        unit: Unit::Places,
        granularity: 64,
        basis,
        accesses: 4e8,
        observations: 400_000_000,
        outcomes: Outcomes { reused: 0.99, invalidated: 0.0, once: 0.01 },
        histogram: vec![
            bin(2, 3, near / 4.0, [1.0, 0.0, 0.0, 0.0]),
            bin(14, 16, near * 0.75, [0.5, 0.25, 0.25, 0.0]),
            bin(49_152, 57_344, far, [0.8, 0.2, 0.0, 0.0]),
        ],
        miss_ratio: sizes.map(ratio).collect(),
    }
}

fn far_pair() -> Pair {
    let main = frame("main", "relax.c", 99);
    Pair {
        process: ProcessId(0),
        scope: Scope::Private,
        earlier: vec![frame("relax", "relax.c", 40), main.clone()],
        later: vec![frame("relax", "relax.c", 77), main],
        threads: vec![ThreadId(2)],
        share_by_cache: vec![(CurveScope::Thread(ThreadId(2)), 0.8)],
        object: Some(global("grid", 0, 32 * MIB, "relax.c", 12)),
        around: None,
        by_kind: [0.8, 0.2, 0.0, 0.0],
        temporal: Some(0.25),
        share: 0.168,
        share_of_misses: 0.8,
        miss_ratio: 1.0,
        time: Some(Quantiles { low: 350_000.0, median: 412_000.0, high: 470_000.0 }),
        unit: Unit::Accesses,
        stack_bytes: Some(Quantiles {
            low: 3.0 * MIB as f64,
            median: 3.1 * MIB as f64,
            high: 3.4 * MIB as f64,
        }),
        missing_bytes: Some(3.1 * MIB as f64),
        basis: Basis::Exact,
        seen: 67_200_000,
    }
}

/// Everything followed. Worker 2 misses 21% of its accesses at 1 MiB, 80% of them between two lines of the source.
pub fn relaxed() -> (RunInfo, ReuseFindings) {
    let near = Pair {
        earlier: vec![frame("relax", "relax.c", 41)],
        later: vec![frame("relax", "relax.c", 42)],
        object: None,
        share: 0.7,
        share_of_misses: 0.0,
        miss_ratio: 0.0,
        missing_bytes: None,
        temporal: None,
        time: None,
        stack_bytes: Some(Quantiles { low: 128.0, median: 960.0, high: 1024.0 }),
        threads: (0..3).map(ThreadId).collect(),
        ..far_pair()
    };
    let fit = |scope, ratio: f64, worst_pair| Fit {
        scope,
        cache_bytes: MIB,
        ratio: estimate(ratio, 0.0),
        compulsory: 0.01,
        enough_bytes: Some(4 * MIB),
        worst_pair,
        worst_share: 0.8,
        by_geometry: vec![ByGeometry { bytes: MIB, ways: 16, ratio: ratio + 0.01 }],
    };
    let worker = CurveScope::Thread(ThreadId(2));
    let time = Curve {
        distance: DistanceKind::Time,
        unit: Unit::Accesses,
        miss_ratio: Vec::new(),
        ..curve(CurveScope::All, 0.89, Basis::Exact, 0.0)
    };
    let other = Curve {
        reused_by: ReusedBy::OtherThread,
        miss_ratio: Vec::new(),
        ..curve(CurveScope::Shared(0), 0.5, Basis::Exact, 0.0)
    };
    let findings = ReuseFindings {
        quality: Followed { exact_accesses: 400_000_000, place_rate: 1.0, ..Followed::default() },
        caches: vec![cache(1, 48 * KIB, 2), cache(2, MIB, 2), cache(3, 32 * MIB, 8)],
        costs: Vec::new(),
        chosen_bytes: MIB,
        curves: vec![
            curve(CurveScope::All, 0.89, Basis::Exact, 0.0),
            time,
            curve(CurveScope::Shared(0), 0.85, Basis::Exact, 0.0),
            other,
            curve(CurveScope::Thread(ThreadId(1)), 0.98, Basis::Exact, 0.0),
            curve(worker, 0.79, Basis::Exact, 0.0),
        ],
        pairs: vec![far_pair(), near],
        other_pairs: 3,
        fits: vec![
            fit(CurveScope::All, 0.11, Some(0)),
            fit(worker, 0.21, Some(0)),
            Fit { enough_bytes: None, ..fit(CurveScope::Thread(ThreadId(1)), 0.02, None) },
        ],
        false_sharing: Vec::new(),
        prefetch: None,
        not_enough: None,
    };
    (relaxed_run(), findings)
}

/// The same from samples, with bands, false sharing and a prediction.
pub fn sampled_reuse() -> (RunInfo, ReuseFindings) {
    let (mut run, mut findings) = relaxed();
    (run.engine.load_period, run.engine.store_period) = (100_000, 100_000);
    run.engine.sample_means = SampleMeans::Accesses;
    run.engine.budget_percent = 10.0;
    let basis = Basis::Modelled(Model::StatStack);
    for curve in &mut findings.curves {
        curve.basis = if curve.distance == DistanceKind::Time { Basis::Sampled } else { basis };
        curve.observations = 3_900;
        for point in &mut curve.miss_ratio {
            point.ratio = estimate(point.ratio.value, 0.02);
        }
    }
    findings.fits.iter_mut().for_each(|fit| fit.ratio = estimate(fit.ratio.value, 0.02));
    findings.pairs.iter_mut().for_each(|pair| pair.basis = basis);
    findings.quality = Followed {
        uses: 3_900,
        reused: 3_600,
        invalidated: 100,
        replaced: 160,
        ended: 40,
        exact_accesses: 0,
        place_rate: 1.0,
        in_episodes: true,
        losses: Losses {
            counters: ThreadCounters {
                uses: 4_000,
                budget_skipped: 1_000,
                uses_armed: 3_900,
                arm_ns: 3_900 * 2_400,
                threads_armed: 7_790,
                threads_unarmed: 10,
                early_touches: 7,
                dropped_records: 3,
                ..ThreadCounters::default()
            },
            unprofiled_threads: 1,
        },
    };
    findings.false_sharing = vec![FalseSharing {
        process: ProcessId(0),
        line: Addr(0x40_40c0),
        object: global("stats", 0, 16, "relax.c", 14),
        read_after_write: 1.2e6,
        write_after_write: 3e5,
        share: 0.62,
        share_of_accesses: 0.03,
        distance: 95.0,
        threads: vec![ThreadId(1), ThreadId(2)],
        earlier: vec![frame("count", "relax.c", 31)],
        later: vec![frame("count", "relax.c", 33)],
        parts: [(0, "stats.hits"), (8, "stats.misses")].map(|(offset, field)| Part {
            offset,
            width: 8,
            field: Some(field.into()),
        }),
        seen: 48,
    }];
    findings.prefetch = Some(Prefetch {
        gain_s: -0.35,
        memory_reuses: 1e6,
        memory_ns: 100.0,
        sharing_reuses: 4.5e6,
        transfer_ns: 100.0,
        cut_off: 16_384,
        last_cache_bytes: 32 * MIB,
        events: 300,
    });
    (run, findings)
}

/// Hardly anything followed to its end.
pub fn hardly_reused() -> (RunInfo, ReuseFindings) {
    let mut run = relaxed_run();
    (run.engine.load_period, run.engine.store_period) = (100_000, 100_000);
    run.engine.sample_means = SampleMeans::Accesses;
    let findings = ReuseFindings {
        quality: Followed { uses: 14, reused: 12, place_rate: 1.0, ..Followed::default() },
        costs: Vec::new(),
        chosen_bytes: MIB,
        not_enough: Some(NotEnough { seen: 12, run_seconds: Some(33.5) }),
        ..ReuseFindings::default()
    };
    (run, findings)
}
